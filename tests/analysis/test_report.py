"""The report in a real browser, from a file: it loads nothing else, and is legible everywhere."""

import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pytest
from PIL import Image

from tests.experiments.sameness import vast
from vast.analysis import report
from vast.analysis.report import write_report
from vast.experiments.config import default_run
from vast.experiments.run_directory import write_config

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

PHONE, DESK = 400, 1200
LEAST_TEXT = 10.0
"""pixels: text that is smaller cannot be read on a phone"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of VaST, one of each other agent, a run without coordinates, and one not begun."""
    folder = tmp_path_factory.mktemp("runs")
    debug = ("--preset", "debug", "--steps", "400")
    for name, words in {
        "vast-0": ("t-maze-2d",),
        "vast-1": ("t-maze-2d", "--seed", "1"),
        **{agent: ("t-maze-2d", "--agent", agent) for agent in ("lsh", "mfec", "nec", "ddqn")},
        "cart": ("gym:CartPole-v1",),
        "plus": ("plus-maze", "--interventions", "150:reverse"),
    }.items():
        vast("train", *words, *debug, "--out", folder / name)
    write_config(folder / "new", default_run("t-maze-2d", "vast", "cpu"))
    return folder


@pytest.fixture(scope="module")
def maze(runs: Path) -> Path:
    write_report([runs / "plus"], runs / "maze.html")
    return runs / "maze.html"


@pytest.fixture(scope="module")
def comparison(runs: Path) -> Path:
    folders = [runs / name for name in ("vast-0", "vast-1", "lsh", "mfec", "nec", "ddqn", "new")]
    write_report(folders, runs / "comparison.html")
    return runs / "comparison.html"


class Visit:
    """A page opened from its file, and all that it did."""

    def __init__(self, page: "Page", file: Path) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(file.as_uri())
        # Pictures far below are decoded only when they are needed.
        page.evaluate("Promise.all([...document.images].map((image) => image.decode()))")

    def pictures(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.page.evaluate(
            """[...document.images].map((image) => {
                const box = image.getBoundingClientRect();
                return {x: box.x, y: box.y + scrollY, width: box.width, height: box.height,
                        natural: image.naturalWidth, alt: image.alt, src: image.src};
            })"""
        )
        return found


def opened(browser: "Browser", file: Path, width: int, scheme: Any = "light") -> Visit:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    return Visit(context.new_page(), file)


def closed(visit: Visit) -> None:
    visit.page.context.close()


def test_a_report_is_one_file_that_says_no_error_and_loads_nothing(
    browser: "Browser", maze: Path, comparison: Path
) -> None:
    for file in (maze, comparison):
        assert file.stat().st_size < 15_000_000
        visit = opened(browser, file, DESK)
        assert visit.said == []
        assert {url for url in visit.asked if not url.startswith("data:")} == {file.as_uri()}
        pictures = visit.pictures()
        assert len(pictures) > 10
        assert all(picture["natural"] > 100 and picture["alt"] for picture in pictures)
        links = visit.page.eval_on_selector_all("nav a", "all => all.map((a) => a.hash.slice(1))")
        there = visit.page.eval_on_selector_all("[id]", "all => all.map((part) => part.id)")
        assert set(links) <= set(there)
        assert len(set(there)) == len(there)
        closed(visit)


def test_on_a_phone_pictures_lie_below_each_other_and_their_text_is_readable(
    browser: "Browser", maze: Path, comparison: Path
) -> None:
    for file in (maze, comparison):
        visit = opened(browser, file, PHONE)
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= PHONE
        pictures = visit.pictures()
        for above, below in pairwise(pictures):
            assert below["y"] >= above["y"] + above["height"] - 1
        for picture in pictures:
            svg = unquote(picture["src"])
            assert (found := re.search(r'viewBox="0 0 ([\d.]+)', svg))
            sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)]
            assert sizes, picture["alt"]
            assert min(sizes) * picture["width"] / float(found[1]) > LEAST_TEXT, picture["alt"]
        closed(visit)
        wide = opened(browser, file, DESK)
        columns = {round(picture["x"]) for picture in wide.pictures()}
        assert len(columns) == 3
        closed(wide)


