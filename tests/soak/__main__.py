"""Disturb runs at random, resume them, and compare them with runs that nobody disturbed.

Three runs take turns. Something happens to each at a random moment; then it is resumed. Two of them
must end as the same runs that nobody disturbed: every weight, count, generator and row of metrics.
In the third one engines die, too. It cannot be the same then: its table must be that of its replay.
Whatever happened, the last checkpoint can be read, and no engine is left behind.
"""

import json
import os
import random
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import tyro

from tests.agents.worlds import assigned
from tests.experiments.sameness import assert_same, last_save, rows, vast
from tests.planning.models import assert_counts, assert_sound
from tests.soak.disasters import DISASTERS, PATIENCE
from tests.soak.disk import Disk, mounted
from tests.soak.victims import Victim
from vast.agents.vast.agent import VaST
from vast.experiments.run_directory import processor
from vast.experiments.runs import open_readonly
from vast.training.checkpoint import Checkpoint

LIFE = (0.1, 6.0)
"""seconds until something happens to a run"""
COLD = 0.1
"""share of the runs that start in a new interpreter, and may be struck while it imports"""
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
LONG = "100000000"
"""steps, far more than are reached here"""


@dataclass
class Subject:
    """A run to be disturbed."""

    name: str
    options: tuple[str, ...]
    disasters: tuple[str, ...]
    exact: bool
    """whether it must end as the run that nobody disturbed"""
    engine: bool = True
    """whether it has a Doom engine"""
    steps: int = 0
    happened: Counter[str] = field(default_factory=Counter)


SUBJECTS = (
    Subject(
        "vectors",
        ("t-maze-2d", "--preset", "debug", "--training.process"),
        (*SIGNALS, "full disk", *2 * ("trainer killed",)),
        exact=True,
        engine=False,
    ),
    Subject(
        "pixels",
        ("plus-maze", "--preset", "debug", "--interventions", "300:reverse", "900:reverse"),
        (*SIGNALS, "full disk"),
        exact=True,
    ),
    Subject(
        "engines",
        ("plus-maze", "--preset", "debug", "--seed", "1", "--replay.capacity", "500000"),
        (*SIGNALS, "full disk", *2 * ("engines killed", "engines stopped")),
        exact=False,
    ),
)


def disturb(subject: Subject, directory: Path, disk: Disk, chance: random.Random) -> None:
    """Go on with a run for some seconds, and let something happen to it."""
    fillable = disk.is_real or not subject.engine
    what = chance.choice([what for what in subject.disasters if fillable or what != "full disk"])
    words = ["train", *subject.options, "--steps", LONG, "--out", str(directory)]
    if last_save(directory) >= 0:
        words = ["resume", str(directory)]
    victim = Victim(words, disk.folder.parent / "output.txt", cold=chance.random() < COLD)
    time.sleep(chance.uniform(*LIFE))
    assert victim.is_alive, f"{subject.name} ended by itself:\n{victim.said}"
    DISASTERS[what].strike(victim, disk, chance)
    code = victim.end(PATIENCE)
    # Python itself is interrupted while it is still importing.
    importing = victim.said.rstrip().endswith("KeyboardInterrupt")
    if (code not in DISASTERS[what].exits or "Traceback" in victim.said) and not importing:
        raise AssertionError(f"{subject.name}, {what}: exit {code}\n{victim.said}")
    if last_save(directory) >= 0:
        Checkpoint(directory / "checkpoint").load()
    subject.happened[what] += 1


def undisturbed(subject: Subject, directory: Path, out: Path) -> None:
    """Check a run against the same one that nobody disturbed, or against itself."""
    subject.steps = total = last_save(directory) + 50
    vast("resume", directory, "--steps", str(total))
    if subject.exact:
        whole = out / f"{subject.name}-whole"
        vast("train", *subject.options, "--steps", str(total), "--out", whole)
        assert_same(whole, directory)
        return
    with open_readonly(directory) as run:
        agent = run.agent
        assert isinstance(agent, VaST)
        agent.plan_fully()
        assert agent.replay.oldest == 0
        assert_counts(agent.table, assigned(agent))
        assert_sound(agent.table)
    assert rows(directory)[-1]["step"] <= total


def wait_until_empty(folder: Path) -> None:
    """Wait until the watchdogs of killed runs have removed all traces of engines."""
    for _ in range(200):
        left = list(folder.glob("vast-doom-*"))
        if not left:
            return
        time.sleep(0.1)
    raise AssertionError(f"engines are left behind: {left}")


def main(minutes: float = 30.0, seed: int = 0, out: Path = Path("runs/soak")) -> None:
    """Disturb the runs in turns for so many minutes, check them, and write a summary."""
    out = out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    temporary = out / "temporary"
    temporary.mkdir(parents=True)
    os.environ |= {"TMPDIR": str(temporary), "OMP_NUM_THREADS": "1"}
    chance, began = random.Random(seed), time.monotonic()
    with mounted(out / "disk") as disk:
        try:
            while time.monotonic() - began < 60 * minutes:
                for subject in SUBJECTS:
                    disturb(subject, disk.folder / subject.name, disk, chance)
                    seconds = f"{time.monotonic() - began:5.0f} s"
                    print(f"{seconds}  {subject.name}: {dict(subject.happened)}", flush=True)
        finally:
            for subject in SUBJECTS:
                if (disk.folder / subject.name).exists():
                    shutil.copytree(disk.folder / subject.name, out / subject.name)
    wait_until_empty(temporary)
    for subject in SUBJECTS:
        undisturbed(subject, out / subject.name, out)
    summary = {
        "minutes": minutes,
        "seed": seed,
        "processor": processor(),
        "disk": "a file system that was filled" if disk.is_real else "a limit",
        "runs": {
            subject.name: {
                "steps": subject.steps,
                "equal_to_undisturbed": subject.exact,
                "disasters": dict(subject.happened),
            }
            for subject in SUBJECTS
        },
    }
    (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(summary, indent=2))


if __name__ == "__main__":
    tyro.cli(main)
