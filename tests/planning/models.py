"""A list of transitions solved exactly, and random experience to fill it."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from vast.planning import TransitionTable
from vast.planning.arguments import Columns
from vast.planning.memory import (
    ACTION_SHIFT,
    CHUNK,
    COUNT_SHIFT,
    HEAD,
    HEAD_AT,
    LENGTH,
    N_BUCKETS,
    N_FREE,
    NIL,
    OFFSET,
    QUEUED,
    SLOTS,
    STATE_MASK,
    TAIL,
    TAIL_AT,
    in_use,
)


class Step(NamedTuple):
    """One transition, the arguments of `add` and `delete`."""

    state: int
    action: int
    reward: float
    next_state: int | None


class CountedModel:
    """The transitions of a table, as a list."""

    def __init__(self, n_actions: int, discount: float) -> None:
        self.n_actions = n_actions
        self.discount = discount
        self.steps: list[Step] = []
        self.offsets: dict[tuple[int, int], float] = {}

    def mean_reward(self, state: int, action: int) -> float:
        rewards = [step.reward for step in self.steps if step[:2] == (state, action)]
        return sum(rewards) / len(rewards) + self.offsets.get((state, action), 0.0)

    def delete(self, index: int) -> Step:
        step = self.steps.pop(index)
        if all(other[:2] != step[:2] for other in self.steps):
            self.offsets.pop(step[:2], None)
        return step

    def solve(self) -> dict[tuple[int, int], float]:
        """Return the fixed point of value iteration, Q(s, a) of every pair taken.

        Found by policy iteration, which ends exactly there.
        """
        ends = {step.next_state for step in self.steps if step.next_state is not None}
        states = sorted(ends | {step.state for step in self.steps})
        index = {state: i for i, state in enumerate(states)}
        counts = np.zeros((len(states), self.n_actions, len(states)))
        rewards = np.zeros((len(states), self.n_actions))
        n = np.zeros((len(states), self.n_actions))
        for step in self.steps:
            s, a = index[step.state], step.action
            n[s, a] += 1
            rewards[s, a] += step.reward
            if step.next_state is not None:
                counts[s, a, index[step.next_state]] += 1
        taken = n > 0
        safe = np.maximum(n, 1)
        mean = rewards / safe
        for (state, action), offset in self.offsets.items():
            mean[index[state], action] += offset
        follow = counts / safe[..., None]
        policy = np.where(taken.any(1), taken.argmax(1), -1)
        while True:
            rows = np.arange(len(states))
            chosen = np.where((policy >= 0)[:, None], follow[rows, policy], 0.0)
            gain = np.where(policy >= 0, mean[rows, policy], 0.0)
            v = np.linalg.solve(np.eye(len(states)) - self.discount * chosen, gain)
            q = np.where(taken, mean + self.discount * follow @ v, -np.inf)
            better = q.max(1, initial=-np.inf) > q[rows, policy] + 1e-13
            if not (better & (policy >= 0)).any():
                break
            policy = np.where(better & (policy >= 0), q.argmax(1), policy)
        return {(states[s], int(a)): float(q[s, a]) for s, a in np.argwhere(taken)}


def assert_solved(table: TransitionTable, model: CountedModel, tolerance: float = 1e-9) -> None:
    """Every Q(s, a) is that of value iteration, and there are no others."""
    solution = model.solve()
    for (state, action), q in solution.items():
        assert abs(table.q(state)[action] - q) < tolerance
    states = {state for state, _ in solution}
    assert set(table.states().tolist()) == states
    assert len(table) == len(states)
    for state in states:
        known = {a for a in range(table.n_actions) if not np.isnan(table.q(state)[a])}
        assert known == {a for s, a in solution if s == state}
    assert table.n_transitions == len(model.steps)


def assert_counts(table: TransitionTable, steps: Iterable[Step]) -> None:
    """The table's transitions are exactly these."""
    wanted = Counter((s, a, t) for s, a, _, t in steps)
    found = table.transitions()
    ends = [
        None if end else int(t) for t, end in zip(found.next_states, found.terminals, strict=True)
    ]
    triples = zip(found.states.tolist(), found.actions.tolist(), ends, strict=True)
    assert dict(zip(triples, found.counts.tolist(), strict=True)) == dict(wanted)


