"""Planning inline and in a background thread."""

import signal
import threading
import time

import numpy as np
import pytest

from tests.planning.models import (
    CountedModel,
    as_steps,
    assert_counts,
    assert_solved,
    assert_sound,
    random_steps,
)
from vast.planning import BackgroundSweeper, InlineSweeper, Sweeper, TransitionTable
from vast.planning.arguments import Columns


def wait_until_swept(table: TransitionTable, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while table.queue_length > 0:
        assert time.monotonic() < deadline, "the sweeper does not get to the end of the queue"
        time.sleep(0.005)


def world(seed: int = 0, n_steps: int = 2000) -> tuple[TransitionTable, CountedModel]:
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, 100, np.uint64)
    columns = random_steps(rng, n_steps, keys, 3)
    table = TransitionTable(3, 0.95, 1e-12)
    table.add_many(*columns)
    model = CountedModel(3, 0.95)
    model.steps = as_steps(columns)
    return table, model


@pytest.mark.parametrize("kind", ["inline", "background"])
def test_both_ways_of_planning_reach_the_same_values(kind: str) -> None:
    table, model = world()
    sweeper: Sweeper = InlineSweeper(table, 500) if kind == "inline" else BackgroundSweeper(table)
    sweeper.start()
    reported = 0
    deadline = time.monotonic() + 60
    while table.queue_length > 0 and time.monotonic() < deadline:
        reported += sweeper.plan()
    sweeper.stop()
    reported += sweeper.plan()
    assert_solved(table, model)
    assert reported == table.total_backups == sweeper.statistics.backups > 0
    assert sweeper.statistics.backups_per_second > 0


def test_inline_planning_keeps_its_budget() -> None:
    table, _ = world()
    most = max(len(table.predecessors(int(s)).states) for s in table.states())
    sweeper = InlineSweeper(table, 100)
    sweeper.start()
    assert 100 <= sweeper.plan() < 100 + most
    with pytest.raises(ValueError, match="budget must be 0 or more backups, got -1"):
        InlineSweeper(table, -1)


def test_new_experience_wakes_an_idle_sweeper() -> None:
    table, model = world()
    sweeper = BackgroundSweeper(table)
    sweeper.start()
    for step in model.steps[:5]:
        wait_until_swept(table)
        table.delete(*step)
    wait_until_swept(table)
    sweeper.stop()
    model.steps = model.steps[5:]
    assert_solved(table, model)


@pytest.mark.slow
def test_adding_deleting_and_reading_for_20_seconds_while_sweeping() -> None:
    """Two threads use the table continuously, and one saves it; nothing is lost, nothing hangs."""
    rng = np.random.default_rng(7)
    keys = rng.integers(0, 2**64, 3000, np.uint64)
    table = TransitionTable(3, 0.95, 1e-12)
    sweeper = BackgroundSweeper(table)
    sweeper.start()
    end = time.monotonic() + 20
    answers = []

    def ask() -> None:
        asking = np.random.default_rng(8)
        while time.monotonic() < end:
            state = int(asking.choice(keys))
            q, distance = table.estimate(state)
            answers.append(bool(np.isfinite(q).all() and (distance >= -1).all()))
            table.value(state)

    asker = threading.Thread(target=ask)
    asker.start()
    kept: list[Columns] = []
    operations = 0
    saved, reported = [], []
    while time.monotonic() < end:
        columns = random_steps(rng, int(rng.integers(1, 200)), keys, 3)
        if rng.random() < 0.5:
            table.add_many(*columns)
        else:
            for step in as_steps(columns):
                table.add(*step)
        kept.append(columns)
        if len(kept) > 50:
            table.delete_many(*kept.pop(int(rng.integers(len(kept)))))
        if operations % 2000 == 0:
            saved.append(table.state_dict())
        operations += 1
        reported.append(sweeper.plan())
    asker.join(timeout=60)
    assert not asker.is_alive()
    wait_until_swept(table)
    sweeper.stop()
    assert all(answers)
    assert operations > 100
    assert len(answers) > 1000
    # No starvation: planning continued in every fifth of the time.
    assert all(sum(part) > 0 for part in np.array_split(reported, 5))
    for state_dict in saved:
        copy = TransitionTable(3, 0.95, 1e-12)
        copy.load_state_dict(state_dict)
        assert_sound(copy)
    assert_sound(table)
    steps = [step for columns in kept for step in as_steps(columns)]
    assert_counts(table, steps)
    again = TransitionTable(3, 0.95, 1e-12)
    again.add_many(*(np.concatenate(column) for column in zip(*kept, strict=True)))
    again.sweep()
    for state in keys:
        np.testing.assert_allclose(table.q(int(state)), again.q(int(state)), rtol=0, atol=1e-9)


