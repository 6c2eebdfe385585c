"""E[r|s,a] by recent rewards: recomputable, consistent with the counts, and quick to change."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vast.agents.vast.config import ExtensionsConfig
from vast.agents.vast.extensions.recent_rewards import RecentRewards
from vast.errors import UserError
from vast.planning import TransitionTable
from vast.replay import Replay

NOTHING = np.zeros(1, np.float32)

STEP = st.tuples(
    st.integers(0, 3),  # the state that its frame is assigned
    st.integers(0, 1),  # action
    st.sampled_from([-1.0, 0.3, 0.5, 1.1]),  # reward, no two of which are a tie
    st.sampled_from(["go on", "go on", "terminal", "truncated"]),
)


def lived(
    steps: list[tuple[int, int, float, str]],
    horizon: float,
    width: float = 0.0,
    change: float | None = None,
) -> tuple[Replay, Replay]:
    """Return two replays of the same life: with recency, and with the plain mean."""
    replays = []
    for recent in (True, False):
        table = TransitionTable(2, 0.9, 1e-6)
        listener = RecentRewards(table, horizon, width, change) if recent else None
        replay = Replay(1000, (1,), 2, dtype=np.float32, table=table, listener=listener)
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


def rebuilt(
    replay: Replay, horizon: float, width: float = 0.0, change: float | None = None
) -> dict[tuple[int, int], float]:
    """Return the estimate from the replay's columns alone."""
    ends: list[tuple[int, int, int, float]] = []
    episodes, found = replay._episodes, {}
    outcomes: dict[tuple[int, int], dict[object, list[tuple[int, float]]]] = {}
    for i in range(replay.oldest, replay.end):
        fate, state = int(episodes.fate[i]), int(replay.states([i])[0][0])
        if fate == 1:
            following: object = int(replay.states([i + 1])[0][0])
        elif fate == 2:
            following = "end"
            ends.append((i, state, int(episodes.action[i]), float(episodes.reward[i])))
        else:
            continue
        pair = (state, int(episodes.action[i]))
        where = outcomes.setdefault(pair, {}).setdefault(following, [])
        where.append((i, float(episodes.reward[i])))
    valid = since_the_change(ends, horizon, width, change) if width and change else ends
    for pair, by in outcomes.items():
        total = sum(map(len, by.values()))
        found[pair] = 0.0
        for following, each in by.items():
            weights = [math.exp((i - each[-1][0]) / horizon) for i, _ in each]
            rewards = [r for _, r in each]
            if width and following == "end":
                told = told_by_ends(valid, pair, horizon, width)
                hoped = max(0.0, *(r for _, _, _, r in ends)) / 2 * (1 - len(valid) / 100)
                found[pair] += len(each) / total * (hoped if told is None else told)
                continue
            mean = sum(w * r for w, r in zip(weights, rewards, strict=True)) / sum(weights)
            found[pair] += len(each) / total * mean
    return found


End = tuple[int, int, int, float]
"""when, the state, the action, the reward"""


def told_by_ends(
    ends: list[End], pair: tuple[int, int], horizon: float, width: float
) -> float | None:
    """Return what an end nearby brought, the recent ones above all, if there was one."""
    far = [((pair[0] ^ state).bit_count(), i, r) for i, state, a, r in ends if a == pair[1]]
    near = [(d, i, r) for d, i, r in far if d <= 7 * width]
    if not near:
        return None
    newest = max(i for _, i, _ in near)
    weights = [math.exp((i - newest) / horizon - d / width) for d, i, _ in near]
    return sum(w * r for w, (_, _, r) in zip(weights, near, strict=True)) / sum(weights)


def since_the_change(ends: list[End], horizon: float, width: float, share: float) -> list[End]:
    """Return the ends of the world as it is, by the words of `terminal_rewards`."""
    rewards = [r for _, _, _, r in ends]
    latest: list[tuple[bool, int]] = []
    first = 0
    for n, (_, state, action, reward) in enumerate(ends):
        expected = told_by_ends(ends[first:n], (state, action), horizon, width)
        if expected is None:
            continue
        surprising = abs(reward - expected) > (max(rewards) - min(rewards)) / 2
        latest = [*latest, (surprising, n)][-8:]
        surprises = [at for yes, at in latest if yes]
        if surprising and len(surprises) >= share * 8:
            first, latest = surprises[0], []
    return ends[first:]


