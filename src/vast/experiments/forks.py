"""Forks: several continuations of one trained agent, each the run that was never forked.

A fork is a run directory of its own that begins as a copy of the trained one. No schedule depends
on the number of steps, and interventions at the step of the fork come after everything else there.
So the continuation is, bit for bit, the run with the same interventions from the beginning.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from vast.errors import UserError
from vast.experiments import run_directory as files
from vast.experiments.config import RunConfig
from vast.experiments.own_map import COPIES
from vast.training.checkpoint import CHECKPOINT
from vast.training.manifest import MANIFEST, check_files, read_manifest
from vast.training.plain import first_difference, to_plain


def fork(trained: Path, directory: Path, config: RunConfig) -> None:
    """Make a run directory that continues a finished run; nothing is left if that fails."""
    before = files.read_config(trained)
    _require_continued(trained, before, config)
    with _copied(trained, directory) as unfinished:
        copied = replace(config, wad=before.wad, wad_sha256=before.wad_sha256)
        files.write_config(unfinished, copied)


def reuse(trained: Path, directory: Path) -> None:
    """Make a run directory that is a finished run of another grid, as it was."""
    with _copied(trained, directory) as unfinished:
        for name in (files.CONFIG, files.PROBES):
            if (trained / name).exists():
                shutil.copyfile(trained / name, unfinished / name)


def unfinished_copy(directory: Path) -> Path:
    """Return where a copy is until it is complete."""
    return directory.with_name(f".{directory.name}.unfinished")


@contextmanager
def _copied(trained: Path, directory: Path) -> Iterator[Path]:
    """Yield a copy of a run without its config, which becomes the directory in the end.

    The files of a checkpoint never change, so they are shared where the file system can do so. What
    a killed process left unfinished is removed.
    """
    manifest = read_manifest(trained / CHECKPOINT)
    check_files(trained / CHECKPOINT, manifest)
    unfinished = unfinished_copy(directory)
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        (unfinished / CHECKPOINT).mkdir(parents=True)
        for name in (MANIFEST, *(part.file for part in manifest.files)):
            _share(trained / CHECKPOINT / name, unfinished / CHECKPOINT / name)
        for name in (files.METRICS, files.SAVES, *COPIES.values()):
            if (trained / name).exists():
                shutil.copyfile(trained / name, unfinished / name)
        yield unfinished
        unfinished.rename(directory)
    except OSError as error:
        raise UserError(f"cannot copy {trained} to {directory}: {error.strerror}") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _require_continued(trained: Path, before: RunConfig, config: RunConfig) -> None:
    """Raise UserError unless a config differs from a run's in what comes later only."""
    past = before.interventions
    if config.interventions[: len(past)] != past or config.steps < before.steps:
        raise UserError(
            f"a fork of {trained} must begin with its interventions {past} and have at least "
            f"{before.steps} steps, got {config.interventions} and {config.steps}"
        )
    same = replace(
        config,
        interventions=past,
        steps=before.steps,
        wad=before.wad,
        wad_sha256=before.wad_sha256,
    )
    difference = first_difference(to_plain(before, full=True), to_plain(same, full=True))
    if difference is not None:
        raise UserError(f"a fork of {trained} must have its config: {difference}")


def _share(source: Path, target: Path) -> None:
    """Give a file a second name; where that is impossible, copy it."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