def test_a_table_saved_while_it_is_swept_has_the_same_fixed_point() -> None:
    table, model = world(n_steps=4000)
    sweeper = BackgroundSweeper(table)
    sweeper.start()
    copies = []
    for _ in range(20):
        copy = TransitionTable(3, 0.95, 1e-12)
        copy.load_state_dict(table.state_dict())
        copies.append(copy)
        table.set_reward(model.steps[0].state, model.steps[0].action, 5.0)
        table.set_reward(model.steps[0].state, model.steps[0].action, model.steps[0].reward)
    sweeper.stop()
    for copy in copies[:1]:
        assert_sound(copy)
        copy.sweep()
        assert_solved(copy, model)
    for copy in copies:
        assert_sound(copy)


def test_a_paused_sweeper_does_nothing_until_it_is_resumed() -> None:
    table, model = world()
    sweeper = BackgroundSweeper(table)
    sweeper.start()
    with sweeper.paused():
        before = table.total_backups
        table.set_reward(model.steps[0].state, model.steps[0].action, 100.0)
        time.sleep(0.2)
        assert table.total_backups == before
        assert table.queue_length > 0
    wait_until_swept(table)
    sweeper.stop()
    assert table.total_backups > before


def test_an_error_in_the_background_surfaces_where_the_table_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table, _ = world()

    def fail(*_: object) -> None:
        raise MemoryError("no room")

    sweeper = BackgroundSweeper(table)
    monkeypatch.setattr(table, "sweep_between", fail)
    sweeper.start()
    thread = sweeper._thread
    assert thread is not None
    thread.join(timeout=30)
    with pytest.raises(RuntimeError, match="background sweeping failed") as caught:
        table.value(1)
    assert isinstance(caught.value.__cause__, MemoryError)
    for use in (sweeper.plan, sweeper.pause, sweeper.stop):
        with pytest.raises(RuntimeError, match="failed"):
            use()
    table.sweep()  # after stop, the table can be used again
    sweeper.stop()


def test_an_interrupt_while_acquiring_does_not_lock_the_table_forever() -> None:
    table, model = world()
    sweeper = BackgroundSweeper(table)
    sweeper.start()
    sweeper._gate.__enter__()  # acquired, but the body of the `with` is never reached
    table.add(*model.steps[0])
    wait_until_swept(table)
    sweeper.stop()
    model.steps.append(model.steps[0])
    assert_solved(table, model)


@pytest.mark.slow
def test_interrupts_at_any_moment_leave_a_shared_table_usable() -> None:
    table, model = world()
    sweeper = BackgroundSweeper(table)
    sweeper.start()
    table.add(*model.steps[0])
    # Kernels are loaded on first use, and LLVM does not survive an interrupt during that.
    table.set_reward(model.steps[0].state, model.steps[0].action, 0.0)
    table.q(model.steps[0].state)
    rng = np.random.default_rng(0)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(300):
            with pytest.raises(KeyboardInterrupt):  # noqa: PT012
                signal.setitimer(signal.ITIMER_REAL, 0.0005 + 0.002 * rng.random())
                while True:
                    table.set_reward(model.steps[0].state, model.steps[0].action, rng.random())
            assert len(table.q(model.steps[0].state)) == 3
    finally:
        signal.signal(signal.SIGALRM, before)
    wait_until_swept(table)
    sweeper.stop()
    assert_sound(table)


def test_a_sweeper_can_be_stopped_and_started_again() -> None:
    table, model = world()
    sweeper = BackgroundSweeper(table)
    for _ in range(3):
        sweeper.start()
        with pytest.raises(RuntimeError, match="already running"):
            sweeper.start()
        with pytest.raises(RuntimeError, match="already has a background sweeper"):
            BackgroundSweeper(table).start()
        table.add(*model.steps[0])
        wait_until_swept(table)
        sweeper.stop()
    model.steps += [model.steps[0]] * 3
    assert_solved(table, model)


@pytest.mark.slow
def test_a_table_grows_while_it_is_swept() -> None:
    rng = np.random.default_rng(11)
    table = TransitionTable(2, 0.9, 1e-6)
    sweeper = BackgroundSweeper(table)
    sweeper.start()
    keys = rng.integers(0, 2**64, 20_000, np.uint64)
    columns = random_steps(rng, 40_000, keys, 2)
    for step in as_steps(columns):
        table.add(*step)
    wait_until_swept(table)
    sweeper.stop()
    assert_sound(table)
    assert_counts(table, as_steps(columns))
