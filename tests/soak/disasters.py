"""What may happen to a run."""

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.soak.disk import Disk
from tests.soak.victims import Victim
from vast.agents.vast import training_worker
from vast.envs.doom.watchdog import INSTANCE_FILE

PATIENCE = 120.0
"""seconds after which a run that should end counts as hung"""
SAVED = 130
"""the exit code of a run that was interrupted and saved"""
REFUSED = 2
"""that of a run that ends in one line which says why"""


@dataclass(frozen=True)
class Disaster:
    """Something that ends a run."""

    strike: Callable[[Victim, Disk, random.Random], None]
    exits: tuple[int, ...]
    """the exit codes with which it may end"""


def signalled(number: signal.Signals) -> Disaster:
    """Send the run a signal. Before it can handle one, the signal ends it."""

    def strike(victim: Victim, disk: Disk, chance: random.Random) -> None:
        victim.send(number)

    return Disaster(strike, (SAVED, -number))


def engines_lost(number: signal.Signals) -> Disaster:
    """Send a signal to the run's engines, up to five times. It replaces them, and is interrupted.

    Engines that are still starting are left alone: ViZDoom crashes if one of them dies.
    """

    def strike(victim: Victim, disk: Disk, chance: random.Random) -> None:
        for _ in range(chance.randint(1, 5)):
            for engine, arguments in victim.children("+viz_instance_id"):
                folder = Path(arguments[arguments.index("-config") + 1]).parent
                if (folder / INSTANCE_FILE).exists():
                    send(engine, number)
            time.sleep(chance.uniform(0.0, 1.5))
        victim.send(signal.SIGTERM)

    return Disaster(strike, (SAVED, -signal.SIGTERM))


def child_lost(word: str) -> Disaster:
    """Kill a child process without which the run cannot go on, by a word of its command line.

    If it has not been started yet, the run is interrupted instead.
    """

    def strike(victim: Victim, disk: Disk, chance: random.Random) -> None:
        children = victim.children(word)
        for child, _ in children:
            send(child, signal.SIGKILL)
        if not children:
            victim.send(signal.SIGTERM)

    return Disaster(strike, (REFUSED, SAVED, -signal.SIGTERM))


def send(process: int, number: signal.Signals) -> None:
    """Send a signal to a process that may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def disk_full() -> Disaster:
    """Leave no room on the disk: the run ends by itself."""

    def strike(victim: Victim, disk: Disk, chance: random.Random) -> None:
        disk.fill(victim.pid, chance)
        try:
            victim.end(PATIENCE)
        finally:
            disk.empty()

    return Disaster(strike, (REFUSED,))


DISASTERS = {
    "SIGKILL": signalled(signal.SIGKILL),
    "SIGTERM": signalled(signal.SIGTERM),
    "SIGINT": signalled(signal.SIGINT),
    "SIGHUP": signalled(signal.SIGHUP),
    "full disk": disk_full(),
    "engines killed": engines_lost(signal.SIGKILL),
    "engines stopped": engines_lost(signal.SIGSTOP),
    "trainer killed": child_lost(training_worker.__name__),
}
