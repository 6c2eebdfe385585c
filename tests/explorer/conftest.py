"""Explorers that several tests look at, each served once."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.experiments.sameness import vast
from tests.explorer.pages import Explorer, opened
from tests.explorer.worlds import grid_view
from vast.experiments.runs import open_readonly
from vast.experiments.tables import load_table
from vast.explorer.server import Door, served
from vast.explorer.view import View, view_of_run
from vast.explorer.what_if import exact_copy
from vast.planning import TransitionTable


@contextmanager
def serving(view: View, save_to: Path) -> Iterator[Door]:
    """Serve a view from a thread."""
    with served(view, save_to) as (door, server):
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield door
        server.shutdown()
        thread.join(10)


@pytest.fixture(scope="session")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """The explorer of a grid."""
    with serving(grid_view(25, 3), tmp_path_factory.mktemp("tables")) as found:
        yield found


class Site:
    """A run, its view, and the explorer that serves it."""

    def __init__(self, folder: Path, view: View, door: Door, tables: Path) -> None:
        self.folder, self.view, self.door, self.tables = folder, view, door, tables

    def table(self) -> TransitionTable:
        return exact_copy(load_table(self.folder))


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    base = tmp_path_factory.mktemp("explorer")
    vast("train", "t-maze", "--preset", "debug", "--out", base / "run")
    before = content(base / "run")
    with open_readonly(base / "run") as run:
        view = view_of_run(run)
        with serving(view, base / "tables") as door:
            yield Site(base / "run", view, door, base / "tables")
    assert content(base / "run") == before, "nothing that was done on the page changed the run"


def content(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def explorer(browser: Browser, site: Site) -> Iterator[Explorer]:
    with opened(browser, site.door) as found:
        yield found
