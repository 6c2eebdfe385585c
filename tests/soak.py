"""Runs that are disturbed at random for half an hour, and what is left of them: `make soak`.

Three runs take turns. The run, or the engine of Doom, is killed, stopped or interrupted at a random
moment, or the disk is full; then the run is resumed. Two of them must end as the same runs that
nobody disturbed: every weight, count, generator and row of metrics. In the third one engines die,
too. It cannot be the same then: its table must be that of its replay, and nothing be left behind.

    python -m tests.soak --minutes 30 --out runs/soak
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import tyro

from tests.agents.worlds import assigned
from tests.experiments.sameness import SAVING, assert_same, last_save, rows, vast
from tests.planning.models import assert_counts, assert_sound
from vast.agents.vast.agent import VaST
from vast.experiments.run_directory import processor
from vast.experiments.runs import open_readonly

LITTLE_ROOM = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))
"""
"""a disk on which only small files still fit; not for runs with engines, whose shared memory this
limit would hit as well"""
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
ENGINE = ("engine killed", "engine stopped")
QUIET = {"OMP_NUM_THREADS": "1"}


@dataclass
class Subject:
    """A run to be disturbed."""

    name: str
    options: tuple[str, ...]
    disasters: tuple[str, ...]
    exact: bool
    """whether it must end as the run that nobody disturbed"""
    steps: int = 0
    happened: Counter[str] = field(default_factory=Counter)


SUBJECTS = (
    Subject(
        "vectors",
        ("t-maze-2d", "--preset", "debug"),
        (*SIGNALS, "full disk"),
        exact=True,
    ),
    Subject(
        "pixels",
        ("plus-maze", "--preset", "debug", "--interventions", "300:reverse", "900:reverse"),
        SIGNALS,
        exact=True,
    ),
    Subject(
        "engines",
        ("plus-maze", "--preset", "debug", "--seed", "1", "--replay.capacity", "500000"),
        (*SIGNALS, *ENGINE, *ENGINE),
        exact=False,
    ),
)


def started(words: list[str], setup: str = "") -> subprocess.Popen[str]:
    """Start the command, which saves twice a second."""
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", setup + SAVING.format(seconds=0.5), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **QUIET, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def engines_of(pid: int) -> list[int]:
    """Return the Doom engines that a process has started."""
    found = subprocess.run(
        ["ps", "-o", "pid=,comm=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    ).stdout
    return [int(line.split()[0]) for line in found.splitlines() if "vizdoom" in line]


def disturb(subject: Subject, directory: Path, chance: random.Random) -> None:
    """Go on with a run for some seconds, and let something happen to it."""
    what = chance.choice(subject.disasters)
    # The run is far longer than anything that is reached here.
    words = ["train", *subject.options, "--steps", "100000000", "--out", str(directory)]
    if last_save(directory) >= 0:
        words = ["resume", str(directory)]
    process = started(words, LITTLE_ROOM if what == "full disk" else "")
    time.sleep(chance.uniform(1.0, 12.0))
    if what in SIGNALS:
        process.send_signal(getattr(signal, what))
    elif what in ENGINE:
        for engine in engines_of(process.pid)[:1]:
            os.kill(engine, signal.SIGKILL if what == "engine killed" else signal.SIGSTOP)
        time.sleep(chance.uniform(1.0, 5.0))
        process.terminate()
    else:
        process.terminate()
    said, _ = process.communicate(timeout=120)
    expected = {"SIGKILL": (-9,), "full disk": (2, 130, -15)}.get(what, (130, -15, -1, -2))
    if process.returncode not in (*expected, 130):
        raise AssertionError(f"{subject.name}, {what}: exit {process.returncode}\n{said}")
    # Python itself is interrupted while it is still importing.
    if "Traceback" in said and not said.rstrip().endswith("KeyboardInterrupt"):
        raise AssertionError(f"{subject.name}, {what}:\n{said}")
    subject.happened[what] += 1


def undisturbed(subject: Subject, directory: Path, out: Path) -> None:
    """Check a run against the same one that nobody disturbed, or against itself."""
    reached = last_save(directory)
    subject.steps = total = reached + 50
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
        if agent.replay.oldest == 0:
            assert_counts(agent.table, assigned(agent))
        assert_sound(agent.table)
    assert rows(directory)[-1]["step"] <= total


def main(minutes: float = 30.0, seed: int = 0, out: Path = Path("runs/soak")) -> None:
    """Disturb the runs in turns for so many minutes, check them, and write a summary."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    chance, began = random.Random(seed), time.monotonic()
    while time.monotonic() - began < 60 * minutes:
        for subject in SUBJECTS:
            disturb(subject, out / subject.name, chance)
            print(f"{time.monotonic() - began:5.0f} s  {subject.name}: {dict(subject.happened)}")
    for subject in SUBJECTS:
        undisturbed(subject, out / subject.name, out)
    summary = {
        "minutes": minutes,
        "seed": seed,
        "processor": processor(),
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
