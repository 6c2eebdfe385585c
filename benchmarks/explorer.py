"""The explorer in a real browser, on tables of several sizes, without a GPU.

    python -m benchmarks.explorer [--json FILE] [--sizes 1000 10000 100000] [--repeats 5]

Measured in the page: the time from opening it to the first picture; pictures per second while the
values of an edit spread; and the time from an edit to the right values on the screen, beside value
iteration by SciPy on the same table, from the old values. Needs Chromium (`apt-get install
chromium`).
"""

import statistics
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import tyro
from numpy.typing import NDArray
from playwright.sync_api import Page, ViewportSize, sync_playwright
from tests.browser import OPTIONS, chromium

from benchmarks.report import machine, report_console, show, write_json
from benchmarks.sweeping import value_iteration
from benchmarks.worlds import N_HEADINGS, NoisyGrid, build, keys_of
from vast.explorer.edits import Paint, Steps
from vast.explorer.places import Places
from vast.explorer.server import served
from vast.explorer.view import View, view_of_table
from vast.explorer.what_if import WhatIf
from vast.planning import TransitionTable

WINDOW: ViewportSize = {"width": 1400, "height": 820}
"""of which the map takes about 1000 x 700 pixels"""
FIRST_PICTURE = "() => window.explorer.firstPicture"
# A reward at a corner, then back: what is timed is the way there.
EDIT = """async ([edit, visible]) => {
  const app = window.explorer;
  await app.socket.ask("pace", { visible });
  const frames = app.frames, begin = performance.now();
  await app.whatIf.edit(edit);
  await app.whatIf.settled;
  const seconds = (performance.now() - begin) / 1000;
  const { backups } = document.getElementById("counter").dataset;
  const values = visible ? [] : Array.from(app.model.now);
  const drawn = app.frames - frames;
  await app.whatIf.ask("undo");
  await app.whatIf.settled;
  return { seconds, drawn, backups: Number(backups), values };
}"""


def grid_view(n_states: int) -> View:
    """Return the view of a noisy grid, whose states have true places and headings."""
    grid = NoisyGrid(n_states)
    table, _ = build(grid)
    table.sweep()
    number = np.arange(grid.n_states)
    keys = keys_of(number)
    order = np.argsort(keys)
    place = number // N_HEADINGS
    at = np.stack([place % grid.side, place // grid.side], axis=1).astype(float)
    heading = (number % N_HEADINGS).astype(np.float64) * (360 / N_HEADINGS)
    found = view_of_table(table, f"a grid of {grid.n_states:,} states", places=None)
    rows = order[np.searchsorted(keys[order], found.states.keys)]
    places = Places(found.states.keys, at[rows], heading[rows], measured=True)
    return view_of_table(table, found.title, places)


def corner_reward(view: View) -> dict[str, Any]:
    """Return the edit that is timed: a reward in a corner of the map."""
    low = np.nanmin(view.places.at, axis=0)
    return {
        "do": "paint",
        "points": [low.tolist()],
        "radius": 1.5,
        "reward": 1.0,
        "ends": True,
    }


def measure(page: Page, view: View, repeats: int) -> dict[str, float]:
    """Open the page of a view and time what a user would wait for."""
    with TemporaryDirectory() as folder, served(view, Path(folder)) as (door, server):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        first = []
        for _ in range(repeats):
            page.goto("about:blank")
            page.goto(door.address)
            page.wait_for_selector("body[data-ready]", timeout=120_000)
            first.append(page.evaluate(FIRST_PICTURE))
        edit = corner_reward(view)
        spread = [page.evaluate(EDIT, [edit, True]) for _ in range(repeats + 1)][1:]
        at_once = [page.evaluate(EDIT, [edit, False]) for _ in range(repeats + 1)][1:]
    table = edited(view, edit)
    _, learned = iterate(view.table, np.zeros(0), 1)
    iterated, right = iterate(table, learned, repeats)
    on_screen = np.array([np.nan if v is None else v for v in at_once[-1]["values"]])
    return {
        "states": float(len(view.states)),
        "first_picture_ms": statistics.median(first),
        "pictures_per_second": statistics.median(r["drawn"] / r["seconds"] for r in spread),
        "backups": float(spread[-1]["backups"]),
        "edit_to_screen_ms": 1e3 * statistics.median(r["seconds"] for r in at_once),
        "value_iteration_ms": 1e3 * iterated,
        "largest_difference": float(np.nanmax(np.abs(on_screen - right_on(view, table, right)))),
    }


def edited(view: View, edit: dict[str, Any]) -> TransitionTable:
    """Return the table after the edit that the page does."""
    what_if = WhatIf(view.table, view.places)
    points = tuple((x, y) for x, y in edit["points"])
    what_if.do(Paint(points, edit["radius"], edit["reward"], edit["ends"]))
    return what_if.table


def iterate(
    table: TransitionTable, start: NDArray[np.float64], repeats: int
) -> tuple[float, NDArray[np.float64]]:
    """Return the median seconds of value iteration from values, and the values by ascending key."""
    columns = list(Steps.of(table, table.transitions()))
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        values = value_iteration(columns, start)
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds), values


def right_on(
    view: View, table: TransitionTable, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the values of value iteration in the order of the map."""
    moves = table.transitions()
    keys = np.unique(np.concatenate([moves.states, moves.next_states]))
    found = np.full(len(view.places), np.nan)
    rows = view.places.rows(keys)
    found[rows[rows >= 0]] = values[rows >= 0]
    return found


def main(
    json_file: Annotated[Path | None, tyro.conf.arg(name="json")] = None,
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000),
    repeats: int = 5,
) -> None:
    """Measure the explorer.

    Args:
        json_file: also write the results to this file
        sizes: numbers of states
        repeats: of each measurement; the medians are shown
    """
    console = report_console()
    report: dict[str, Any] = {"machine": machine("numpy", "numba", "scipy", "websockets")}
    console.print(report["machine"])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(OPTIONS))
        report["machine"]["chromium"] = browser.version
        page = browser.new_page(viewport=WINDOW)
        report["explorer"] = [measure(page, grid_view(n), repeats) for n in sizes]
        browser.close()
    show(console, "the explorer in Chromium, software rendering", report["explorer"])
    if json_file is not None:
        write_json(report, json_file)
        console.print(f"wrote {json_file}")


if __name__ == "__main__":
    tyro.cli(main)
