"""What states hold, against the same in plain Python, one frame at a time."""

import math
from collections import defaultdict

import gymnasium
import numpy as np
import pytest

from vast import MFEC, VaST
from vast.analysis.states import States, collect, receptive_fields, states_of
from vast.errors import UserError
from vast.planning import TransitionTable
from vast.replay import Replay

N_BITS = 6
N_ACTIONS = 3


def lived(
    seed: int, *, capacity: int, steps: int, poses: bool = True
) -> tuple[TransitionTable, Replay]:
    """Random states, episodes and poses, some unknown; the last frames have no state yet."""
    rng = np.random.default_rng(seed)
    table = TransitionTable(N_ACTIONS)
    replay = Replay(capacity, (2,), N_ACTIONS, dtype=np.float32, table=table)
    for step in range(steps):
        pose = tuple(rng.uniform((-3, -2, -400), (9, 6, 400)))
        known = None if not poses or rng.random() < 0.2 else pose
        if known is not None and rng.random() < 0.2:
            known = (pose[0], pose[1], math.nan)
        action, reward = int(rng.integers(N_ACTIONS)), float(rng.normal())
        if not replay.in_episode:
            number = replay.begin(np.zeros(2, np.float32), known)
        elif rng.random() < 0.1:
            replay.end_terminal(action, reward)
            number = None
        else:
            number = replay.append(action, reward, np.zeros(2, np.float32), known)
        if number is not None and step < steps - 3:
            replay.assign([number], rng.integers(0, 1 << N_BITS, 1, dtype=np.uint64))
        table.sweep(5)
    return table, replay


def pairs(table: TransitionTable) -> list[tuple[int, int]]:
    listed = table.transitions()
    return list(zip(listed.states.tolist(), listed.actions.tolist(), strict=True))


def frames_by_state(replay: Replay) -> dict[int, list[int]]:
    found = defaultdict(list)
    for number in range(replay.oldest, replay.end):
        (state,), (assigned,) = replay.states([number])
        if assigned:
            found[int(state)].append(number)
    return found


@pytest.mark.parametrize(("seed", "capacity"), [(0, 500), (1, 60), (2, 20)])
def test_states_hold_what_counting_one_by_one_finds(seed: int, capacity: int) -> None:
    table, replay = lived(seed, capacity=capacity, steps=300)
    table.set_reward(*pairs(table)[0], 7.0)
    states = collect(table, replay, N_BITS)
    listed = table.transitions()
    everyone = {*listed.states.tolist(), *listed.next_states[~listed.terminals].tolist()}
    assert states.keys.tolist() == sorted(everyone)
    assert len(states) == len(table)
    held = frames_by_state(replay)
    for row, key in enumerate(states.keys.tolist()):
        np.testing.assert_array_equal(states.q[row], table.q(key))
        assert states.counts[row].tolist() == [table.count(key, a) for a in range(N_ACTIONS)]
        means = [table.mean_reward(key, a) for a in range(N_ACTIONS)]
        np.testing.assert_array_equal(states.reward[row], means)
        leaving = table.successors(key)
        ended = [leaving.counts[leaving.terminals & (leaving.actions == a)].sum() for a in range(3)]
        assert states.ends[row].tolist() == ended
        assert states.value[row] == table.value(key)
        assert states.visits[row] == sum(table.count(key, a) for a in range(N_ACTIONS))
        frames = held.get(key, [])
        assert states.frames(row).tolist() == frames
        assert states.frame_counts[row] == len(frames)
        assert (states.first[row], states.last[row]) == (
            (frames[0], frames[-1]) if frames else (-1, -1)
        )
        assert states.bits[row].tolist() == [bool(key >> bit & 1) for bit in range(N_BITS)]
        np.testing.assert_allclose(states.pose[row], mean_pose(replay, frames))
    assert states.frames_end == replay.end
    assert states.rows([*states.keys, 1 << 40]).tolist() == [*range(len(states)), -1]


