"""What if, slow motion and driving in a real browser: values are what the table computes."""

import csv
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser

from tests.explorer.conftest import Site
from tests.explorer.pages import Explorer, opened
from tests.explorer.worlds import DISCOUNT, grid_view, key
from vast.agents.vast.agent import VaST
from vast.experiments.tables import load_table
from vast.explorer.edits import Block, Paint, Reverse
from vast.explorer.server import Door
from vast.explorer.view import View
from vast.explorer.what_if import WhatIf, exact_copy
from vast.planning import SweepLog, TransitionTable, log_sweep

pytestmark = pytest.mark.slow

FLOAT = 1e-6
"""values travel as 32-bit numbers"""


def painted(table: TransitionTable, view: View, edit: Paint) -> TransitionTable:
    """Return what the table itself computes if the states under the brush end with a reward."""
    off = view.places.at - np.array(edit.points[0])
    under = view.places.keys[np.hypot(*off.T) <= edit.radius]
    for state in under.tolist():
        counts = [table.count(state, action) for action in range(table.n_actions)]
        left = table.successors(state)
        for action, after, ends, count in zip(
            left.actions, left.next_states, left.terminals, left.counts, strict=True
        ):
            mean = table.mean_reward(state, int(action))
            for _ in range(count):
                table.delete(state, int(action), mean, None if ends else int(after))
        for action, count in enumerate(counts):
            for _ in range(count):
                table.add(state, action, edit.reward, None)
    table.sweep()
    return table


def test_the_value_twenty_steps_from_a_painted_reward_is_what_the_table_computes(
    browser: Browser, door: Door
) -> None:
    """In a grid of 25 x 3 cells: a reward in the cell (0, 1), seen from (20, 1)."""
    view = grid_view(25, 3)
    with opened(browser, door) as explorer:
        explorer.tool("reward")
        explorer.page.fill("#reward-size", "50")
        explorer.drag((0.0, 1.0))
        explorer.settle()
        (edit,) = explorer.page.evaluate("() => window.explorer.model.edits")
        stroke = Paint(
            tuple(map(tuple, edit["points"])), edit["radius"], edit["reward"], edit["ends"]
        )
        assert edit["radius"] < 1
        table = painted(exact_copy(view.table), view, stroke)
        row = int(view.places.rows([key(20, 1)])[0])
        value = table.value(key(20, 1))
        living = -0.01 * (1 - DISCOUNT**20) / (1 - DISCOUNT)
        assert value == pytest.approx(50 * DISCOUNT**20 + living, abs=1e-9)
        assert value > 5 * view.table.value(key(20, 1))
        explorer.select(row)
        assert explorer.data("#state-value", "value") == pytest.approx(value, abs=1e-9)
        shown = explorer.value_on_map()
        right = [table.value(state) for state in view.places.keys.tolist()]
        np.testing.assert_allclose(shown, right, rtol=1e-6)
        explorer.page.click("#path")
        explorer.page.wait_for_selector("#path-said[data-now='20']")
        said = explorer.page.text_content("#counter") or ""
        assert "backups in" in said
        assert said.endswith(" ms")


def test_a_wall_cuts_what_crosses_it_and_undo_redo_and_reset_are_exact(
    explorer: Explorer, site: Site
) -> None:
    learned = explorer.value_on_map()
    explorer.tool("block")
    explorer.drag((-100.0, -120.0), (100.0, -120.0))  # across the stem
    explorer.settle()
    (edit,) = explorer.page.evaluate("() => window.explorer.model.edits")
    what_if = WhatIf(site.view.table, site.view.places)
    what_if.do(Block(tuple(edit["start"]), tuple(edit["end"])))
    what_if.finish()
    blocked = what_if.values()
    assert np.nanmax(np.abs(blocked - learned)) > 0.01
    np.testing.assert_allclose(explorer.value_on_map(), blocked, rtol=1e-6, atol=FLOAT)
    assert explorer.edits() == ["a wall that nothing crosses"]
    edited = explorer.value_on_map()
    for button, values, edits in (
        ("#undo", learned, 0),
        ("#redo", edited, 1),
        ("#reset", learned, 0),
        ("#redo", edited, 1),
    ):
        explorer.page.click(button)
        explorer.settle()
        np.testing.assert_array_equal(explorer.value_on_map(), values)
        assert len(explorer.edits()) == edits