def assert_sound(table: TransitionTable) -> None:
    """Nothing in the table's memory contradicts anything else."""
    m = table._memory
    _, min_priority, noise = table._constants
    used = np.flatnonzero(in_use(m))
    assert len(used) + m.meta[N_FREE] == m.meta[SLOTS]
    leaving = np.zeros_like(m.n)
    told = np.zeros_like(m.q)
    for t in used:
        words = m.edge[m.block[t, OFFSET] :][: m.block[t, LENGTH]]
        pairs = (words & STATE_MASK, words >> ACTION_SHIFT & 255)
        assert len(set(zip(*pairs, strict=True))) == len(words)
        np.add.at(leaving, pairs, words >> COUNT_SHIFT)
        np.add.at(told, pairs, (words >> COUNT_SHIFT) * m.u[t])
    np.testing.assert_array_equal(leaving + m.terminal, m.n)
    taken = m.n > 0
    assert (m.q[: m.meta[SLOTS]][~taken[: m.meta[SLOTS]]] == -np.inf).all()
    offset = m.offset if len(m.offset) else np.zeros_like(m.q)
    sums = m.reward + m.reward_carry + table.discount * told
    exact = sums[taken] / m.n[taken] + offset[taken]
    np.testing.assert_allclose(m.q[taken], exact, rtol=1e-12, atol=1e-12)
    v = m.q[used, m.best[used]]
    np.testing.assert_array_equal(v, m.q[used].max(1))
    v = np.where(v == -np.inf, 0.0, v)
    waits = np.abs(v - m.u[used]) > np.maximum(min_priority, noise * np.abs(v))
    np.testing.assert_array_equal(m.tag[used] != 0, waits)
    assert m.meta[QUEUED] == waits.sum() == (m.tag != 0).sum()
    entries = list(m.heap[: m.meta[QUEUED]]) if table.queue == "exact" else _entries(table)
    assert sorted(entries) == sorted(used[waits])


def _entries(table: TransitionTable) -> list[int]:
    """The states with valid entries in the buckets."""
    m = table._memory
    states = []
    for b in range(N_BUCKETS):
        c, at = m.ends[b, HEAD], m.ends[b, HEAD_AT]
        while c != NIL:
            last = c == m.ends[b, TAIL]
            for i in range(at, m.ends[b, TAIL_AT] if last else CHUNK):
                s = m.chunk[c, i]
                if m.tag[s] == b + 1 and m.place[s] == c * CHUNK + i:
                    states.append(int(s))
            c, at = (NIL if last else m.chunk[c, 0]), 1
    return states


KEYS = (0, 1, 2, 3, 2**63, 2**64 - 1, 0x9E3779B97F4A7C15)
"""few, so that they repeat, from both ends of the range"""


class Episode(NamedTuple):
    """A sequence of operations on a table: adds, deletes, changed rewards, sweeps."""

    n_actions: int
    discount: float
    events: list[tuple[str, object]]


@st.composite
def episodes(draw: st.DrawFn, max_discount: float = 0.99, most: int = 80) -> Episode:
    """Adds, deletes, changed rewards and partial sweeps in any order."""
    n_actions = draw(st.sampled_from([1, 2, 3, 5, 64]))
    # Few actions are used, so that they repeat; the last one is always included.
    actions = st.sampled_from(sorted({0, n_actions // 2, n_actions - 1}))
    keys = st.sampled_from(KEYS[: draw(st.integers(1, len(KEYS)))])
    rewards = st.sampled_from([0.0, 1.0, -1.0]) | st.floats(-1, 1, allow_subnormal=False)
    steps = st.builds(Step, keys, actions, rewards, st.none() | keys)
    events = st.one_of(
        st.tuples(st.just("add"), steps),
        st.tuples(st.just("add"), steps),
        st.tuples(st.just("delete"), st.integers(0, 10**6)),
        st.tuples(st.just("sweep"), st.integers(0, 12)),
        st.tuples(st.just("set_reward"), st.tuples(st.integers(0, 10**6), rewards)),
    )
    return Episode(
        n_actions,
        draw(st.sampled_from([0.0, 0.5, 0.9, max_discount]) | st.floats(0, max_discount)),
        draw(st.lists(events, max_size=most)),
    )


def play(episode: Episode, table: TransitionTable) -> CountedModel:
    """Apply the operations to the table and to a model."""
    model = CountedModel(episode.n_actions, episode.discount)
    for kind, what in episode.events:
        if kind == "add":
            assert isinstance(what, Step)
            table.add(*what)
            model.steps.append(what)
        elif kind == "sweep":
            assert isinstance(what, int)
            table.sweep(what)
        elif model.steps and kind == "delete":
            assert isinstance(what, int)
            table.delete(*model.delete(what % len(model.steps)))
        elif model.steps and kind == "set_reward":
            assert isinstance(what, tuple)
            index, reward = what
            state, action = model.steps[index % len(model.steps)][:2]
            table.set_reward(state, action, reward)
            old = model.offsets.get((state, action), 0.0)
            gap = reward - model.mean_reward(state, action)
            model.offsets[state, action] = old + gap
    return model


def random_steps(
    rng: np.random.Generator, n: int, keys: NDArray[Any], n_actions: int, p_terminal: float = 0.05
) -> Columns:
    """Random transitions as the arguments of `add_many`."""
    return (
        rng.choice(keys, n),
        rng.integers(0, n_actions, n, np.uint8),
        rng.uniform(-1, 1, n),
        rng.choice(keys, n),
        rng.random(n) < p_terminal,
    )


def some(columns: Columns, which: NDArray[Any] | slice) -> Columns:
    """Return some of the transitions."""
    states, actions, rewards, next_states, terminals = columns
    return states[which], actions[which], rewards[which], next_states[which], terminals[which]


def as_steps(columns: Columns) -> list[Step]:
    """The transitions as single steps."""
    return [
        Step(int(s), int(a), float(r), None if end else int(t))
        for s, a, r, t, end in zip(*columns, strict=True)
    ]
