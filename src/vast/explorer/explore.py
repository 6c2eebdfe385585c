"""`vast explore`: open a run, serve its page, and wait until the user has seen enough."""

import threading
import webbrowser
from pathlib import Path

from vast.experiments.runs import open_readonly
from vast.explorer.server import served
from vast.explorer.view import view_of_run
from vast.planning import TransitionTable, log_sweep
from vast.training.signals import STOPPING, deferred_signals

TABLES = "tables"
"""where in the run directory tables are saved, unless the user says otherwise"""
GLANCE = 0.2
"""seconds between two looks whether the user has interrupted"""


def explore(directory: Path, port: int, save_to: Path | None, *, show: bool) -> None:
    """Serve the explorer of a run until it is interrupted; the address is printed first."""
    with open_readonly(directory) as run:
        view = view_of_run(run)
        warm_up()
        with (
            served(view, save_to or directory / TABLES, port) as (door, server),
            deferred_signals(*STOPPING) as interrupted,
        ):
            print(door.address, flush=True)
            answering = threading.Thread(target=server.serve_forever, daemon=True)
            answering.start()
            if show:
                webbrowser.open(door.address)
            print("Ctrl-C ends the explorer.", flush=True)
            while not interrupted():
                answering.join(GLANCE)


def warm_up() -> None:
    """Compile what planning needs, so that the first edit does not have to wait for it."""
    table = TransitionTable(2, queue="exact")
    table.add(1, 0, 1.0, None)
    table.add(0, 0, 0.0, 1)
    table.set_reward(1, 0, 2.0)
    log_sweep(table)
    table.sweep()
    table.estimate(0)
    table.successors(0)
    table.delete(0, 0, 0.0, 1)
