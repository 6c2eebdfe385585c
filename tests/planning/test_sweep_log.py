"""A logged sweep is the sweep of the exact queue, backup by backup, on a copy."""

import copy
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planning.models import (
    Episode,
    Step,
    as_steps,
    assert_solved,
    assert_sound,
    episodes,
    play,
    random_steps,
)
from vast.planning import ReferenceTable, SweepLog, TransitionTable, log_sweep, sweep_log
from vast.planning.logged_sweep import empty_backups, empty_pops
from vast.planning.table import Queue

FINE = 1e-12
queues = st.sampled_from(["bucketed", "exact"])
budgets = st.none() | st.integers(0, 30)


def states_equal(one: Any, other: Any) -> None:
    """Two saved tables are the same; which of two equally good actions is `best` is left open."""
    assert one.keys() == other.keys()
    for name in one.keys() - {"best"}:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def logs_equal(one: SweepLog, other: SweepLog, rows: int | None = None) -> None:
    """The backups of two logs are the same, or the first `rows` of them."""
    for mine, theirs in zip(one.backups, other.backups, strict=True):
        np.testing.assert_array_equal(mine[:rows], theirs[:rows])
    for mine, theirs in zip(one.pops, other.pops, strict=True):
        shared = len(mine) if rows is None else min(len(mine), len(theirs))
        np.testing.assert_array_equal(mine[:shared], theirs[:shared])


@given(episode=episodes(max_discount=0.9), queue=queues, budget=budgets)
def test_it_is_the_sweep_of_the_exact_queue_and_changes_nothing(
    episode: Episode, queue: Queue, budget: int | None
) -> None:
    table = TransitionTable(episode.n_actions, episode.discount, FINE, queue)
    play(episode, table)
    before = table.state_dict()
    log = log_sweep(table, budget)
    states_equal(table.state_dict(), before)
    np.testing.assert_array_equal(table.state_dict()["best"], before["best"])
    after = log.table_after()
    assert_sound(after)
    assert after.total_backups == table.total_backups + len(log)
    assert after.total_pops == table.total_pops + len(log.pops.states)
    if queue == "exact":
        done = table.sweep(budget)
        assert done == len(log)
        states_equal(log.after, table.state_dict())


@given(episode=episodes(max_discount=0.9), budget=budgets)
def test_a_bucketed_table_gives_the_log_of_an_exact_one(
    episode: Episode, budget: int | None
) -> None:
    unswept = episode._replace(events=[event for event in episode.events if event[0] != "sweep"])
    tables = [
        TransitionTable(episode.n_actions, episode.discount, FINE, queue)
        for queue in ("bucketed", "exact")
    ]
    for table in tables:
        play(unswept, table)
    bucketed, exact = (log_sweep(table, budget) for table in tables)
    logs_equal(bucketed, exact)


@given(episode=episodes(max_discount=0.9), queue=queues)
def test_it_ends_where_value_iteration_and_the_ordinary_sweep_end(
    episode: Episode, queue: Queue
) -> None:
    """Also with edits that wait to be propagated: deleted transitions and changed rewards."""
    table = TransitionTable(episode.n_actions, episode.discount, FINE, queue)
    model = play(episode, table)
    after = log_sweep(table).table_after()
    assert after.queue_length == 0
    assert_solved(after, model)
    table.sweep()
    for state in table.states().tolist():
        np.testing.assert_allclose(after.q(state), table.q(state), rtol=0, atol=1e-9)


@given(episode=episodes(max_discount=0.9, most=40))
def test_playing_it_shows_the_exact_table_after_every_pop(episode: Episode) -> None:
    table = TransitionTable(episode.n_actions, episode.discount, 1e-6, "exact")
    play(episode, table)
    log = log_sweep(table)
    playback = log.play()
    assert len(playback) == len(log)
    np.testing.assert_array_equal(playback.states[: playback.n_states], table.states())
    position = 0
    for _ in range(100):
        playback.seek(position)
        saved = table.state_dict()
        rows = np.flatnonzero((saved["n"] > 0).any(1))  # a released row may have any key
        n = playback.n_states
        np.testing.assert_array_equal(
            playback.q[:n], np.where(saved["n"] > 0, saved["q"], np.nan)[rows]
        )
        np.testing.assert_array_equal(playback.v[:n], saved["q"].max(1)[rows])
        np.testing.assert_array_equal(playback.v[n:], 0.0)
        np.testing.assert_array_equal(log.values_after(position), playback.v[:n])
        waiting = np.where(saved["tag"] != 0, saved["priority"], 0.0)[rows]
        np.testing.assert_array_equal(playback.priorities[:n], waiting)
        if position == len(log):
            break
        position += table.sweep(1)


