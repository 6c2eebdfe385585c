"""Speed of the environments: steps per second, and the ratio to the bare engine.

The bare engine does only what every environment must: play four tics or frames and read the screen
(twice in Pong, whose observation is the maximum of the last two frames). It plays the same episodes
as the environment, because the time to draw depends on what is in view. Short segments of both are
timed in turns, so other work on the machine slows both; the ratio is the median over the rounds.
Resets are timed separately.

    python -m benchmarks.envs [--json FILE] [--steps 400] [--rounds 15]
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import gymnasium
import numpy as np
import tyro
from numpy.typing import NDArray

import vast  # noqa: F401  (registers the environments)
from benchmarks.report import machine, report_console, show, write_json
from vast.envs.atari import FRAME_SKIP
from vast.envs.doom.engine import ACTION_REPEAT, OBSERVING, PRESSED, Engine, Episode
from vast.envs.doom.environment import DoomMaze
from vast.envs.pong import Pong

TASKS = ("TMaze", "LargeMaze", "LargeMazeHazards", "HMaze", "PlusMaze", "Pong", "TMaze2D")


@dataclass
class Segment:
    """Some steps of one episode that both play."""

    episode: Any
    """of Doom: an `Episode`; of Pong: None, because all episodes start alike"""
    earlier: list[int]
    """actions of the episode before these steps, including its random start"""
    actions: list[int]
    ends: bool


class TimedEnv:
    """An environment whose steps and resets are timed separately."""

    def __init__(self, name: str) -> None:
        self.env = gymnasium.make(f"vast/{name}-v0", disable_env_checker=True).unwrapped
        assert isinstance(self.env.action_space, gymnasium.spaces.Discrete)
        self.n_actions = int(self.env.action_space.n)
        self.reset_times: list[float] = []
        self.env.reset(seed=0)

    def play(self, actions: NDArray[np.int64]) -> tuple[float, list[Segment]]:
        """Play some actions; return the time that their steps took, and the segments played."""
        spent = 0.0
        segments: list[Segment] = []
        segment = self._begin_segment()
        for action in actions:
            begin = time.perf_counter()
            *_, terminated, truncated, _ = self.env.step(action)
            spent += time.perf_counter() - begin
            segment.actions.append(int(action))
            if terminated or truncated:
                segment.ends = True
                segments.append(segment)
                self.reset()
                segment = self._begin_segment()
        return spent, [*segments, segment]

    def reset(self) -> None:
        """Start another episode, and record how long that took."""
        begin = time.perf_counter()
        self.env.reset()
        self.reset_times.append(time.perf_counter() - begin)

    def _begin_segment(self) -> Segment:
        episode = self.env._episode if isinstance(self.env, DoomMaze) else None
        return Segment(episode, list(episode.actions) if episode else [], [], False)


class BareDoom:
    """A Doom engine alone."""

    def __init__(self, env: DoomMaze) -> None:
        self._engine = Engine(env._engine_config(OBSERVING))
        self._episode: Episode | None = None

    def play(self, segment: Segment) -> float:
        """Return the time that it takes to play a segment."""
        if segment.episode is not self._episode:
            self._episode = segment.episode
            self._engine.begin(replace(segment.episode, actions=bytearray(segment.earlier)))
        game = self._engine._game
        begin = time.perf_counter()
        for action in segment.actions:
            game.make_action(PRESSED[action], ACTION_REPEAT)
            game.get_state()
        return time.perf_counter() - begin

    def close(self) -> None:
        """End the engine."""
        self._engine.close()


class BarePong:
    """An Atari emulator alone."""

    def __init__(self) -> None:
        self._pong = Pong()
        self._pong.reset(seed=0)

    def play(self, segment: Segment) -> float:
        """Return the time that it takes to play a segment."""
        emulator, keys, frames = self._pong._ale, self._pong._actions, self._pong._frames
        begin = time.perf_counter()
        for action in segment.actions:
            for frame in range(FRAME_SKIP):
                emulator.act(keys[action])
                if frame >= FRAME_SKIP - 2:
                    emulator.getScreenGrayscale(frames[frame % 2])
        spent = time.perf_counter() - begin
        if segment.ends:
            emulator.reset_game()
        return spent

    def close(self) -> None:
        """Do nothing: the emulator lives in this process."""


def bare_engine(env: Any) -> BareDoom | BarePong | None:
    """Return an environment's engine alone; None if it has none."""
    if isinstance(env, DoomMaze):
        return BareDoom(env)
    return BarePong() if isinstance(env, Pong) else None


def measure(name: str, steps: int, rounds: int) -> dict[str, Any]:
    """Measure one environment, and its engine alone if it has one."""
    rng = np.random.default_rng(0)
    timed = TimedEnv(name)
    bare = bare_engine(timed.env)
    ours, alone = [], []
    for _ in range(rounds + 1):
        spent, segments = timed.play(rng.integers(timed.n_actions, size=steps))
        ours.append(spent / steps)
        if bare is not None:
            alone.append(sum(bare.play(segment) for segment in segments) / steps)
    for _ in range(10):
        timed.reset()
    # The first round is a warm-up.
    row: dict[str, Any] = {"environment": name, "steps_per_second": 1 / np.median(ours[1:])}
    if bare is not None:
        row["bare_engine_steps_per_second"] = 1 / np.median(alone[1:])
        row["ratio"] = float(np.median(np.divide(alone[1:], ours[1:])))
        bare.close()
    row["reset_ms"] = 1000 * float(np.median(timed.reset_times))
    timed.env.close()
    return row


def main(
    json_file: Annotated[Path | None, tyro.conf.arg(name="json")] = None,
    steps: int = 400,
    rounds: int = 15,
) -> None:
    """Measure the environments.

    Args:
        json_file: also write the results to this file
        steps: environment steps per round
        rounds: how often each is timed
    """
    console = report_console()
    report: dict[str, Any] = {"machine": machine("vizdoom", "ale-py", "gymnasium", "numpy")}
    console.print(report["machine"])
    report["environments"] = [measure(name, steps, rounds) for name in TASKS]
    show(console, "environments", report["environments"])
    if json_file is not None:
        write_json(report, json_file)
        console.print(f"wrote {json_file}")


if __name__ == "__main__":
    tyro.cli(main)
