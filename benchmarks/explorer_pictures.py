"""The pictures and the film of the explorer in README and docs, from a run of the T-maze.

    vast train t-maze --out runs/demo
    python -m benchmarks.explorer_pictures runs/demo --out docs/images

The film is what the browser paints while somebody uses the page.
"""

import base64
import io
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import tyro
from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from tests.browser import OPTIONS, chromium
from tests.explorer.pages import Explorer

from vast.experiments.runs import open_readonly
from vast.explorer.explore import warm_up
from vast.explorer.server import Door, served
from vast.explorer.view import view_of_run
from vast.files import atomic_write

SIZE: ViewportSize = {"width": 1080, "height": 660}
COLOURS = 160
"""of the film's palette"""
LEAST = 0.07
"""seconds between two pictures of the film"""
LONGEST = 1.2
"""seconds for which nothing happens, at most"""
LEFT_ARM, STEM, START = (-230.0, 0.0), (0.0, -110.0), (-288.0, 0.0)


class Film:
    """Collects what the browser paints."""

    def __init__(self, page: Page) -> None:
        self._pictures: list[tuple[float, bytes]] = []
        self._session = page.context.new_cdp_session(page)
        self._session.on("Page.screencastFrame", self._add)
        self._session.send("Page.startScreencast", {"format": "png"})

    def _add(self, frame: dict[str, Any]) -> None:
        self._pictures.append((frame["metadata"]["timestamp"], base64.b64decode(frame["data"])))
        self._session.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    def save(self, path: Path) -> int:
        """Write the film as a GIF; return the number of its pictures."""
        self._session.send("Page.stopScreencast")
        kept = [self._pictures[0]]
        for moment, picture in self._pictures[1:]:
            if moment - kept[-1][0] >= LEAST:
                kept.append((moment, picture))
        moments = [moment for moment, _ in kept]
        lasting = [min(after - before, LONGEST) for before, after in pairwise(moments)]
        images = [Image.open(io.BytesIO(picture)).convert("RGB") for _, picture in kept]
        palette = images[len(images) // 2].quantize(COLOURS)
        first, *rest = (
            image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images
        )
        with atomic_write(path) as unfinished:
            first.save(
                unfinished,
                save_all=True,
                append_images=rest,
                duration=[round(1000 * seconds) for seconds in [*lasting, 2.0]],
                loop=0,
                optimize=True,
            )
        return len(images)


def opened(browser: Browser, door: Door, **options: Any) -> Explorer:
    """Return the page in a window of its own."""
    page = browser.new_context(viewport=SIZE, **options).new_page()
    page.goto(door.address)
    page.wait_for_selector("body[data-ready]")
    return Explorer(page)


def near(explorer: Explorer, place: tuple[float, float]) -> int:
    """Return the state nearest to a place."""
    code = "([x, y]) => { const m = window.explorer.maps[0]; return m.hit(...m.pixel(x, y), 1e9) }"
    return int(explorer.page.evaluate(code, list(place)))


def film(browser: Browser, door: Door, path: Path) -> int:
    """Film a visit: a reward, a wall, the path around it, a sweep in slow motion, a forced run."""
    explorer = opened(browser, door)
    page = explorer.page
    shooting = Film(page)
    page.wait_for_timeout(900)
    explorer.click(*STEM)
    page.wait_for_timeout(1500)
    explorer.tool("reward")
    page.wait_for_timeout(500)
    explorer.drag(LEFT_ARM, (LEFT_ARM[0] + 40, LEFT_ARM[1]))
    explorer.settle()
    page.wait_for_timeout(1400)
    explorer.tool("block")
    explorer.drag((-75.0, -60.0), (75.0, -60.0))
    explorer.settle()
    page.wait_for_timeout(1400)
    page.click("#reset")
    explorer.settle()
    explorer.tool("look")
    page.wait_for_timeout(600)
    page.click("#tab-slow")
    page.click("#slow-nothing")
    page.wait_for_selector("#slow:not([hidden])")
    page.evaluate("() => { document.getElementById('slow-speed').value = 10 }")
    page.wait_for_timeout(500)
    page.click("#slow-play")
    page.wait_for_timeout(5000)
    page.click("#slow-close")
    page.click("#tab-drive")
    page.wait_for_timeout(300)
    page.click("#run-buttons button")
    page.wait_for_selector("#edits li", state="attached", timeout=60_000)
    explorer.settle()
    page.wait_for_timeout(1600)
    made = shooting.save(path)
    page.context.close()
    return made


def pictures(browser: Browser, door: Door, folder: Path) -> None:
    """Take the pictures of the docs."""
    explorer = opened(browser, door, device_scale_factor=1.5)
    page = explorer.page
    explorer.select(near(explorer, STEM))
    page.wait_for_selector("#state-frames canvas")
    page.screenshot(path=folder / "explorer.png")
    explorer.tool("reward")
    explorer.drag(LEFT_ARM, (LEFT_ARM[0] + 40, LEFT_ARM[1]))
    explorer.settle()
    explorer.tool("block")
    explorer.drag((-75.0, -60.0), (75.0, -60.0))
    explorer.settle()
    explorer.tool("look")
    explorer.select(near(explorer, (0.0, 0.0)))
    page.click("#compare")
    page.click("#path")
    page.wait_for_selector("#path-said[data-now]")
    page.wait_for_timeout(300)
    page.screenshot(path=folder / "explorer-compare.png")
    page.context.close()
    explorer = opened(browser, door, device_scale_factor=1.5, color_scheme="dark")
    page = explorer.page
    page.click("#tab-drive")
    page.click("#drive-start")
    page.wait_for_selector("#drive-said[data-step='0']", timeout=60_000)
    page.click("#run-buttons button")
    page.wait_for_selector("#edits li", state="attached", timeout=60_000)
    explorer.settle()
    page.wait_for_timeout(300)
    page.screenshot(path=folder / "explorer-run.png")
    page.context.close()


def main(directory: Annotated[Path, tyro.conf.Positional], out: Path = Path("docs/images")) -> None:
    """Make the pictures.

    Args:
        directory: the run
        out: the folder to write them to
    """
    out.mkdir(parents=True, exist_ok=True)
    with open_readonly(directory) as run, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(OPTIONS))
        warm_up()
        with served(view_of_run(run), out) as (door, server):
            threading.Thread(target=server.serve_forever, daemon=True).start()
            begin = time.perf_counter()
            pictures(browser, door, out)
            n = film(browser, door, out / "explorer.gif")
            print(f"wrote {out}: a film of {n} pictures, {time.perf_counter() - begin:.0f} s")
        browser.close()


if __name__ == "__main__":
    tyro.cli(main)
