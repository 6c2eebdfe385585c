"""What an agent's codes tell of the ball in Pong.

A scripted player follows the ball, with some random actions. (Random play would not do: serves
repeat themselves, and the enemy's paddle gives the ball away.) The first half of the play gives
each state its mean position and speed of the ball, and its mean position of the paddle; the second
half is judged by them. A state that is new then gets the mean of the nearest ones, as in the table.
"""

from collections.abc import Mapping
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vast.agents.table import TableAgent
from vast.errors import UserError
from vast.experiments.runs import Run
from vast.tasks import make_env
from vast.training.protocol import Env

STEPS = 20_000
NOISE = 0.2
"""share of random actions"""
PLACES = ("ball_x", "ball_y", "paddle")
"""in pixels"""
SPEEDS = ("speed_x", "speed_y")
"""of which the sign is asked"""
STAY, UP, DOWN = range(3)
MIDDLE = 6
"""of the paddle: pixels by which the ball is below it if they meet there"""


class Play(NamedTuple):
    """The frames of some games in which a ball is in play, and their states."""

    truth: NDArray[np.float64]
    """[n, 5], places and speeds"""
    states: NDArray[np.uint64]


def follow(info: Mapping[str, Any], rng: np.random.Generator) -> int:
    """Return the action that brings the paddle to the ball, or a random one."""
    if rng.random() < NOISE:
        return int(rng.integers(3))
    below = info["ball_y"] - info["paddle"] - MIDDLE
    return STAY if abs(below) < MIDDLE else UP if below < 0 else DOWN


def watch(agent: TableAgent, env: Env, rng: np.random.Generator, steps: int) -> Play:
    """Let an agent watch the scripted player."""
    policy = agent.policy(0.0, rng)
    truth, states = [], []
    ended = True
    info: dict[str, Any] = {}
    for _ in range(steps):
        if ended:
            observation, info = env.reset(seed=int(rng.integers(2**31)))
            policy.begin(observation)
        if info["ball_x"] and info["ball_y"]:
            truth.append([info[name] for name in PLACES + SPEEDS])
            states.append(policy.state())
        action = follow(info, rng)
        observation, _, terminated, truncated, info = env.step(np.int64(action))
        ended = bool(terminated or truncated)
        if not ended:
            policy.observe(observation, action)
    return Play(np.array(truth, np.float64), np.array(states, np.uint64))


class Means(NamedTuple):
    """What states mean: how often each was met, and the mean truth of its frames."""

    states: NDArray[np.uint64]
    counts: NDArray[np.int64]
    truth: NDArray[np.float64]
    """[states, columns]"""

    def nearest(self, state: np.uint64, *, other: bool = False) -> tuple[int, NDArray[np.float64]]:
        """Return the distance of the nearest states, of other ones if so asked, and their mean."""
        distances = np.bitwise_count(self.states ^ state).astype(np.int64)
        if other:
            distances[distances == 0] = np.iinfo(np.int64).max
        near = distances == distances.min()
        return int(distances.min()), np.average(self.truth[near], axis=0, weights=self.counts[near])


def means_of(states: NDArray[np.uint64], truth: NDArray[np.float64]) -> Means:
    """Return what each state means."""
    found, inverse, counts = np.unique(states, return_inverse=True, return_counts=True)
    sums = np.zeros((len(found), truth.shape[1]))
    np.add.at(sums, inverse, truth)
    return Means(found, counts, sums / counts[:, None])


def told(play: Play, rng: np.random.Generator) -> dict[str, Any]:
    """Return what the states of a play tell, beside what one would guess without them."""
    half = len(play.states) // 2
    truth = np.concatenate([play.truth[:, :3], np.sign(play.truth[:, 3:])], axis=1)
    means = means_of(play.states[:half], truth[:half])
    asked, inverse = np.unique(play.states[half:], return_inverse=True)
    answers = np.array([means.nearest(state)[1] for state in asked])[inverse]
    guesses = truth[:half].mean(axis=0)
    true = truth[half:]

    def errors(estimates: NDArray[np.float64]) -> dict[str, float]:
        wrong = np.abs(estimates - true).mean(axis=0)
        return {name: round(float(wrong[column]), 2) for column, name in enumerate(PLACES)}

    def right_signs(estimates: NDArray[np.float64]) -> dict[str, float]:
        found = {}
        for column, name in enumerate(SPEEDS, start=len(PLACES)):
            moving = true[:, column] != 0
            right = (np.sign(estimates) == np.sign(true))[moving, column]
            found[name] = round(float(right.mean()), 3)
        return found

    return {
        "frames": len(play.states),
        "states": len(np.unique(play.states)),
        "frames_of_known_states": round(float(np.isin(play.states[half:], means.states).mean()), 3),
        "error": errors(answers),
        "error_of_guessing": errors(np.broadcast_to(guesses, true.shape)),
        "right_signs": right_signs(answers),
        "right_signs_by_guessing": right_signs(np.broadcast_to(guesses, true.shape)),
        "neighbours": neighbours(means, rng),
    }


def neighbours(means: Means, rng: np.random.Generator) -> dict[str, float] | None:
    """Return how far apart the ball is in a state and its nearest other ones, and in any two.

    None if there is one state only.
    """
    if len(means.states) < 2:
        return None
    ball = means.truth[:, :2]
    found = [means.nearest(state, other=True) for state in means.states]
    near = np.array([other[:2] for _, other in found])
    return {
        "bits": round(float(np.mean([bits for bits, _ in found])), 2),
        "distance": round(_mean_distance(ball, near), 2),
        "distance_of_any": round(_mean_distance(ball, rng.permutation(ball)), 2),
    }


def _mean_distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.hypot(*(one - other).T).mean())


def ball(run: Run) -> dict[str, Any]:
    """Return the probe: what the codes of a run's agent tell of the ball; distances in pixels."""
    agent, config = run.agent, run.config
    if not isinstance(agent, TableAgent):
        raise UserError(f"the run's agent must have a table, got {agent.name}")
    with closing(make_env(config.task, config.wad, config.map)) as env:
        if "ball_x" not in env.reset(seed=config.seed)[1]:
            raise UserError(f"the run must be in Pong, got {config.task}")
        rng = np.random.default_rng(config.seed)
        found = told(watch(agent, env, rng, STEPS), rng)
    states = len(agent.table)
    table = {
        "states": states,
        "visits_per_state": round(agent.table.n_transitions / states, 2) if states else None,
    }
    return {"watched_steps": STEPS, "noise": NOISE, **found, "table": table}
