"""A saved agent's greedy episode as a video."""

from collections.abc import Iterator
from pathlib import Path

import imageio_ffmpeg
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vast.envs.tasks import make_env
from vast.errors import UserError
from vast.experiments.runs import Run, looked_at
from vast.files import written_whole
from vast.training.protocol import Env

Picture = NDArray[np.uint8]
FORMATS = (".mp4", ".gif")


def film(folder: Path, out: Path, steps: int) -> str:
    """Write the video of one greedy episode, up to so many steps; return what happened in it."""
    if out.suffix not in FORMATS:
        raise UserError(f"video {out}: allowed are the endings {' and '.join(FORMATS)}")
    if steps < 1:
        raise UserError(f"steps {steps}: allowed is 1 or more")
    with looked_at(folder) as run:
        config = run.config
        env = make_env(config.task, config.wad, config.map, film=True)
        try:
            run.give_world_to(env)
            story = _Story()
            fps = float(env.metadata.get("render_fps", 10))
            with written_whole(out) as unfinished:
                write = _write_mp4 if out.suffix == ".mp4" else _write_gif
                write(unfinished, _pictures(run, env, steps, story), fps)
        finally:
            env.close()
    return str(story)


class _Story:
    """What happens in an episode."""

    steps = 0
    total = 0.0
    ended = False

    def __str__(self) -> str:
        how = "to the episode's end" if self.ended else "and the episode goes on"
        return f"{self.steps} steps {how}, return {self.total:.2f}"


def _pictures(run: Run, env: Env, steps: int, story: _Story) -> Iterator[Picture]:
    seed = run.config.seed
    policy = run.agent.policy(0.0, np.random.default_rng(seed))
    policy.begin(np.asarray(env.reset(seed=seed)[0]))
    yield _picture(env)
    while story.steps < steps and not story.ended:
        observation, reward, terminated, truncated, _ = env.step(np.int64(policy.act()))
        story.steps += 1
        story.total += float(reward)
        story.ended = bool(terminated or truncated)
        policy.observe(np.asarray(observation))
        yield _picture(env)


def _picture(env: Env) -> Picture:
    picture = env.render()
    if not isinstance(picture, np.ndarray):
        raise UserError(f"{env.unwrapped} cannot be filmed")
    return picture


def _write_mp4(path: Path, pictures: Iterator[Picture], fps: float) -> None:
    first = next(pictures)
    # The sizes of our pictures are even, as the codec wants them.
    writer = imageio_ffmpeg.write_frames(
        str(path), (first.shape[1], first.shape[0]), fps=fps, macro_block_size=2
    )
    writer.send(None)
    try:
        writer.send(np.ascontiguousarray(first))
        for picture in pictures:
            writer.send(np.ascontiguousarray(picture))
    finally:
        writer.close()


def _write_gif(path: Path, pictures: Iterator[Picture], fps: float) -> None:
    first, *rest = (Image.fromarray(picture).quantize(128) for picture in pictures)
    first.save(path, save_all=True, append_images=rest, duration=round(1000 / fps), loop=0)
