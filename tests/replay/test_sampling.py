"""Sampling: every frame is equally likely, and histories never cross episodes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from tests.replay.models import Event, Life, lived, lives, make, picture, random_life

capacities = st.integers(6, 15)
histories = st.integers(0, 4)


@given(events=lives, capacity=capacities, k=histories, seed=st.integers(0, 99))
def test_a_minibatch_equals_what_a_list_of_episodes_gives(
    events: list[Event], capacity: int, k: int, seed: int
) -> None:
    life = lived(Life(make(capacity, k)), [Event("step"), *events])
    batch = life.replay.sample(np.random.default_rng(seed), 30)
    assert batch.frames.shape == (30, k + 2, 2)
    sampleable = set(life.readable(k + 1))
    for row, (i, j) in enumerate(batch.numbers.tolist()):
        assert (i, j) == (j - 1, j)
        assert j in sampleable
        np.testing.assert_array_equal(batch.frames[row], life.window(j, k + 1))
        first = life.seen[j].start == j
        assert batch.first[row] == first
        assert batch.valid[row].tolist() == [not first, True]
        assert batch.actions[row] == (0 if first else life.seen[j - 1].action)


@given(events=lives, capacity=capacities, k=histories, seed=st.integers(0, 99))
def test_frames_from_a_minibatch_can_all_be_encoded_and_reassigned(
    events: list[Event], capacity: int, k: int, seed: int
) -> None:
    life = lived(Life(make(capacity, k)), [Event("step"), *events])
    batch = life.replay.sample(np.random.default_rng(seed), 30)
    numbers = batch.numbers[batch.valid]
    both = np.stack([batch.frames[:, :-1], batch.frames[:, 1:]], axis=1)
    np.testing.assert_array_equal(life.replay.histories(numbers), both[batch.valid])
    life.replay.reassign(numbers, numbers.astype(np.uint64))
    assert life.replay.states(numbers)[0].tolist() == numbers.tolist()


@given(events=lives, capacity=capacities, k=histories)
def test_histories_are_those_of_the_episode(events: list[Event], capacity: int, k: int) -> None:
    life = lived(Life(make(capacity, k)), events)
    readable = life.readable(k)
    histories = life.replay.histories(readable)
    assert histories.shape == (len(readable), k + 1, 2)
    for i, history in zip(readable, histories, strict=True):
        np.testing.assert_array_equal(history, life.window(i, k))
    for i in set(range(life.oldest, len(life.seen))) - set(readable):
        with pytest.raises(ValueError, match=f"got {i}: frames of its history"):
            life.replay.histories([i])


@given(events=lives, capacity=capacities, k=histories)
def test_steps_are_what_a_list_of_episodes_gives(
    events: list[Event], capacity: int, k: int
) -> None:
    life = lived(Life(make(capacity, k)), events)
    taken = [i for i in life.readable(k) if life.seen[i].action is not None]
    steps = life.replay.steps(taken)
    assert steps.frames.shape == (len(taken), k + 2, 2)
    for row, i in enumerate(taken):
        one = life.seen[i]
        assert steps.actions[row] == one.action
        assert steps.rewards[row] == one.reward
        assert steps.terminals[row] == (one.end == "terminal")
        np.testing.assert_array_equal(steps.frames[row, :-1], life.window(i, k))
        if one.end == "terminal":
            assert not steps.frames[row, -1].any()
        else:
            np.testing.assert_array_equal(steps.frames[row, 1:], life.window(i + 1, k))
    for i in set(life.readable(k)) - set(taken):
        with pytest.raises(ValueError, match=f"frame must have an action, got {i}"):
            life.replay.steps([i])


@given(
    events=lives,
    capacity=capacities,
    k=histories,
    length=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_segments_are_runs_within_one_episode(
    events: list[Event], capacity: int, k: int, length: int, seed: int
) -> None:
    life = lived(Life(make(capacity, k)), [Event("step"), *events])
    runs = life.replay.sample_segments(np.random.default_rng(seed), 20, length)
    assert runs.frames.shape == (20, k + 1 + length, 2)
    sampleable, readable = set(life.readable(k + 1)), set(life.readable(k))
    for row in range(20):
        numbers = runs.numbers[row].tolist()
        assert numbers == list(range(numbers[0], numbers[0] + length + 1))
        trained = [n for n, t in zip(numbers[1:], runs.trained[row], strict=True) if t]
        start = life.seen[trained[0]].start
        mine = {i for i, one in enumerate(life.seen) if one.start == start}
        assert set(trained) == mine & sampleable & set(numbers[1:])
        assert runs.valid[row].tolist() == [n in mine & readable for n in numbers]
        for p, n in enumerate(numbers):
            if runs.valid[row, p]:
                history = runs.frames[row, p : p + k + 1]
                np.testing.assert_array_equal(history, life.window(n, k))
            if p > 0 and runs.trained[row, p - 1]:
                first = n == start
                assert (runs.first[row, p - 1], runs.step[row, p - 1]) == (first, not first)
                assert runs.valid[row, p - 1] == (not first)
                assert runs.actions[row, p - 1] == (0 if first else life.seen[n - 1].action)
            elif p > 0:
                assert not runs.first[row, p - 1]
                assert not runs.step[row, p - 1]
        shown = {int(n) for n in range(numbers[0] - k, numbers[-1] + 1)} & mine
        for n, frame in zip(range(numbers[0] - k, numbers[-1] + 1), runs.frames[row], strict=True):
            if n not in shown or n < life.oldest:
                assert not frame.any()
            else:
                np.testing.assert_array_equal(frame, picture(n))


@pytest.mark.parametrize("ends", [0.02, 0.3])
@pytest.mark.parametrize("k", [0, 3])
def test_every_frame_is_sampled_equally_often(k: int, ends: float) -> None:
    rng = np.random.default_rng(5)
    life = random_life(rng, make(200, k), 470, ends)
    readable = life.readable(k + 1)
    assert 200 - k - 1 <= len(readable) <= 200
    drawn = life.replay.sample(rng, 40_000).numbers[:, 1]
    counts = np.bincount(drawn - life.oldest, minlength=200)[np.array(readable) - life.oldest]
    assert counts.sum() == 40_000
    assert chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("ends", [0.02, 0.3])
def test_every_frame_is_in_equally_many_segments(ends: float) -> None:
    """Frames of one segment are not independent, so their counts vary more."""
    rng = np.random.default_rng(6)
    life = random_life(rng, make(100, 1), 250, ends)
    runs = life.replay.sample_segments(rng, 40_000, 8)
    counts = np.bincount(runs.numbers[:, 1:][runs.trained] - life.oldest, minlength=100)
    counts = counts[np.array(life.readable(2)) - life.oldest]
    assert np.abs(counts / counts.mean() - 1).max() < 5 / np.sqrt(counts.mean())


@given(events=lives, capacity=capacities, k=histories, count=st.integers(1, 9))
def test_the_cursor_visits_every_frame_exactly_once_per_cycle(
    events: list[Event], capacity: int, k: int, count: int
) -> None:
    life = lived(Life(make(capacity, k)), events)
    readable = life.readable(k)
    for _ in range(2):
        walked: list[int] = []
        while len(walked) < len(readable):
            walked += life.replay.next_frames(min(count, len(readable) - len(walked))).tolist()
        assert sorted(walked) == readable
    assert len(life.replay.next_frames(1000)) == len(readable)


def test_the_cursor_continues_with_new_frames() -> None:
    life = lived(Life(make(50)), [Event("step")] * 3)
    assert life.replay.next_frames(2).tolist() == [0, 1]
    assert life.replay.next_frames(1).tolist() == [2]
    life.do(Event("step"))
    assert life.replay.next_frames(2).tolist() == [3, 0]


@given(events=lives, capacity=capacities, k=histories)
def test_frames_wait_until_they_are_encoded(events: list[Event], capacity: int, k: int) -> None:
    life = Life(make(capacity, k))
    for event in events:
        life.do(event)
        waiting = [i for i in life.readable(k) if life.seen[i].state is None]
        assert life.replay.waiting().tolist() == waiting
        assert life.replay.waiting(2).tolist() == waiting[:2]


def test_the_generator_alone_determines_the_sample() -> None:
    life = random_life(np.random.default_rng(1), make(50), 80, 0.1)
    one, two = (life.replay.sample(np.random.default_rng(3), 20) for _ in range(2))
    assert (one.numbers == two.numbers).all()