@given(episode=episodes(max_discount=0.9, most=40), data=st.data())
def test_playing_back_and_forth_shows_the_same(episode: Episode, data: st.DataObject) -> None:
    table = TransitionTable(episode.n_actions, episode.discount, 1e-6)
    play(episode, table)
    log = log_sweep(table)
    playback = log.play()
    where = st.integers(0, len(log))
    for position in data.draw(st.lists(where, max_size=6)):
        playback.seek(position)
        fresh = log.play()
        for i in range(position + 1):
            fresh.seek(i)
        for mine, theirs in (
            (playback.q, fresh.q),
            (playback.v, fresh.v),
            (playback.priorities, fresh.priorities),
        ):
            np.testing.assert_array_equal(mine, theirs)
    playback.seek(0)
    for state, q, priority in zip(
        playback.states.tolist(), playback.q, playback.priorities, strict=True
    ):
        np.testing.assert_array_equal(q, table.q(state))
        u, v = _u_and_v(table, state)
        assert priority == (abs(u - v) if abs(u - v) > 1e-6 else 0.0)


def _u_and_v(table: TransitionTable, state: int) -> tuple[float, float]:
    return float(table._memory.u[table._find(state)]), table.value(state)


# --- against the plain-Python reference -----------------------------------------------------------


class Backup(NamedTuple):
    """What the reference and the log have in common."""

    popped: int
    priority: float
    state: int
    action: int
    q: float
    v: float


class LoggingReference(ReferenceTable):
    """The reference, with every backup written down."""

    def __init__(self, n_actions: int, discount: float, min_priority: float) -> None:
        super().__init__(n_actions, discount, min_priority)
        self.log: list[list[Backup]] = []
        self._sweeping: tuple[int, float] | None = None

    def sweep(self, max_backups: int | None = None) -> int:
        done = super().sweep(max_backups)
        self._sweeping = None
        return done

    def _pop(self) -> int:
        priorities = dict(self._priority)
        state = super()._pop()
        self._sweeping = (state, priorities[state])
        self.log.append([])
        # The action is not told to `_refresh_value`: found by what has changed.
        self._known = dict(self.q_values)
        return state

    def _refresh_value(self, state: int) -> None:
        super()._refresh_value(state)
        if self._sweeping is not None:
            for (s, a), q in self.q_values.items():
                if s == state and q != self._known.get((s, a), 0.0):
                    self.log[-1].append(Backup(*self._sweeping, s, a, q, self.v[s]))
                    self._known[s, a] = q