def test_in_the_dark_the_page_and_its_pictures_are_dark(
    browser: "Browser", maze: Path, tmp_path: Path
) -> None:
    brightness = {}
    for scheme in ("light", "dark"):
        visit = opened(browser, maze, PHONE, scheme)
        for number, name in ((0, "curve"), (-1, "fields")):
            shot = tmp_path / f"{scheme}-{name}.png"
            visit.page.locator("img").nth(number).screenshot(path=shot)
            grey = np.asarray(Image.open(shot).convert("L"))
            brightness[scheme, name] = (int(np.median(grey)), int(grey.min()), int(grey.max()))
        closed(visit)
    for name in ("curve", "fields"):
        paper, darkest, brightest = brightness["light", name]
        assert paper > 240
        assert darkest < 90
        paper, darkest, brightest = brightness["dark", name]
        assert paper < 40
        assert brightest > 170


def test_runs_are_grouped_and_what_is_missing_is_said(browser: "Browser", comparison: Path) -> None:
    visit = opened(browser, comparison, DESK)
    text = visit.page.inner_text("body")
    assert "7 runs in 6 arms on t-maze-2d" in text
    assert "vast-0, one of the 2 runs of this arm" in text
    assert "new: Nothing is logged yet; the first row of metrics comes at step 500." in text
    assert "There is no agent to look into" in text
    for agent in ("NEC", "MFEC", "DDQN"):
        assert f"{agent} has no table, and so no states to show" in text
    assert "This agent keeps no frames" in text  # LSH
    curves = [unquote(picture["src"]) for picture in visit.pictures() if "over" in picture["alt"]]
    assert "VaST, debug (2 runs)" in curves[0]
    assert all(f">{agent}<" in curves[0] for agent in ("LSH", "MFEC", "NEC", "DDQN"))
    closed(visit)


def test_a_single_run_shows_interventions_maps_what_ifs_states_bits_and_its_config(
    browser: "Browser", maze: Path
) -> None:
    visit = opened(browser, maze, DESK)
    headings = visit.page.eval_on_selector_all("h2", "all => all.map((h) => h.textContent)")
    assert headings == [
        "At a glance",
        "Learning",
        "Free energy",
        "Table",
        "Values",
        "What if",
        "States",
        "Receptive fields of the bits",
        "Configuration",
    ]
    pictures = {picture["alt"]: unquote(picture["src"]) for picture in visit.pictures()}
    assert ">reverse<" in pictures["test reward per step over environment steps"]
    assert (
        "after: goals punish, penalties reward"
        in pictures["values after: goals punish, penalties reward"]
    )
    assert re.search(r"all values followed in [\d,]+ backups", visit.page.inner_text("body"))
    visit.page.get_by_text("Hyperparameters of VaST").click()
    assert visit.page.get_by_text("settings.planning.discount").is_visible()
    visit.page.get_by_text("Versions of all runs").click()
    assert visit.page.get_by_text("gymnasium", exact=True).is_visible()
    closed(visit)


def test_a_task_without_coordinates_gets_a_layout_of_its_states(
    browser: "Browser", runs: Path
) -> None:
    write_report([runs / "cart"], runs / "cart.html")
    visit = opened(browser, runs / "cart.html", PHONE)
    assert visit.said == []
    text = visit.page.inner_text("body")
    assert "This task has no coordinates." in text
    assert "They need coordinates" in text
    assert "cannot be asked here: no episode ended with a reward at a known place" in text
    closed(visit)


def test_a_table_that_is_still_empty_is_said_to_be(tmp_path: Path) -> None:
    vast("train", "t-maze-2d", "--preset", "cpu", "--steps", "60", "--out", tmp_path / "early")
    write_report([tmp_path / "early"], tmp_path / "early.html")
    text = (tmp_path / "early.html").read_text(encoding="utf-8")
    assert text.count("The table is still empty.") == 3
    assert "No frame has a state yet." in text
    assert "<img" not in text


def test_a_report_that_would_be_too_large_names_what_it_leaves_out(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MOST_BYTES", 100_000)
    write_report([runs / name for name in ("vast-0", "plus", "cart")], tmp_path / "large.html")
    text = (tmp_path / "large.html").read_text(encoding="utf-8")
    assert "it does not look into plus, cart: a report on one of them does." in text
    assert text.count("Receptive fields of the bits") == 1
