"""States that are bins: what they tell, and what their Hamming distance means."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.agents.mazes import GridMaze
from tests.training.runs import identical
from vast.agents.bins import BinEncoder, Bins, BinsConfig
from vast.envs.pong import VALUES, PongRAM
from vast.errors import UserError
from vast.experiments.figures import pong_oracle
from vast.training.exploration import ExplorationConfig
from vast.training.spaces import Spaces

PONG = BinsConfig(
    scales=tuple(
        (VALUES.index(name), *scale)
        for name, scale in {
            "ball_x": (44.0, 208.0, 12.0),
            "ball_y": (40.0, 208.0, 8.0),
            "paddle": (32.0, 208.0, 8.0),
            "speed_x": (-1.5, 0.5, 1.0),
        }.items()
    )
)
NAMES = ("ball_x", "ball_y", "paddle", "speed_x")


def frames_of_pong(steps: int) -> NDArray[Any]:
    """Return vectors of a game, [N, 1, entries], with the ball in play."""
    env = PongRAM()
    vector, _ = env.reset(seed=0)
    found = []
    for action in np.random.default_rng(0).integers(3, size=steps):
        if vector[:2].min() > 0:
            found.append(vector)
        vector, *_ = env.step(action)
    return np.array(found)[:, None]


def test_bins_of_pong_tell_the_true_values_to_half_a_bin() -> None:
    frames, encoder = frames_of_pong(600), BinEncoder(PONG)
    assert encoder.n_bits == 13 + 21 + 22 + 2
    told = encoder.decode(encoder.encode(frames))
    true = frames[:, 0, [VALUES.index(name) for name in NAMES]]
    assert (np.abs(told - true) <= [6, 4, 4, 0.5]).all()
    assert len(np.unique(true[:, 0])) > 30  # it was a real game


def test_the_oracle_of_pong_bins_the_values_that_it_names() -> None:
    named = [getattr(pong_oracle, name.upper()) for name in VALUES]
    assert named == list(range(len(VALUES)))
    for condition in pong_oracle.SCALES["cpu"].conditions():
        Bins(PongRAM(), config=condition.config.settings)


def grid(scales: tuple[tuple[int, float, float, float], ...], **options: Any) -> NDArray[np.uint64]:
    """Return the states of a grid of 5 x 5 bins of size 1, [5, 5]."""
    x, y = np.meshgrid(np.arange(5) + 0.5, np.arange(5) + 0.5, indexing="ij")
    encoder = BinEncoder(BinsConfig(scales=scales, **options))
    return encoder.encode(np.stack([x, y], axis=-1).reshape(-1, 1, 2)).reshape(5, 5)


SQUARE = ((0, 0.0, 4.0, 1.0), (1, 0.0, 4.0, 1.0))


def distances(states: NDArray[np.uint64]) -> NDArray[np.int64]:
    flat = states.ravel()
    found: NDArray[np.int64] = np.bitwise_count(flat[:, None] ^ flat).astype(np.int64)
    return found


def bins_between() -> NDArray[np.int64]:
    x, y = np.divmod(np.arange(25), 5)
    found: NDArray[np.int64] = np.abs(x[:, None] - x) + np.abs(y[:, None] - y)
    return found


def test_the_hamming_distance_is_the_number_of_bins_between() -> None:
    assert (distances(grid(SQUARE)) == bins_between()).all()


def test_hashed_states_are_as_many_and_their_distance_means_nothing() -> None:
    states = grid(SQUARE, hashed=True)
    assert len(np.unique(states)) == 25
    apart = ~np.eye(25, dtype=bool)
    found, true = distances(states)[apart], bins_between()[apart]
    assert found.min() > 10
    assert abs(np.corrcoef(found, true)[0, 1]) < 0.15


def test_an_entry_may_have_a_coarse_and_a_fine_scale() -> None:
    encoder = BinEncoder(BinsConfig(scales=((0, 0.0, 100.0, 50.0), (0, 20.0, 24.0, 1.0))))
    states = encoder.encode(np.array([0, 20.5, 21.5, 22.5, 30, 60, 130], float).reshape(-1, 1, 1))
    assert distances(states)[0].tolist() == [0, 0, 1, 2, 4, 5, 6]


def test_an_agent_learns_and_resumes_with_bins(tmp_path: Any) -> None:
    config = BinsConfig(scales=SQUARE, exploration=ExplorationConfig(100, 1.0, 0.1, 100))
    agent = Bins(GridMaze(image=False), config=config, seed=1).learn(600)
    agent.save(tmp_path / "agent")
    twin = Bins.load(tmp_path / "agent", GridMaze(image=False))
    assert identical(agent.learn(50).state_dict(), twin.learn(50).state_dict())
    assert agent.evaluate(GridMaze(image=False), 200)["goals"] > 5


def test_wrong_scales_are_refused_in_one_line() -> None:
    with pytest.raises(UserError, match=r"scales must be \(entry, low, high, size\), .*got \(0, 1"):
        BinsConfig(scales=((0, 1.0, 1.0, 1.0),))
    with pytest.raises(UserError, match="marks of all scales must be between 1 and 64, got 80"):
        BinsConfig(scales=((0, 0.0, 40.0, 1.0), (1, 0.0, 40.0, 1.0)))
    with pytest.raises(UserError, match="history must be 0 for bins, got 1"):
        BinsConfig(scales=SQUARE, history=1)
    vector = Spaces((2,), np.dtype(np.float32), 3)
    with pytest.raises(UserError, match="scales must be given"):
        Bins(vector, config=BinsConfig())
    with pytest.raises(UserError, match="an entry in scales must be between 0 and 1, got 2"):
        Bins(vector, config=BinsConfig(scales=((2, 0.0, 1.0, 1.0),)))
    with pytest.raises(UserError, match=r"must be vectors for bins, got shape \(5, 5, 1\)"):
        Bins(Spaces((5, 5, 1), np.dtype(np.uint8), 3), config=BinsConfig(scales=SQUARE))
