"""The arms that several figures compare."""

from vast.experiments.spec import Arm

PLAIN_VAST = Arm("vast", {"extensions": ()}, label="plain VaST")
"""the preset's networks and schedule, and no extension of ours"""
EXTENDED_VAST = Arm("vast", label="VaST with extensions")
NEC = Arm("nec", label="NEC")
DDQN = Arm("ddqn", label="Prioritized DDQN")
LSH = Arm("lsh", label="LSH")
MFEC = Arm("mfec", label="MFEC")

CPU_ARMS = {
    "vast": EXTENDED_VAST,
    "plain": PLAIN_VAST,
    "nec": NEC,
    "ddqn": DDQN,
    "lsh": LSH,
    "mfec": MFEC,
}
PAPER_ARMS = {"vast": Arm("vast", label="VaST"), "nec": NEC, "ddqn": DDQN, "lsh": LSH}
"""the preset `paper` has no extensions"""

THREE, FIVE = (0, 1, 2), (0, 1, 2, 3, 4)
"""seeds"""
EVERY_25K = {"eval_every": 25_000, "eval_steps": 3000, "log_every": 5000}
"""long runs at the scale cpu: the published interval of test epochs, which are longer so that
three seeds say as much as five"""
EVERY_2500 = {"eval_every": 2500, "eval_steps": 1000, "log_every": 500}
"""short runs at the scale cpu"""
