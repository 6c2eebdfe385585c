"""A saved agent's greedy episode as a video."""

import contextlib
import errno
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, islice
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryFile
from typing import Any

import imageio_ffmpeg
import numpy as np
from gymnasium.error import DependencyNotInstalled
from gymnasium.wrappers import RenderCollection
from numpy.typing import NDArray
from PIL import Image

from vast.checks import at_least
from vast.errors import UserError
from vast.experiments.runs import Run, open_readonly
from vast.files import atomic_write
from vast.training.protocol import Env
from vast.training.rollout import rollout

Picture = NDArray[np.uint8]
FORMATS = (".mp4", ".gif")


def film(directory: Path, out: Path, steps: int, device: str | None = None) -> str:
    """Write the video of one greedy episode, at most this many steps; return its summary."""
    if out.suffix not in FORMATS:
        raise UserError(f"a video must end in {' or '.join(FORMATS)}, got {out}")
    at_least(1, steps=steps)
    with open_readonly(directory, device) as run:
        config = run.config
        env = config.make_env(film=True)
        try:
            run.copy_env_settings(env)
            summary = _Summary()
            fps = float(env.metadata.get("render_fps", 10))
            with atomic_write(out) as unfinished:
                write = _write_mp4 if out.suffix == ".mp4" else _write_gif
                write(unfinished, _pictures(run, env, steps, summary), fps)
        except DependencyNotInstalled as error:  # pygame, which few environments need to run
            raise UserError(f"{env.unwrapped} cannot be filmed: {error}") from error
        finally:
            env.close()
    return str(summary)


class _Summary:
    """What happens in an episode."""

    steps = 0
    total = 0.0
    ended = False

    def __str__(self) -> str:
        how = "to the end of the episode" if self.ended else "without reaching its end"
        return f"{self.steps} steps {how}, return {self.total:.2f}"


def _pictures(run: Run, env: Env, steps: int, summary: _Summary) -> Iterator[Picture]:
    """Yield the picture at the start of an episode and after each step."""
    seed = run.config.seed
    camera: Env = RenderCollection(env)  # takes a picture at every reset and step
    for step in islice(rollout(run.agent.policy(0.0, seed), camera, [seed]), steps):
        summary.steps += 1
        summary.total += step.reward
        summary.ended = step.terminated or step.truncated
        yield from _taken(camera)


def _taken(camera: Env) -> list[Picture]:
    """Return the pictures since the last call."""
    try:
        taken: Any = camera.render()
    except Exception as error:  # whatever somebody's own environment raises
        raise UserError(f"{camera.unwrapped} cannot be filmed: {error}") from error
    if not isinstance(taken, list) or not all(isinstance(each, np.ndarray) for each in taken):
        raise UserError(f"{camera.unwrapped} must render images to be filmed")
    return taken


def _write_mp4(path: Path, pictures: Iterator[Picture], fps: float) -> None:
    first = next(pictures)
    height, width = first.shape[:2]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y"]
    command += ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"]
    command += ["-r", str(Fraction(fps).limit_denominator()), "-i", "-"]
    # The codec requires even sizes.
    command += ["-vf", f"scale={width + width % 2}:{height + height % 2}"]
    command += ["-vcodec", "libx264", "-crf", "25", "-pix_fmt", "yuv420p", f"file:{path}"]
    with TemporaryFile() as said, Popen(command, stdin=PIPE, stderr=said) as encoder:
        assert encoder.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # its exit code says more
            for picture in chain([first], pictures):
                encoder.stdin.write(np.ascontiguousarray(picture).data)
        with contextlib.suppress(BrokenPipeError):
            encoder.stdin.close()
        if encoder.wait():
            said.seek(0)
            why = said.read().decode(errors="replace").strip().splitlines() or ["is the disk full?"]
            raise OSError(errno.EIO, f"the encoder failed: {why[-1]}")


def _write_gif(path: Path, pictures: Iterator[Picture], fps: float) -> None:
    first, *rest = (Image.fromarray(picture).quantize(128) for picture in pictures)
    first.save(path, save_all=True, append_images=rest, duration=round(1000 / fps), loop=0)