def mean_pose(replay: Replay, frames: list[int]) -> list[float]:
    poses = [replay.poses([number])[0].tolist() for number in frames]
    x, y, headings = ([pose[i] for pose in poses if pose[i] == pose[i]] for i in range(3))
    east = sum(math.cos(math.radians(angle)) for angle in headings)
    north = sum(math.sin(math.radians(angle)) for angle in headings)
    mean = math.degrees(math.atan2(north, east)) % 360 if headings else math.nan
    return [*(sum(v) / len(v) if v else math.nan for v in (x, y)), mean]


def test_the_mean_of_headings_goes_the_short_way_round_and_may_not_exist() -> None:
    table = TransitionTable(1)
    replay = Replay(10, (1,), 1, table=table)
    replay.begin(np.zeros(1, np.uint8), (0, 0, 350))
    for angle in (30, 20, 200, 70):
        replay.append(0, 0.0, np.zeros(1, np.uint8), (0, 0, angle))
    replay.assign(range(5), np.array([1, 1, 2, 2, 3], np.uint64))
    around, opposite, single = collect(table, replay, 2).pose[:, 2]
    assert around == pytest.approx(10)
    assert math.isnan(opposite)
    assert single == pytest.approx(70)


@pytest.mark.parametrize("headings", [1, 4])
def test_receptive_fields_are_shares_of_the_frames_in_each_cell(headings: int) -> None:
    table, replay = lived(3, capacity=200, steps=400)
    states = collect(table, replay, N_BITS)
    fields = receptive_fields(states, replay, cells=5, headings=headings)
    assert fields is not None
    assert np.diff(fields.x) == pytest.approx(np.diff(fields.x)[0])
    found: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for key, numbers in frames_by_state(replay).items():
        for x, y, angle in replay.poses(numbers).tolist():
            if math.isnan(x) or (headings > 1 and math.isnan(angle)):
                continue
            turn = 0 if headings == 1 else round((angle % 360) / (360 / headings)) % headings
            row = max(i for i, edge in enumerate(fields.y[:-1]) if edge <= y)
            column = max(i for i, edge in enumerate(fields.x[:-1]) if edge <= x)
            found[turn, row, column].append(key)
    assert len(found) > 15
    assert fields.seen.sum() == sum(map(len, found.values()))
    for (turn, row, column), count in np.ndenumerate(fields.seen):
        keys = found.get((turn, row, column), [])
        assert count == len(keys)
        for bit in range(N_BITS):
            share = fields.share[bit, turn, row, column]
            expected = sum(key >> bit & 1 for key in keys) / len(keys) if keys else math.nan
            assert share == pytest.approx(expected, nan_ok=True)


def test_without_poses_or_replay_places_are_unknown_and_all_else_is_there() -> None:
    table, replay = lived(4, capacity=100, steps=150, poses=False)
    states = collect(table, replay, N_BITS)
    assert np.isnan(states.pose).all()
    assert receptive_fields(states, replay) is None
    alone = collect(table)
    assert alone.frame_numbers.size == 0
    assert (alone.first == -1).all()
    np.testing.assert_array_equal(alone.value, states.value)
    empty = collect(TransitionTable(2), Replay(5, (1,), 2))
    assert isinstance(empty, States)
    assert len(empty) == 0
    assert empty.rows([3]).tolist() == [-1]


def test_an_agent_shows_its_states_or_says_that_it_has_none() -> None:
    env = gymnasium.make("vast/TMaze2D-v0")
    agent = VaST(env, preset="debug").learn(300)
    states = states_of(agent)
    assert len(states) == len(agent.table) > 10
    assert states.n_bits == agent.config.model.n_bits
    # In this task the observation is the position: each state's mean is that of its frames.
    row = int(states.frame_counts.argmax())
    seen = agent.replay.frames(states.frames(row))
    np.testing.assert_allclose(states.pose[row, :2], seen.mean(axis=0), atol=1e-5)
    agent.close()
    with pytest.raises(UserError, match="'mfec' has no table"):
        states_of(MFEC(env, preset="debug"))
