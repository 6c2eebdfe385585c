"""Explorers that several tests look at, each served once."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.explorer.worlds import grid_view
from vast.explorer.server import Door, served
from vast.explorer.view import View


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