def test_everywhere_edits_and_the_path_before_and_after(explorer: Explorer, site: Site) -> None:
    view = site.view
    table = site.table()
    explorer.page.click("#tab-whatif")
    explorer.select(0)
    explorer.page.click("#path")
    explorer.page.wait_for_selector("#path-said[data-now]")
    explorer.page.click("#reverse")
    explorer.settle()
    explorer.page.fill("#discount", "0.8")
    explorer.page.click("#set-discount")
    explorer.settle()
    assert explorer.edits() == [
        "all rewards reversed",
        "discount \N{GREEK SMALL LETTER GAMMA} = 0.8",
    ]
    other = TransitionTable(3, 0.8, table.min_priority, "exact")
    moves = table.transitions()
    for state, action, after, ends, count in zip(
        *(column.tolist() for column in moves), strict=True
    ):
        for _ in range(count):
            other.add(state, action, -table.mean_reward(state, action), None if ends else after)
    other.sweep()
    right = [other.value(int(key)) for key in view.places.keys]
    np.testing.assert_allclose(
        np.nan_to_num(explorer.value_on_map()), right, atol=2 * table.min_priority / 0.2
    )


def test_two_what_ifs_side_by_side(explorer: Explorer, site: Site) -> None:
    explorer.page.click("#tab-whatif")
    explorer.page.click("#reverse")
    explorer.settle()
    explorer.page.click("#keep")
    explorer.settle()
    kept = explorer.value_on_map()
    explorer.page.click("#undo")
    explorer.settle()
    explorer.page.click("#compare")
    maps = "() => window.explorer.maps.map(m => Array.from(m.values()))"
    left, right = explorer.page.evaluate(maps)
    np.testing.assert_array_equal(np.array(left, float), kept)
    np.testing.assert_array_equal(np.array(right, float), explorer.value_on_map())
    assert explorer.page.locator(".map").count() == 2
    assert explorer.page.locator(".caption").all_text_contents() == ["kept", "after the edits"]
    assert left != right
    explorer.select(3)
    explorer.page.click("#path")
    explorer.page.wait_for_selector("#path-said[data-now]")
    paths = explorer.page.evaluate("() => window.explorer.whatIf.paths")
    what_if = WhatIf(site.view.table, site.view.places)
    assert paths["now"]["rows"] == paths["learned"]["rows"] == what_if.path(3).rows
    what_if.do(Reverse())
    what_if.finish()
    assert paths["kept"]["rows"] == what_if.path(3).rows


def test_slow_motion_shows_every_pop_of_the_exact_sweep(explorer: Explorer, site: Site) -> None:
    explorer.page.click("#tab-whatif")
    explorer.page.click("#reverse")
    explorer.settle()
    after = explorer.value_on_map()
    explorer.page.click("#tab-slow")
    explorer.page.click("#slow-edit")
    explorer.page.wait_for_selector("#slow:not([hidden])")
    log = expected_log(site)
    assert str(f"{len(log.pops.states):,} states will be popped") in said(explorer)
    for pop in (1, 2, 3):
        explorer.page.click("#slow-on")
        assert explorer.data("#slow-said", "pop") == pop
        first, end = np.searchsorted(log.backups.pops, [pop - 1, pop])
        lines = explorer.page.locator("#slow-table tbody tr").all_text_contents()
        keys = [f"{key:016x}"[-8:] for key in log.backups.states[first:end].tolist()]
        assert [line[:8] for line in lines] == keys[:12]
    explorer.page.click("#slow-back")
    assert explorer.data("#slow-said", "pop") == 2
    explorer.page.evaluate("n => window.explorer.slow.seek(n)", len(log.pops.states))
    np.testing.assert_allclose(explorer.value_on_map(), after, atol=FLOAT)
    with explorer.page.expect_download() as download:
        explorer.page.click("#export-csv")
    with open(download.value.path(), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["state"][1:], 16) for row in rows] == log.backups.states.tolist()
    assert rows[0]["x"] != ""
    with explorer.page.expect_download() as download:
        explorer.page.click("#export-npz")
    path = Path(download.value.path())
    path = path.rename(path.with_name("sweep.npz"))
    np.testing.assert_array_equal(SweepLog.load(path).backups.q_after, log.backups.q_after)
    explorer.page.click("#slow-close")
    np.testing.assert_array_equal(explorer.value_on_map(), after)


