"""The wheel and the sdist contain the package with its data, and nothing else."""

import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

import vast
from tests.docs.pages import ROOT

pytestmark = pytest.mark.slow

ABOUT = {
    ".gitignore",
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
    "PKG-INFO",
    "README.md",
    "constraints.txt",
    "pyproject.toml",
}
"""what an sdist has beside the package"""


def package_files() -> set[str]:
    """Return the files of the package as they are in the repository."""
    package = ROOT / "src" / "vast"
    files = (path.relative_to(package.parent) for path in package.rglob("*") if path.is_file())
    return {str(path) for path in files if "__pycache__" not in path.parts}


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    metadata = {name for name in names if name.startswith(f"vast_rl-{vast.__version__}.dist-info/")}
    assert names - metadata == package_files()
    assert {Path(name).name for name in metadata} == {
        "METADATA",
        "RECORD",
        "WHEEL",
        "LICENSE",
        "entry_points.txt",
    }


def test_the_sdist_has_what_the_wheel_is_built_from_and_no_other(dist: Path) -> None:
    """The fixture built the wheel from it: so nothing lacks."""
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        files = [member.name for member in archive.getmembers() if member.isfile()]
    names = {name.removeprefix(f"vast_rl-{vast.__version__}/") for name in files}
    assert {name.removeprefix("src/") for name in names - ABOUT} == package_files()
    assert names >= ABOUT


@pytest.mark.parametrize(
    "data",
    [
        "vast/py.typed",
        "vast/results/fig1-cpu/*.json*",
        "vast/results/fig3-cpu/*.json*",
        "vast/results/studies/*.json*",
        "vast/envs/doom/mazes/plus-maze.maze",
        "vast/explorer/page/*.html",
        "vast/explorer/page/*.js",
    ],
)
def test_the_wheel_has_the_data_that_the_package_reads(wheel: Path, data: str) -> None:
    with ZipFile(wheel) as archive:
        assert [name for name in archive.namelist() if Path(name).match(data)]
