"""The arms that several figures compare."""

from dataclasses import replace

from vast.experiments.config import default_run
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


def beta_until(arm: Arm, task: str, steps: int, preset: str = "cpu") -> Arm:
    """Return an arm of DDQN whose beta is 1 when its runs end, rather than when its task does."""
    burn_in = default_run(task, arm.agent, preset).settings.exploration.burn_in
    return replace(arm, set={**arm.set, "beta_steps": steps - burn_in})


THREE, FIVE = (0, 1, 2), (0, 1, 2, 3, 4)
"""seeds"""
EVERY_25K = {"eval_every": 25_000, "eval_steps": 3000, "log_every": 5000}
"""long runs at the scale cpu: the published interval of test epochs, which are longer so that
three seeds say as much as five"""
EVERY_2500 = {"eval_every": 2500, "eval_steps": 1000, "log_every": 500}
"""short runs at the scale cpu"""