def pops_of(log: SweepLog) -> list[list[Backup]]:
    """Return the backups of each pop."""
    b = log.backups
    columns = (log.popped, log.priorities, b.states, b.actions, b.q_after, b.v_after)
    rows = [Backup(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    return [
        [row for row, pop in zip(rows, b.pops.tolist(), strict=True) if pop == k]
        for k in range(len(log.pops.states))
    ]


@st.composite
def exact_worlds(draw: st.DrawFn) -> tuple[list[Step], list[Step], int]:
    """Transitions added, and some of them deleted, with sweeps in between.

    Rewards are integers and a pair is taken once or twice, so with discount 1/2 all values are
    sums of a few powers of 2: both tables compute them without rounding, and ties are ties.
    """
    keys = st.sampled_from([0, 1, 2, 3, 4, 2**63, 2**64 - 1])
    pairs = draw(st.sets(st.tuples(keys, st.integers(0, 2)), min_size=1, max_size=12))
    steps = []
    for state, action in sorted(pairs):
        outcomes = st.tuples(st.integers(-4, 4), st.none() | keys)
        for reward, end in draw(st.lists(outcomes, min_size=1, max_size=2)):
            steps.append(Step(state, action, float(reward), end))
    steps = draw(st.permutations(steps))
    deleted = draw(st.lists(st.sampled_from(steps), max_size=3, unique_by=id))
    return steps, deleted, draw(st.integers(0, 20))


@given(world=exact_worlds())
def test_its_order_is_that_of_the_reference(world: tuple[list[Step], list[Step], int]) -> None:
    steps, deleted, budget = world
    table = TransitionTable(3, 0.5, 2.0**-8, "exact")
    reference = LoggingReference(3, 0.5, 2.0**-8)
    for either in (table, reference):
        for step in steps:
            either.add(*step)
        either.sweep(budget)
        for step in deleted:
            either.delete(*step)
    reference.log.clear()
    log = log_sweep(table)
    assert reference.sweep() == len(log)
    mine, theirs = pops_of(log), reference.log
    if deleted:
        # The table replaces a deleted edge by the last of its block, which changes the order within
        # a pop, and releases states that nothing leads to, which the reference still pops.
        mine, theirs = (
            [sorted(backup._replace(v=0.0) for backup in pop) for pop in pops if pop]
            for pops in (mine, theirs)
        )
    assert mine == theirs


@pytest.mark.parametrize("seed", range(3))
def test_its_order_is_that_of_the_reference_in_a_noisy_world(seed: int) -> None:
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, 40, np.uint64)
    table = TransitionTable(3, 0.95, 1e-6)
    reference = LoggingReference(3, 0.95, 1e-6)
    for step in as_steps(random_steps(rng, 300, keys, 3)):
        table.add(*step)
        reference.add(*step)
    reference.sweep(3000)
    mine = pops_of(log_sweep(table, 3000))
    compared = 0
    for pop, other in zip(filter(None, mine), filter(None, reference.log), strict=False):
        if [row[2:4] for row in pop] != [row[2:4] for row in other]:
            # Almost equal priorities: rounding decides which comes first.
            assert pop[0].priority == pytest.approx(other[0].priority, abs=1e-9)
            break
        np.testing.assert_allclose(np.array(pop)[:, 1], np.array(other)[:, 1], atol=1e-12)
        np.testing.assert_allclose(np.array(pop)[:, 4:], np.array(other)[:, 4:], atol=1e-12)
        compared += 1
    assert compared > 20


# --- what the columns say -------------------------------------------------------------------------


def test_each_backup_tells_cause_and_consequence() -> None:
    """A line of three states; the goal's reward is changed afterwards."""
    table = TransitionTable(2, 0.5, 1e-3)
    table.add(1, 0, 0.0, 2)
    table.add(1, 0, 0.0, 1)
    table.add(2, 1, 0.0, 3)
    table.add(3, 0, 0.0, None)
    table.set_reward(3, 0, 8.0)
    log = log_sweep(table, 3)
    assert log.pops.states.tolist() == [3, 2, 1]
    assert log.pops.priorities.tolist() == [8.0, 4.0, 1.0]
    assert log.pops.u_before.tolist() == [0.0, 0.0, 0.0]
    assert log.pops.u_after.tolist() == [8.0, 4.0, 1.0]
    b = log.backups
    assert b.pops.tolist() == [0, 1, 2]
    assert (b.states.tolist(), b.actions.tolist()) == ([2, 1, 1], [1, 0, 0])
    assert log.popped.tolist() == [3, 2, 1]
    assert log.priorities.tolist() == [8.0, 4.0, 1.0]
    assert (b.q_before.tolist(), b.q_after.tolist()) == ([0.0, 0.0, 1.0], [4.0, 1.0, 1.25])
    assert log.q_change.tolist() == log.v_change.tolist() == [4.0, 1.0, 0.25]
    assert (b.priority_before.tolist(), b.priority_after.tolist()) == ([0, 0, 0], [4.0, 1.0, 0.25])
    assert table.value(1) == 0.0
    assert log.table_after().value(1) == 1.25
    assert [log.values_after(i)[0] for i in range(4)] == [0.0, 0.0, 1.0, 1.25]


def test_states_that_no_transition_leads_to_are_popped_without_backups() -> None:
    table = TransitionTable(1, 0.5)
    table.add(5, 0, 3.0, None)
    log = log_sweep(table)
    assert (log.pops.states.tolist(), len(log)) == ([5], 0)
    assert log.play().priorities.tolist() == [3.0]
    assert log.values_after(0).tolist() == [3.0]


def test_a_state_that_lost_its_transitions_tells_its_predecessors() -> None:
    table = TransitionTable(1, 0.5)
    table.add(1, 0, 0.0, 2)
    table.add(2, 0, 4.0, None)
    table.sweep()
    table.delete(2, 0, 4.0, None)
    log = log_sweep(table)
    assert log.pops.states.tolist() == [2, 1]
    assert log.backups.v_after.tolist() == [0.0]
    playback = log.play()
    assert (playback.states.tolist(), playback.n_states) == ([1, 2], 1)
    assert playback.priorities.tolist() == [0.0, 4.0]
    playback.seek(1)
    assert playback.priorities.tolist() == [2.0, 0.0]


@pytest.mark.parametrize("chunk", [1, 7])
def test_a_long_log_is_written_in_parts(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    table = TransitionTable(3, 0.9, 1e-6)
    table.add_many(*random_steps(rng, 400, np.arange(30, dtype=np.uint64), 3))
    whole = log_sweep(table)
    monkeypatch.setattr(sweep_log, "CHUNK", chunk)
    logs_equal(log_sweep(table), whole)
    for budget in (0, 1, 50, len(whole) - 1):
        part = log_sweep(table, budget)
        assert budget <= len(part) < budget + 40
        logs_equal(part, whole, len(part))


def test_the_table_after_is_a_new_copy_each_time() -> None:
    table = TransitionTable(1, 0.5)
    table.add(1, 0, 1.0, 1)
    log = log_sweep(table)
    changed = log.table_after()
    changed.set_reward(1, 0, 9.0)
    changed.sweep()
    assert log.table_after().value(1) == pytest.approx(2.0, abs=1e-3)
    logs_equal(copy.deepcopy(log), log)


@pytest.mark.parametrize("budget", [-1, 1.5, "all"])
def test_a_wrong_budget_is_refused(budget: Any) -> None:
    with pytest.raises(ValueError, match=r"budget must be .*, got"):
        log_sweep(TransitionTable(1), budget)


def test_a_wrong_position_is_refused() -> None:
    playback = log_sweep(TransitionTable(1)).play()
    with pytest.raises(ValueError, match="position must be between 0 and 0, got 1"):
        playback.seek(1)


def test_only_the_exact_queue_has_an_order_to_log() -> None:
    with pytest.raises(ValueError, match="queue must be exact to log a sweep, got 'bucketed'"):
        TransitionTable(1).sweep_logged(empty_pops(1), empty_backups(1), 0, 1)
