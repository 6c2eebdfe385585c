"""`vast train --wandb`: the metrics of a run also at Weights & Biases.

The id of the run there is in `wandb.json` of the run directory, so a resumed run goes on with it.
Whatever the package writes is in the run directory as well. It is imported only if it is asked for.
"""

import json
import math
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vast.errors import UserError
from vast.experiments.config import RunConfig
from vast.extras import is_installed, missing
from vast.files import atomic_write
from vast.training.callbacks import Callback, Row
from vast.training.plain import to_plain

FILE, FOLDER = "wandb.json", "wandb"
OFFLINE = ("offline", "dryrun", "disabled")
"""values of WANDB_MODE with which nothing is sent"""


@dataclass(frozen=True)
class WandbRun:
    """Where a run is logged."""

    project: str
    id: str


class LogToWandb(Callback):
    """Logs each row, over its own `step`: rows of a resumed run may come twice."""

    def __init__(self, run: Any) -> None:
        self._run = run
        run.define_metric("*", step_metric="step")

    def on_metrics(self, row: Row) -> None:
        """Log what is finite."""
        self._run.log({name: value for name, value in row.items() if math.isfinite(value)})


def wandb_run(directory: Path, project: str | None) -> WandbRun | None:
    """Return where a run is to be logged: as it was before, else in the project; None: nowhere.

    UserError if the package is missing, or the run is in another project already.
    """
    there = _read(directory / FILE)
    if there is None and project is None:
        return None
    if there is not None and project not in (None, there.project):
        raise UserError(
            f"{directory} is logged to the project {there.project!r} already, got {project!r}"
        )
    if not is_installed("wandb"):
        stop = f", or remove {directory / FILE}" if there else ""
        raise UserError(f"{missing('wandb', '--wandb')}{stop}")
    return there or WandbRun(project or "", secrets.token_hex(4))


@contextmanager
def logged(directory: Path, config: RunConfig, to: WandbRun | None) -> Iterator[list[Callback]]:
    """Yield the callback that logs a run, if it is to be logged, and end it there."""
    if to is None:
        yield []
        return
    # Runs of before may lie there that were never sent: those stay, whatever happens now.
    is_new = not (directory / FOLDER).exists()
    try:
        run = _started(directory, config, to)
        with atomic_write(directory / FILE) as unfinished:
            unfinished.write_text(json.dumps(asdict(to)) + "\n", encoding="utf-8")
    except BaseException as error:
        if is_new:
            shutil.rmtree(directory / FOLDER, ignore_errors=True)
        if isinstance(error, OSError):
            raise UserError(f"cannot write {directory}: {error.strerror}") from error
        raise
    try:
        yield [LogToWandb(run)]
    except BaseException:
        run.finish(exit_code=1)  # it is shown as failed
        raise
    run.finish()


def _started(directory: Path, config: RunConfig, to: WandbRun) -> Any:
    import wandb

    offline = os.environ.get("WANDB_MODE") in OFFLINE
    with _cache_in(directory / FOLDER):
        try:
            return wandb.init(
                project=to.project,
                id=to.id,
                name=directory.name,
                dir=str(directory),
                config=to_plain(config, full=True),
                resume=None if offline else "allow",
                settings=wandb.Settings(
                    console="off", save_code=False, disable_git=True, disable_job_creation=True
                ),
            )
        except wandb.errors.Error as error:
            said = " ".join(str(error).split()).rstrip(".")
            raise UserError(
                f"cannot log to Weights & Biases: {said}; WANDB_MODE=offline sends nothing"
            ) from error


@contextmanager
def _cache_in(folder: Path) -> Iterator[None]:
    """Let the package keep its logs in a folder, unless the user has chosen another one."""
    name = "WANDB_CACHE_DIR"
    if name in os.environ:
        yield
        return
    os.environ[name] = str(folder)
    try:
        yield
    finally:
        del os.environ[name]


def _read(path: Path) -> WandbRun | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return WandbRun(str(content["project"]), str(content["id"]))
    except OSError:  # there is none; or no such directory, as the run will say
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} must hold a project and an id, but is damaged") from error
