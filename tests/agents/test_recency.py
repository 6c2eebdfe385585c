"""E[r|s,a] with recency: recomputable, consistent with the counts, and quick to change its mind."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vast.agents.vast.recency import RecentRewards
from vast.planning import TransitionTable
from vast.replay import Replay

NOTHING = np.zeros(1, np.float32)

STEP = st.tuples(
    st.integers(0, 3),  # the state that its frame is assigned
    st.integers(0, 1),  # action
    st.sampled_from([-1.0, 0.0, 0.5, 1.0]),  # reward
    st.sampled_from(["go on", "go on", "terminal", "truncated"]),
)


def lived(steps: list[tuple[int, int, float, str]], horizon: float) -> tuple[Replay, Replay]:
    """Return two replays of the same life: with recency, and with the plain mean."""
    replays = []
    for recent in (True, False):
        table = TransitionTable(2, 0.9, 1e-6)
        ledger = RecentRewards(table, horizon) if recent else None
        replay = Replay(1000, (1,), 2, dtype=np.float32, table=table, ledger=ledger)
        for state, action, reward, fate in steps:
            if not replay.in_episode:
                replay.assign([replay.begin(NOTHING)], np.array([state], np.uint64))
            if fate == "terminal":
                replay.end_terminal(action, reward)
                continue
            replay.assign([replay.append(action, reward, NOTHING)], np.array([state], np.uint64))
            if fate == "truncated":
                replay.end_truncated()
        replays.append(replay)
    return replays[0], replays[1]


def table_of(replay: Replay) -> TransitionTable:
    table = replay._assignments._table
    assert isinstance(table, TransitionTable)
    return table


def rebuilt(replay: Replay, horizon: float) -> dict[tuple[int, int], float]:
    """Return the estimate from the replay's columns alone."""
    episodes, found = replay._episodes, {}
    outcomes: dict[tuple[int, int], dict[object, list[tuple[int, float]]]] = {}
    for i in range(replay.oldest, replay.end):
        fate, state = int(episodes.fate[i]), int(replay.states([i])[0][0])
        if fate == 1:
            following: object = int(replay.states([i + 1])[0][0])
        elif fate == 2:
            following = "end"
        else:
            continue
        pair = (state, int(episodes.action[i]))
        where = outcomes.setdefault(pair, {}).setdefault(following, [])
        where.append((i, float(episodes.reward[i])))
    for pair, by in outcomes.items():
        total = sum(map(len, by.values()))
        found[pair] = 0.0
        for each in by.values():
            weights = [math.exp((i - each[-1][0]) / horizon) for i, _ in each]
            mean = sum(w * r for w, (_, r) in zip(weights, each, strict=True)) / sum(weights)
            found[pair] += len(each) / total * mean
    return found


@given(
    st.lists(STEP, max_size=40),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), max_size=20),
    st.floats(0.5, 50),
)
def test_it_can_be_recomputed_from_the_replay_after_any_reassignment(
    steps: list[tuple[int, int, float, str]], moves: list[tuple[int, int]], horizon: float
) -> None:
    replay, _ = lived(steps, horizon)
    for number, state in moves:
        if number < replay.end:
            replay.reassign([number], np.array([state], np.uint64))
    wanted = rebuilt(replay, horizon)
    got = {pair: table_of(replay).mean_reward(*pair) for pair in wanted}
    assert got == pytest.approx(wanted, abs=1e-9)


@given(st.lists(STEP, max_size=30))
def test_with_an_endless_horizon_it_is_the_plain_mean(
    steps: list[tuple[int, int, float, str]],
) -> None:
    recent, plain = lived(steps, 1e12)
    for pair in rebuilt(plain, 1.0):
        assert table_of(recent).mean_reward(*pair) == pytest.approx(
            table_of(plain).mean_reward(*pair), abs=1e-9
        )


def test_a_reversed_reward_is_believed_after_one_visit() -> None:
    often = [(0, 0, 1.0, "terminal")] * 50
    replay, plain = lived([*often, (1, 1, 0.0, "truncated"), (0, 0, -1.0, "terminal")], 0.1)
    assert table_of(replay).mean_reward(0, 0) == pytest.approx(-1, abs=0.01)
    assert table_of(plain).mean_reward(0, 0) > 0.9


def test_a_reward_at_the_end_counts_as_often_as_the_end_was_met() -> None:
    """Two of three times the action leads on without reward; the last time it ended with one."""
    replay, _ = lived(
        [(0, 0, 0.0, "truncated"), (0, 0, 0.0, "truncated"), (0, 0, 1.0, "terminal")], 0.1
    )
    assert table_of(replay).mean_reward(0, 0) == pytest.approx(1 / 3)
