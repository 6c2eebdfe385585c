"""LSH: codes by random projections, and the table that they make."""

from collections import Counter

import gymnasium
import numpy as np
import pytest

import vast  # noqa: F401 (registers the environments)
from tests.agents.mazes import GridMaze, episode, live
from vast.agents.config import Planner
from vast.agents.lsh import LSH, LSHConfig
from vast.errors import UserError
from vast.training.exploration import ExplorationConfig
from vast.training.spaces import Spaces

ALWAYS_RANDOM = ExplorationConfig(burn_in=10**9)


def agent(shape: tuple[int, ...], dtype: str, seed: int, config: LSHConfig | None = None) -> LSH:
    return LSH(Spaces(shape, np.dtype(dtype), 4), config=config or LSHConfig(), seed=seed)


def bits_that_differ(one: int, two: int) -> int:
    return (one ^ two).bit_count()


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.9])
def test_a_bit_differs_with_the_probability_of_the_angle(share: float) -> None:
    angle = share * np.pi
    config = LSHConfig(constant=0.0)
    one, two = np.zeros((2, 1, 5))
    one[0, 0], two[0, :2] = 3.0, (np.cos(angle), np.sin(angle))
    differing = [
        bits_that_differ(learner.encode(one), learner.encode(two))
        for learner in (agent((5,), "float64", seed, config) for seed in range(200))
    ]
    trials = 200 * 64
    assert np.sum(differing) / trials == pytest.approx(
        share, abs=4 * np.sqrt(share * (1 - share) / trials)
    )


def test_images_differ_by_the_angle_between_their_pixels() -> None:
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, 256, (2, 1, 6, 8, 3)).astype(np.uint8)
    x, y = one.ravel().astype(float), two.ravel().astype(float)
    angle = np.arccos(x @ y / np.sqrt((x @ x) * (y @ y)))
    learners = [agent((6, 8, 3), "uint8", seed) for seed in range(200)]
    differing = [bits_that_differ(each.encode(one), each.encode(two)) for each in learners]
    share, trials = angle / np.pi, 200 * 64
    assert np.sum(differing) / trials == pytest.approx(
        share, abs=4 * np.sqrt(share * (1 - share) / trials)
    )


def test_the_constant_tells_places_in_one_direction_apart() -> None:
    near, far = np.array([[1.0, 1.0]]), np.array([[8.0, 8.0]])
    assert agent((2,), "float64", 0).encode(near) != agent((2,), "float64", 0).encode(far)
    without = agent((2,), "float64", 0, LSHConfig(constant=0.0))
    assert without.encode(near) == without.encode(far)


def test_a_code_never_changes_and_follows_from_the_seed() -> None:
    env = GridMaze(image=True)
    learner = agent((5, 5, 1), "uint8", 3, LSHConfig(exploration=ALWAYS_RANDOM))
    frames = np.random.default_rng(0).integers(0, 256, (50, 1, 5, 5, 1)).astype(np.uint8)
    before = [learner.encode(frame) for frame in frames]
    live(learner, env, 300)
    assert [learner.encode(frame) for frame in frames] == before
    assert [agent((5, 5, 1), "uint8", 3).encode(frame) for frame in frames] == before
    assert [agent((5, 5, 1), "uint8", 4).encode(frame) for frame in frames] != before
    assert len(set(before)) == 50


@pytest.mark.parametrize("history", [0, 2])
def test_the_table_counts_the_transitions_between_codes(history: int) -> None:
    env = GridMaze(limit=9)
    config = LSHConfig(history=history, exploration=ALWAYS_RANDOM)
    learner = agent((2,), "float32", 0, config)
    lived: Counter[tuple[int, int, int | None]] = Counter()
    seen, _ = env.reset(seed=0)
    learner.begin(seen)
    frames = [np.zeros_like(seen)] * history + [seen]
    for _ in range(400):
        action = learner.decide()
        state = learner.encode(np.stack(frames))
        seen, reward, terminated, truncated, _ = env.step(np.int64(action))
        learner.observe(action, reward, seen, terminated, truncated)
        frames = [*frames[1:], seen]
        lived[state, action, None if terminated else learner.encode(np.stack(frames))] += 1
        if terminated or truncated:
            seen, _ = env.reset()
            learner.begin(seen)
            frames = [np.zeros_like(seen)] * history + [seen]
    table = learner.table.transitions()
    counted = {
        (int(s), int(a), None if end else int(after)): int(n)
        for s, a, after, end, n in zip(*table, strict=True)
    }
    assert counted == lived
    assert any(after is None for _, _, after in lived)


@pytest.mark.slow
def test_background_planning_reaches_the_values_of_inline_planning() -> None:
    learners = []
    planners: tuple[Planner, ...] = ("inline", "background")
    for planner in planners:
        config = LSHConfig(planner=planner, exploration=ALWAYS_RANDOM)
        learner = agent((2,), "float32", 0, config)
        live(learner, GridMaze(), 300)
        learner.close()
        learner.table.sweep()
        learners.append(learner)
    for state in learners[0].table.states().tolist():
        np.testing.assert_allclose(
            learners[0].table.q(state), learners[1].table.q(state), atol=2 * 5e-5 / (1 - 0.99)
        )


def test_wrong_numbers_are_refused_in_one_line() -> None:
    with pytest.raises(UserError, match="n_bits must be between 1 and 64, got 65"):
        LSHConfig(n_bits=65)
    with pytest.raises(UserError, match=r"unknown planner 'inlin'.*did you mean 'inline'"):
        LSHConfig(planner="inlin")  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"discount must be at least 0 and below 1, got 1\.0"):
        LSHConfig(discount=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_it_finds_the_way_through_the_continuous_t_maze(seed: int) -> None:
    env = gymnasium.make("vast/TMaze2D-v0", max_episode_steps=500)
    schedule = ExplorationConfig(burn_in=4000, anneal_steps=2000)
    learner = agent((2,), "float32", seed, LSHConfig(exploration=schedule))
    live(learner, env, 8000)
    test = gymnasium.make("vast/TMaze2D-v0", max_episode_steps=200)
    test.reset(seed=5)
    rewards, lengths = zip(*(episode(learner, test, 0.05) for _ in range(30)), strict=True)
    # at random it is found in 200 steps seldom; straight it would be about 9 steps
    assert np.mean(rewards) > 0.9
    assert np.mean(lengths) < 30