def said(explorer: Explorer) -> str:
    return explorer.page.text_content("#slow-said") or ""


def expected_log(site: Site) -> SweepLog:
    """Return the sweep after all rewards were reversed, by the table's own means."""
    table = site.table()
    for state in table.states().tolist():
        for action in range(3):
            if table.count(state, action):
                table.set_reward(state, action, -table.mean_reward(state, action))
    return log_sweep(table)


def test_drive_and_forced_run(explorer: Explorer, site: Site) -> None:
    page = explorer.page
    page.click("#tab-drive")
    page.click("#drive-start")
    page.wait_for_selector("#drive-said[data-step='0']", timeout=30_000)
    start = page.evaluate("() => window.explorer.drive.moment.pose")
    assert start[:2] == [-288, 0]
    for step in (1, 2, 3):
        page.click("#drive-actions button:has-text('forward')")
        page.wait_for_selector(f"#drive-said[data-step='{step}']")
    moment = page.evaluate("() => window.explorer.drive.moment")
    assert moment["pose"][0] > start[0] + 20  # it has walked east
    assert moment["reward"] == pytest.approx(-0.01)
    table = site.table()
    q, distance = table.estimate(int(moment["key"], 16))
    np.testing.assert_allclose(moment["q"], q)
    assert moment["distance"] == distance.tolist()
    page.click("#drive-greedy")
    page.wait_for_selector("#drive-said[data-step='4']")

    states = int(explorer.data("#shown", "count"))
    page.click("#run-buttons button")
    page.wait_for_selector("#edits li:has-text('forced run')", state="attached", timeout=30_000)
    explorer.settle()
    agent: Any = site.view.run and site.view.run.agent
    assert isinstance(agent, VaST)
    new = int(explorer.data("#shown", "count")) - states
    assert new > 0  # the arm was shut: nobody has been there
    shown = explorer.value_on_map()[-new:]
    keys = page.evaluate(
        f"() => Array.from({{length: {new}}}, (_, i) => window.explorer.model.key({states} + i))"
    )
    assert len(set(keys)) == new
    assert not any(table.count(int(key, 16), 0) for key in keys)
    assert np.isfinite(shown).sum() >= new - 1  # the last state may have no action yet
    page.click("#undo")
    explorer.settle()
    assert np.isnan(explorer.value_on_map()[-new:]).all()


def test_save_as_writes_a_new_table_with_the_values_on_the_screen(
    explorer: Explorer, site: Site
) -> None:
    explorer.page.click("#tab-whatif")
    explorer.page.click("#reverse")
    explorer.settle()
    explorer.page.fill("#save-name", "what if 1")
    explorer.page.click("#save button")
    explorer.page.wait_for_selector("#saved:has-text('Written')")
    saved = load_table(site.tables / "what if 1.npz")
    right = [saved.value(int(key)) for key in site.view.places.keys]
    np.testing.assert_allclose(np.nan_to_num(explorer.value_on_map()), right, atol=FLOAT)
    explorer.page.click("#save button")
    explorer.page.wait_for_selector("#saved:has-text('there already')")
    explorer.page.fill("#save-name", "../elsewhere")
    explorer.page.click("#save button")
    explorer.page.wait_for_selector("#saved:has-text('a name must be')")
    assert [path.name for path in site.tables.iterdir()] == ["what if 1.npz"]


def test_a_path_is_a_walk_of_neighbours(site: Site) -> None:
    """Not a test of the page: what it draws are transitions of the table."""
    what_if = WhatIf(site.view.table, site.view.places)
    moves = site.view.table.transitions()
    known = set(zip(moves.states.tolist(), moves.next_states.tolist(), strict=True))
    for row in range(0, len(site.view.places), 20):
        keys = site.view.places.keys[what_if.path(row).rows].tolist()
        assert all(pair in known for pair in pairwise(keys))
