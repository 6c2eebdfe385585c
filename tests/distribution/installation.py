"""The wheel in a virtual environment of its own, with nothing but what it says it requires.

Installing the dependencies again would take gigabytes. They are linked instead, from where the
tests run: those of a plain installation in one folder, those of `[all]` in another. PYTHONPATH
chooses the folder, so that both share the wheel and the kernels compiled for it.
"""

import os
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input")


@dataclass(frozen=True)
class Installation:
    """A virtual environment with the wheel, and one folder of dependencies."""

    folder: Path
    dependencies: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def variables(self) -> dict[str, str]:
        """Return the environment variables of its processes: no path leads to the repository."""
        kept = {name: value for name, value in os.environ.items() if "PYTHON" not in name}
        return {
            **kept,
            "PYTHONPATH": str(self.dependencies),
            "XDG_CACHE_HOME": str(self.folder / "cache"),  # of kernels: leave the user's alone
            "OMP_NUM_THREADS": "1",
        }

    def run(self, cwd: Path, *words: str | Path) -> "subprocess.CompletedProcess[str]":
        """Run one of its scripts, such as `vast`."""
        script, *rest = words
        command = [self.folder / "bin" / script, *rest]
        return subprocess.run(
            command, cwd=cwd, env=self.variables(), capture_output=True, text=True, check=False
        )


def install(wheel: Path, folder: Path) -> Path:
    """Make a virtual environment with the wheel in it, alone; return its site-packages."""
    venv.create(folder, symlinks=True)
    pip = [sys.executable, *PIP, "--python", str(folder / "bin" / "python")]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", wheel], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    return site


def linked(site: Path, folder: Path, extras: Iterable[str]) -> Path:
    """Fill a folder with links to what the wheel in `site` requires with these extras."""
    folder.mkdir()
    (wheel,) = Distribution.discover(name="vast-rl", path=[str(site)])
    for found in requirements(wheel, extras):
        # `..` leads to scripts outside of site-packages; a namespace may belong to several.
        names = {path.parts[0] for path in found.files or () if path.parts[0] != ".."}
        for name in names - {"__pycache__"}:
            link = folder / name
            if not link.exists():
                link.symlink_to(str(found.locate_file(name)))
    return folder


def requirements(root: Distribution, extras: Iterable[str]) -> Iterator[Distribution]:
    """Give all that a distribution requires here, directly and indirectly."""
    done: set[tuple[str, str]] = set()
    waiting = [(root, extra) for extra in ("", *extras)]
    while waiting:
        package, extra = waiting.pop()
        for text in package.requires or ():
            wanted = Requirement(text)
            if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
                continue
            for more in ("", *wanted.extras):
                asked = canonicalize_name(wanted.name), more
                if asked not in done:
                    done.add(asked)
                    found = distribution(wanted.name)
                    waiting.append((found, more))
                    yield found
