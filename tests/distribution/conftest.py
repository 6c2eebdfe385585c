"""The distributions, built once, and installations of the wheel."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.distribution.installation import Installation, install, linked
from tests.docs.pages import ROOT


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the sdist, and with the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="session")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def _environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("installed") / "venv"
    return folder, install(wheel, folder)


@pytest.fixture(scope="session")
def plain(_environment: tuple[Path, Path]) -> Installation:
    """Return what `pip install vast-rl` installs."""
    folder, site = _environment
    return Installation(folder, linked(site, folder / "plain", ()))


@pytest.fixture(scope="session")
def full(_environment: tuple[Path, Path]) -> Installation:
    """Return what `pip install 'vast-rl[all]'` installs."""
    folder, site = _environment
    return Installation(folder, linked(site, folder / "all", ("all",)))
