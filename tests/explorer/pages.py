"""A page of the explorer in a real browser, and what a test does with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Browser, ConsoleMessage, Page

from vast.explorer.server import Door

WIDE = (1280, 800)
SETTLED = "() => window.explorer.whatIf.settled"


class Explorer:
    """What a user does with a page, and what the page shows."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def value_on_map(self) -> NDArray[np.float64]:
        """Return the values in the order of the map; nan where there is none."""
        found = self.page.evaluate("() => Array.from(window.explorer.model.values)")
        return np.array([np.nan if value is None else value for value in found], np.float64)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where on the screen a place of the map is."""
        px, py = self.page.evaluate("([x, y]) => window.explorer.maps.at(-1).pixel(x, y)", [x, y])
        box = self.page.locator(".map").last.bounding_box()
        assert box is not None
        return box["x"] + px, box["y"] + py

    def click(self, x: float, y: float) -> None:
        """Click on a place of the map."""
        self.page.mouse.click(*self.at(x, y))

    def drag(self, *places: tuple[float, float]) -> None:
        """Draw a line through places of the map."""
        first, *rest = (self.at(*place) for place in places)
        self.page.mouse.move(*first)
        self.page.mouse.down()
        for point in rest or [first]:
            self.page.mouse.move(*point, steps=4)
        self.page.mouse.up()

    def tool(self, name: str) -> None:
        """Choose what the pointer does."""
        self.page.click(f"[data-tool={name}]")

    def settle(self) -> None:
        """Wait until an edit is on the server, its values are planned and drawn."""
        self.page.wait_for_timeout(30)
        self.page.evaluate(SETTLED)

    def select(self, row: int) -> None:
        """Select a state by its number, and wait until it is shown."""
        self.page.evaluate("row => window.explorer.select(row)", row)
        self.page.wait_for_selector(f"#state[data-row='{row}']", state="attached")

    def edits(self) -> list[str]:
        """Return the edits listed."""
        return self.page.locator("#edits li").all_text_contents()

    def data(self, selector: str, name: str) -> float:
        """Return a number that an element carries in full precision."""
        text = self.page.get_attribute(selector, f"data-{name}")
        assert text is not None
        return float(text)


@contextmanager
def opened(
    browser: Browser, door: Door, fragment: str = "", size: tuple[int, int] = WIDE, **options: Any
) -> Iterator[Explorer]:
    """Yield the page of an explorer; no error may be logged, and no request may leave loopback."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, accept_downloads=True, **options
    )
    page = context.new_page()
    wrong: list[str] = []
    asked: list[str] = []

    def note(said: ConsoleMessage) -> None:
        if said.type in ("error", "warning"):
            wrong.append(said.text)

    page.on("console", note)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    try:
        page.goto(f"{door.address}{fragment}")
        page.wait_for_selector("body[data-ready]", timeout=20_000)
        yield Explorer(page)
        assert wrong == []
        places = {urlsplit(url).netloc for url in asked if not url.startswith("blob:")}
        assert places == {f"127.0.0.1:{door.port}"}
    finally:
        context.close()
