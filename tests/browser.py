"""One Chromium for all tests that look at pages: Debian's, or the one that CHROMIUM names."""

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

INSTALL = "no Chromium found: `apt-get install chromium`, or name its program in CHROMIUM"
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def chromium() -> str | None:
    """Return the program of the browser, None if there is none."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium")


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """A browser; a test opens contexts of its own in it, and closes them.

    Without Chromium its tests are skipped, but in CI they fail.
    """
    program = chromium()
    if program is None:
        if os.environ.get("CI") == "true":
            pytest.fail(INSTALL)
        pytest.skip(INSTALL)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=list(OPTIONS))
        yield launched
        launched.close()
