"""The documentation as a site: complete, without dead links, and without any request elsewhere."""

import inspect
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.docs.pages import PAGES, ROOT

LOADED = re.compile(
    r"<(?:script|img|source|iframe)[^>]*\ssrc=\"([^\"]+)\"|<link[^>]*\shref=\"([^\"]+)\""
)
API = (
    "vast",
    "vast.planning",
    "vast.model",
    "vast.replay",
    "vast.analysis",
    "vast.analysis.statistics",
)


def pages_of(nav: Any) -> Iterator[str]:
    """Give the pages of a navigation in order."""
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from pages_of(part)


def test_the_navigation_names_every_page_once() -> None:
    config = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    named = list(pages_of(config["project"]["nav"]))
    docs = [page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")]
    assert sorted(named) == sorted(docs)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "docs_site", "src"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("zensical.toml", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    assert "No issues found" in built.stdout + built.stderr
    return folder / "site"


@pytest.mark.slow
def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        for found in LOADED.findall(page.read_text(encoding="utf-8")):
            address = "".join(found).partition("#")[0].partition("?")[0]
            assert not re.match(r"(https?:)?//", address), (page, address)
            if not address.startswith("data:") and page.name != "404.html":
                assert (page.parent / address).exists(), (page, address)


@pytest.mark.slow
def test_the_reference_has_every_public_name(site: Path) -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html"))
    described = {name.rpartition(".")[2] for name in re.findall(r' id="(vast\.[\w.]+)"', text)}
    for name in API:
        module = import_module(name)
        known = (getattr(module, each) for each in module.__all__)
        assert {each.__name__ for each in known if inspect.getdoc(each)} <= described, name


@pytest.mark.slow
def test_the_search_works_from_a_folder_and_asks_nobody(site: Path, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    page.get_by_role("button", name="Search").first.click()
    page.get_by_role("textbox").or_(page.get_by_role("combobox")).first.fill("neighbour")
    page.get_by_text("The neighbour estimate").first.wait_for(timeout=20_000)
    context.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.slow
def test_mathematics_is_drawn_by_the_browser_itself(site: Path) -> None:
    method = (site / "method.html").read_text(encoding="utf-8")
    assert method.count("<math") > 30
    assert "$`" not in re.sub(r"<pre.*?</pre>", "", method, flags=re.DOTALL)
