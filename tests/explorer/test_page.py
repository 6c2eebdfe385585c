"""The page in a real browser, on a run of the T-maze: it shows what the run's table holds."""

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser

from tests.explorer.conftest import Site
from tests.explorer.pages import Explorer, opened
from vast.explorer.view import View

pytestmark = pytest.mark.slow

FLOAT = 1e-6
"""values travel as 32-bit numbers"""


def alone(view: View) -> int:
    """Return the state that is farthest from all others on the map."""
    at = view.places.at
    far = np.hypot(*(at[:, None] - at[None]).transpose(2, 0, 1))
    np.fill_diagonal(far, np.inf)
    return int(far.min(axis=1).argmax())


def test_every_state_is_on_the_map_with_its_value(explorer: Explorer, site: Site) -> None:
    table = site.table()
    assert explorer.data("#shown", "count") == len(site.view.states) > 100
    shown = explorer.value_on_map()
    for row, state in enumerate(site.view.places.keys.tolist()):
        known = any(table.count(state, action) for action in range(3))
        assert np.isnan(shown[row]) != known
        assert not known or shown[row] == pytest.approx(table.value(state), abs=FLOAT)
    marks = explorer.page.evaluate(
        "() => window.explorer.maps[0].marks.pixels.reduce((n, p) => n + (p !== 0), 0)"
    )
    assert marks > 500


def test_a_click_shows_the_state_its_frames_and_the_table_s_numbers(
    explorer: Explorer, site: Site
) -> None:
    table, row = site.table(), alone(site.view)
    state = int(site.view.places.keys[row])
    explorer.click(*site.view.places.at[row])
    explorer.page.wait_for_selector(f"#state[data-row='{row}']")
    q, (estimate, distance) = table.q(state), table.estimate(state)
    for action in range(3):
        line = f".actions tr[data-action='{action}']"
        assert explorer.data(line, "count") == table.count(state, action)
        right = estimate[action] if np.isnan(q[action]) else q[action]
        assert explorer.data(line, "q") == pytest.approx(right, abs=1e-12)
        said = explorer.page.locator(line).text_content() or ""
        assert ("borrowed" in said) == (distance[action] > 0)
    assert explorer.data("#state-value", "value") == pytest.approx(table.value(state), abs=1e-12)
    best = int(np.nanargmax(q))
    explorer.page.click(f".actions tr[data-action='{best}']")
    assert explorer.data("#equation .result", "q") == pytest.approx(
        q[best], abs=2e-4
    )  # within p_min
    frames = explorer.page.locator("#state-frames .frame:not(.decoded)")
    frames.first.wait_for()
    assert frames.count() == min(12, site.view.states.frame_counts[row])
    seen = explorer.page.evaluate(
        "() => { const c = document.querySelector('#state-frames .frame:not(.decoded)');"
        "return Array.from(c.getContext('2d').getImageData(0, 0, c.width, c.height).data) }"
    )
    stored = site.view.frames(row, 0, 1)[0]
    pixels = np.array(seen, np.uint8).reshape(*stored.shape[:2], 4)[..., :3]
    np.testing.assert_array_equal(pixels, np.broadcast_to(stored, pixels.shape))
    assert explorer.page.locator("#state-frames .decoded").count() == 1
    assert explorer.page.locator(".bits i").count() == site.view.states.n_bits


def test_the_address_holds_the_view_and_not_the_token(browser: Browser, site: Site) -> None:
    with opened(browser, site.door) as first:
        first.tool("penalty")
        first.drag((-200.0, 0.0), (-150.0, 0.0))
        first.settle()
        first.tool("look")
        first.select(7)
        first.page.click("#tab-show")
        first.page.select_option("#colour", "change")
        first.page.fill("#visits-low", "2")
        first.page.click("#fit")
        first.page.mouse.wheel(0, -300)
        shared = first.page.evaluate("() => window.explorer.address.shared()")
        values = first.value_on_map()
        count = first.data("#shown", "count")
        camera = first.page.evaluate("() => window.explorer.camera.scale")
    assert site.door.token not in shared
    with opened(browser, site.door, "#" + shared.split("#")[1]) as second:
        np.testing.assert_array_equal(second.value_on_map(), values)
        assert second.data("#shown", "count") == count < len(values)
        assert second.page.input_value("#colour") == "change"
        assert second.data("#state", "row") == 7
        assert second.page.evaluate("() => window.explorer.camera.scale") == pytest.approx(camera)
        again = second.page.evaluate("() => window.explorer.address.shared()")
        assert again == shared
    broken = "#edits=%5B%7B%22do%22%3A%22format%20disk%22%7D%5D&state=zz"
    with opened(browser, site.door, broken) as third:
        assert (third.page.text_content("#message") or "") != ""
        assert third.edits() == []


def test_filters_show_exactly_what_they_say(explorer: Explorer, site: Site) -> None:
    states = site.view.states
    values = explorer.value_on_map()
    page = explorer.page
    page.click("#tab-show")
    age = states.frames_end - 1 - states.last
    middle = float(np.nanmedian(values))
    for fields, right in (
        ({"visits-low": 2}, states.visits >= 2),
        ({"visits-low": 1, "visits-high": 1}, states.visits == 1),
        ({"value-low": middle}, values >= middle),
        ({"age-high": 100}, (states.last >= 0) & (age <= 100)),
        ({"bit": 3}, states.bits[:, 3]),
    ):
        for name, number in fields.items():
            page.fill(f"#{name}", str(number))
        assert explorer.data("#shown", "count") == np.count_nonzero(right) > 0
        page.click("#clear-filters")
    assert explorer.data("#shown", "count") == len(states)


def test_everything_can_be_done_from_the_keyboard(explorer: Explorer) -> None:
    page = explorer.page
    page.locator(".map").focus()
    for arrow in ("ArrowRight", "ArrowDown"):
        page.keyboard.press(arrow)
        page.wait_for_selector("#state:not([hidden])")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    explorer.settle()
    assert explorer.edits() == ["reward of 1, which ends the episode"]
    page.locator(".map").focus()
    page.keyboard.press("Control+z")
    explorer.settle()
    assert explorer.edits() == []
    page.keyboard.press("Escape")
    scale = page.evaluate("() => window.explorer.camera.scale")
    page.keyboard.press("+")
    assert page.evaluate("() => window.explorer.camera.scale") > scale
    page.focus("#tab-state")
    page.keyboard.press("ArrowRight")
    assert page.locator("[role=tab][aria-selected=true]").count() == 1
    reachable = page.evaluate(
        "() => [...document.querySelectorAll('button, input, select')].every(e => e.tabIndex >= 0"
        " || e.getAttribute('role') === 'tab')"
    )
    assert reachable


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_on_a_phone_in_light_and_dark(browser: Browser, site: Site, scheme: Any) -> None:
    with opened(browser, site.door, size=(400, 800), color_scheme=scheme) as phone:
        for tab in ("state", "whatif", "slow", "drive", "show"):
            phone.page.click(f"#tab-{tab}")
            width = phone.page.evaluate("() => document.documentElement.scrollWidth")
            assert width <= 400, tab
        brightness = phone.page.evaluate(
            "() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
        )
        assert (sum(brightness) < 3 * 80) == (scheme == "dark")
        box = phone.page.locator(".map").bounding_box()
        assert box is not None
        assert box["height"] > 300