@given(
    st.lists(STEP, max_size=40),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), max_size=20),
    st.floats(0.5, 1000),
    st.sampled_from([(0.0, None), (0.2, None), (0.2, 0.3), (1.0, 0.2)]),
)
def test_it_can_be_recomputed_from_the_replay_after_any_reassignment(
    steps: list[tuple[int, int, float, str]],
    moves: list[tuple[int, int]],
    horizon: float,
    ends: tuple[float, float | None],
) -> None:
    replay, _ = lived(steps, horizon, *ends)
    for number, state in moves:
        if number < replay.end:
            replay.reassign([number], np.array([state], np.uint64))
    wanted = rebuilt(replay, horizon, *ends)
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


def test_a_reversed_reward_is_believed_of_ends_nearby_and_not_of_those_far_away() -> None:
    near, far = 0b1, 0xFFFF
    before = [(near, 0, 1.0, "terminal"), (far, 0, 1.0, "terminal"), (0, 1, 1.0, "terminal")] * 20
    replay, _ = lived([*before, (0, 1, 0.0, "truncated"), (0, 0, -1.0, "terminal")], 0.5, 1.0)
    table = table_of(replay)
    assert table.mean_reward(0, 0) == pytest.approx(-1, abs=0.1)
    assert table.mean_reward(near, 0) == pytest.approx(-1, abs=0.3)
    assert table.mean_reward(far, 0) == 1.0
    assert table.mean_reward(0, 1) > 0.9  # another action


def test_when_one_end_after_the_other_surprises_all_that_was_known_of_ends_is_forgotten() -> None:
    """Rewards of four ends are reversed; the last two have not been seen since."""
    places = [0x0F, 0xF0, 0xF00, 0xF000]
    before = [
        (place, 0, sign, "terminal") for place, sign in zip(places, (1.0, 1, 1, -1), strict=True)
    ]
    after = [(place, 0, -1.0, "terminal") for place in places[:2]]
    for change, others in ((0.25, (0.49, 0.49)), (0.5, (1.0, -1.0)), (None, (1.0, -1.0))):
        replay, _ = lived([*before * 5, (0, 1, 0.0, "truncated"), *after], 0.5, 0.7, change)
        known = [table_of(replay).mean_reward(place, 0) for place in places]
        assert known == pytest.approx([-1, -1, *others], abs=0.2)


def test_what_was_forgotten_counts_less_the_more_ends_have_been_seen_since() -> None:
    before = [(0x0F, 0, 1.0, "terminal"), (0xF0, 0, -1.0, "terminal")] * 5
    hopes = []
    for n in (2, 50, 98, 150):
        after = [(0x0F, 0, -1.0, "terminal")] * n
        replay, _ = lived([*before, *after], 1e6, 0.7, 0.25)
        hopes.append(table_of(replay).mean_reward(0xF0, 0))
    assert hopes == pytest.approx([0.49, 0.25, 0.01, 0.0])


def test_where_all_ends_are_alike_rounding_is_no_surprise() -> None:
    """An end that was seen once, long ago, would be forgotten by mistake."""
    often = [(n * 7 % 16, 0, 0.1, "terminal") for n in range(200)]
    replay, _ = lived([(0xFFFF, 0, 0.1, "terminal"), *often], 7.0, 1.0, 0.2)
    assert table_of(replay).mean_reward(0xFFFF, 0) == pytest.approx(0.1)


@pytest.mark.parametrize(("width", "change"), [(0.0, None), (1.0, None), (1.0, 0.25)])
def test_saved_and_loaded_it_goes_on_to_the_bit(width: float, change: float | None) -> None:
    rng = np.random.default_rng(0)
    steps = [
        (int(rng.integers(8)), int(rng.integers(2)), float(rng.normal()), fate)
        for fate in rng.choice(["go on", "go on", "terminal"], 60).tolist()
    ]
    replay, _ = lived(steps, 10.0, width, change)
    rewards = replay._assignments._listener
    assert isinstance(rewards, RecentRewards)
    other = RecentRewards(table_of(replay), 10.0, width, change)
    other.load_state_dict(rewards.state_dict())
    for pair in rewards._outcomes:
        assert other._estimate(pair) == rewards._estimate(pair)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"reward_width": 1.0}, "reward_width requires reward_horizon"),
        ({"reward_horizon": 9.0, "change_point": 0.5}, "change_point requires reward_width"),
        (
            {"reward_horizon": 9.0, "reward_width": 1.0, "change_point": 2.0},
            "at most 1, got 2",
        ),
    ],
)
def test_options_that_say_nothing_without_another_are_refused(
    wrong: dict[str, Any], why: str
) -> None:
    with pytest.raises(UserError, match=why):
        ExtensionsConfig(**wrong)
