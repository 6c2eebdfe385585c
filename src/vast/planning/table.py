"""The transition table: counted experience, and the values of the model that it defines."""

import sys
from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vast.planning import edges, hamming, index, kernels
from vast.planning.arguments import (
    MAX_DELETED,
    Columns,
    as_action,
    as_columns,
    as_integer,
    as_key,
    as_keys,
    as_reward,
    largest_reward,
)
from vast.planning.gate import Gate, OpenGate, sweep_between
from vast.planning.logged_sweep import Backups, Pops, logged_sweep
from vast.planning.memory import (
    BACKUPS,
    LENGTH,
    MAX_ACTIONS,
    MAX_COUNT,
    MAX_EDGES,
    MAX_STATES,
    MIN_EDGES,
    MIN_STATES,
    NIL,
    OFFSET,
    POPS,
    QUEUED,
    SLOTS,
    STATES,
    TRANSITIONS,
    Memory,
    allocate,
    copy_into,
    in_use,
    nbytes,
)
from vast.planning.queues import BATCH
from vast.planning.table_state import pack, unpack
from vast.planning.transitions import Pairs, Transitions, listed, pairs_of

Queue = Literal["bucketed", "exact"]

SLICE = 20_000_000
"""backups per call of the kernel; Python handles interrupts between two calls"""


class TransitionTable:
    """Counts of transitions between 64-bit states, and prioritized sweeping with small backups.

    Supplement, Algorithm 2. Adding or deleting a transition changes the table's model immediately;
    `sweep` then propagates the change, largest changes of value first. V and Q converge to those of
    value iteration on the counted model. `vast.planning.reference` is the same in plain Python.

    Args:
        n_actions: the number of actions, 1 to 256.
        discount: gamma, at least 0 and below 1. Rewards are at most `max_reward`, which is
            1e54 * (1 - discount).
        min_priority: p_min, above 0; a smaller change of V(s) is not propagated.
        queue: "bucketed" is fast, and orders states by priority to within 19 %; "exact" keeps the
            order of the algorithm.
    """

    def __init__(
        self,
        n_actions: int,
        discount: float = 0.99,
        min_priority: float = 5e-5,
        queue: Queue = "bucketed",
    ) -> None:
        n_actions = as_integer("n_actions", n_actions)
        if not 1 <= n_actions <= MAX_ACTIONS:
            raise ValueError(f"n_actions must be between 1 and {MAX_ACTIONS}, got {n_actions}")
        if not 0 <= discount < 1:
            raise ValueError(f"discount must be at least 0 and below 1, got {discount}")
        if not 0 < min_priority < np.inf:
            raise ValueError(f"min_priority must be above 0 and finite, got {min_priority}")
        if queue not in get_args(Queue):
            raise ValueError(f"queue must be one of {', '.join(get_args(Queue))}, got {queue!r}")
        self.n_actions = n_actions
        self.discount = float(discount)
        self.min_priority = float(min_priority)
        self.queue = queue
        self.max_reward = largest_reward(self.discount)
        # Changes this small could circle in a loop of states forever, kept alive by rounding alone.
        # They are not propagated. `kernels.change_q` keeps rounding errors below this bound.
        noise = 2 * sys.float_info.epsilon / (1 - self.discount)
        # Below the smallest normal 32-bit float, the carry itself is rounded.
        least = float(np.finfo(np.float32).tiny) / (1 - self.discount)
        least_priority = max(self.min_priority, least)
        self._constants = kernels.Constants(self.discount, least_priority, noise)
        self._gate = OpenGate()
        self._use(allocate(n_actions, MIN_STATES, MIN_EDGES, exact=queue == "exact", offsets=False))
        self._batch = np.zeros((BATCH, 2), np.int64)
        self._background_batch = np.zeros((BATCH, 2), np.int64)
        self._one: Columns = (
            np.zeros(1, np.uint64),
            np.zeros(1, np.uint8),
            np.zeros(1),
            np.zeros(1, np.uint64),
            np.zeros(1, np.bool_),
        )
        self._scratch = hamming.scratch(n_actions)

    # --- adding and deleting transitions ----------------------------------------------------------

    def add(self, state: int, action: int, reward: float, next_state: int | None) -> None:
        """Add a transition; `next_state=None` makes it terminal."""
        with self._gate:
            self._add(self._transition(state, action, reward, next_state, self.max_reward))

    def delete(self, state: int, action: int, reward: float, next_state: int | None) -> None:
        """Delete a transition; if it is not in the table, raise KeyError and change nothing.

        A transition is found by (state, action, next_state). The reward must be the one that was
        added; this is not checked.
        """
        with self._gate:
            self._delete(self._transition(state, action, reward, next_state, MAX_DELETED))

    def add_many(
        self,
        states: ArrayLike,
        actions: ArrayLike,
        rewards: ArrayLike,
        next_states: ArrayLike,
        terminals: ArrayLike,
    ) -> None:
        """Add transitions given as arrays, in order: all of them, or OverflowError and none."""
        batch = as_columns(
            self.n_actions, self.max_reward, states, actions, rewards, next_states, terminals
        )
        with self._gate:
            self._add(batch)

    def delete_many(
        self,
        states: ArrayLike,
        actions: ArrayLike,
        rewards: ArrayLike,
        next_states: ArrayLike,
        terminals: ArrayLike,
    ) -> None:
        """Delete transitions given as arrays: all of them, or KeyError and none."""
        batch = as_columns(
            self.n_actions, MAX_DELETED, states, actions, rewards, next_states, terminals
        )
        with self._gate:
            self._delete(batch)

    def set_reward(self, state: int, action: int, reward: float) -> None:
        """Set E[r|s,a] to this value: "what if the reward were different?".

        Stored as an offset, to which later experience adds, until N(s, a) reaches 0.
        """
        k, a = as_key(state), as_action(self.n_actions, action)
        reward = as_reward(reward, self.max_reward)
        with self._gate:
            s = self._find(k)
            if s == NIL or self._memory.n[s, a] == 0:
                raise KeyError(f"action {a} was never taken in state {k}")
            if len(self._memory.offset) == 0:
                shape = self._memory.q.shape
                self._use(self._memory._replace(offset=np.zeros(shape)))
            change = reward - self._mean_reward(s, a)
            kernels.shift_reward(self._memory, s, a, change, *self._constants)

    # --- planning ---------------------------------------------------------------------------------

    def sweep(self, max_backups: int | None = None) -> int:
        """Do backups in the order of priority; return how many.

        One backup is one update of one Q(s, a). All predecessors of a popped state are backed up,
        so the last state may exceed `max_backups`. None sweeps until the queue is empty.
        """
        budget = sys.maxsize if max_backups is None else as_integer("max_backups", max_backups)
        if budget < 0:
            raise ValueError(f"max_backups must be 0 or more, or None, got {budget}")
        done = 0
        while done < budget:
            with self._gate:
                slice_ = min(budget - done, SLICE)
                backups = kernels.sweep(self._memory, self._batch, slice_, *self._constants)
            done += backups
            if backups < slice_:
                break
        return done

    # --- values, counts and transitions -----------------------------------------------------------

    def q(self, state: int) -> NDArray[np.float64]:
        """Return Q(s, a) for each action, nan for actions never taken in this state."""
        k = as_key(state)
        with self._gate:
            s = self._find(k)
            if s == NIL:
                return np.full(self.n_actions, np.nan)
            q: NDArray[np.float64] = self._memory.q[s].copy()
        q[q == -np.inf] = np.nan
        return q

    def estimate(
        self, state: int, width: float = 0.0, caution: float = 0.0
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the neighbour estimate for each action, and the distance of the nearest states.

        Distance 0: the action was taken in this state; -1: it was never taken anywhere, and the
        estimate is 0. `width` smooths the estimate: a state that is `width` bits farther away than
        the nearest has 1/e of its weight; with 0, only the nearest count, as in the paper.
        `caution` lowers the estimate by this many standard errors.
        """
        with self._gate:
            key = self._one[0]
            key[0] = as_key(state)
            q, distance = self._estimate(key, width, caution)
        return q[0], distance[0]

    def estimate_many(
        self, states: ArrayLike, width: float = 0.0, caution: float = 0.0
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return `estimate` for each of several states, as [K, A] arrays."""
        keys = as_keys(states)
        with self._gate:
            return self._estimate(keys, width, caution)

    def value(self, state: int) -> float:
        """Return V(s), the highest Q(s, a); 0 for a state in which no action was taken."""
        q = self.q(state)
        return 0.0 if np.isnan(q).all() else float(np.nanmax(q))

    def count(self, state: int, action: int) -> int:
        """Return N(s, a), how often the action was taken in the state."""
        k, a = as_key(state), as_action(self.n_actions, action)
        with self._gate:
            s = self._find(k)
            return 0 if s == NIL else int(self._memory.n[s, a])

    def mean_reward(self, state: int, action: int) -> float:
        """Return E[r|s,a], nan if the action was never taken in the state."""
        k, a = as_key(state), as_action(self.n_actions, action)
        with self._gate:
            s = self._find(k)
            if s == NIL or self._memory.n[s, a] == 0:
                return float("nan")
            return self._mean_reward(s, a)

    def states(self) -> NDArray[np.uint64]:
        """Return the states with outgoing transitions, in no particular order."""
        with self._gate:
            slots = int(self._memory.meta[SLOTS])
            return self._memory.key[:slots][(self._memory.n[:slots] > 0).any(axis=1)]

    def transitions(self) -> Transitions:
        """Return every distinct transition and its count."""
        with self._gate:
            m = self._memory
            lengths = m.block[: m.meta[SLOTS], LENGTH]
            targets = np.repeat(np.arange(len(lengths)), lengths)
            within = np.arange(len(targets)) - np.repeat(lengths.cumsum() - lengths, lengths)
            words = m.edge[m.block[targets, OFFSET] + within]
            return listed(self._memory, words, targets, *np.nonzero(m.terminal))

    def pairs(self) -> Pairs:
        """Return N, Q and E[r|s,a] of every state and action, in no particular order."""
        with self._gate:
            return pairs_of(self._memory)

    def successors(self, state: int) -> Transitions:
        """Return the transitions that leave this state, and their counts."""
        k = as_key(state)
        with self._gate:
            m = self._memory
            s = self._find(k)
            most = 0 if s == NIL else int(m.n[s].sum())
            words, targets = np.empty(most, np.int64), np.empty(most, np.int64)
            found = edges.edges_from(m, s, words, targets) if most else 0
            actions = np.flatnonzero(m.terminal[s]) if most else np.empty(0, np.int64)
            sources = np.full(len(actions), s)
            return listed(self._memory, words[:found], targets[:found], sources, actions)

    def predecessors(self, state: int) -> Transitions:
        """Return the transitions that lead to this state, and their counts."""
        k = as_key(state)
        with self._gate:
            m = self._memory
            t = self._find(k)
            start, length = (0, 0) if t == NIL else m.block[t, [OFFSET, LENGTH]]
            none = np.empty(0, np.int64)
            words = m.edge[start : start + length]
            return listed(self._memory, words, np.full(length, t), none, none)

    def __len__(self) -> int:
        return int(self._memory.meta[STATES])

    def __repr__(self) -> str:
        return (
            f"<TransitionTable: {len(self):,} states, {self.n_transitions:,} transitions, "
            f"{self.n_actions} actions, discount {self.discount:g}>"
        )

    @property
    def n_transitions(self) -> int:
        """How many transitions are in the table, repeated ones included."""
        return int(self._memory.meta[TRANSITIONS])

    @property
    def queue_length(self) -> int:
        """How many states are in the priority queue."""
        return int(self._memory.meta[QUEUED])

    @property
    def total_backups(self) -> int:
        """How many backups have been done."""
        return int(self._memory.meta[BACKUPS])

    @property
    def total_pops(self) -> int:
        """How many states have been popped from the priority queue."""
        return int(self._memory.meta[POPS])

    @property
    def nbytes(self) -> int:
        """The size of the table's arrays in bytes."""
        return nbytes(self._memory)

    # --- saving -----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the complete state of the table, queue included, as plain arrays and numbers."""
        with self._gate:
            return pack(self._memory, self._settings())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a saved table; if it does not fit, raise ValueError and change nothing."""
        memory = unpack(state, self._settings())
        index.rebuild_index(memory, in_use(memory))
        with self._gate:
            self._use(memory)

    @classmethod
    def from_state_dict(cls, state: Mapping[str, Any]) -> "TransitionTable":
        """Return a new table in a saved state, with the hyperparameters saved there."""
        table = cls.__new__(cls)
        table.__setstate__(state)
        return table

    def __getstate__(self) -> dict[str, Any]:
        # Needed for copies as well: the arrays of a table are views of each other.
        return self.state_dict()

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        settings = ("n_actions", "discount", "min_priority", "queue")
        TransitionTable.__init__(self, *(state[name] for name in settings))
        self.load_state_dict(state)

    def _settings(self) -> dict[str, Any]:
        return {
            "n_actions": self.n_actions,
            "discount": self.discount,
            "min_priority": self.min_priority,
            "queue": self.queue,
        }

    # --- sharing with a background sweeper --------------------------------------------------------

    def share(self, gate: OpenGate) -> None:
        """Guard every use of the table by this gate from now on."""
        if isinstance(gate, Gate) and isinstance(self._gate, Gate):
            raise RuntimeError("the table already has a background sweeper")
        self._gate = gate

    def sweep_between(self, gate: Gate, max_backups: int) -> tuple[int, int]:
        """Sweep, in the sweeper's thread, whenever no other thread uses the table; see gate.py."""
        return sweep_between(
            self._memory, gate.words, self._background_batch, max_backups, *self._constants
        )

    # --- logging ----------------------------------------------------------------------------------

    def sweep_logged(
        self, pops: Pops, backups: Backups, first_pop: int, budget: int
    ) -> tuple[int, int]:
        """Sweep into a log while there is room in it; see sweep_log.py. Needs the exact queue."""
        if self.queue != "exact":
            raise ValueError(f"queue must be exact to log a sweep, got {self.queue!r}")
        with self._gate:
            return logged_sweep(self._memory, pops, backups, first_pop, budget, *self._constants)

    # --- internals --------------------------------------------------------------------------------

    def _use(self, memory: Memory) -> None:
        self._memory = memory
        self._nearby = hamming.neighbourhood(memory)
        self._gate.arrays_moved()

    def _estimate(
        self, keys: NDArray[np.uint64], width: float, caution: float
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        if not 0 <= width < np.inf:
            raise ValueError(f"width must be 0 or more bits, got {width}")
        if not 0 <= caution < np.inf:
            raise ValueError(f"caution must be 0 or more standard errors, got {caution}")
        smoothing = hamming.Smoothing(
            hamming.decay(width), float(width), float(caution), 1 - self.discount
        )
        shape = (keys.size, self.n_actions)
        q, distance = np.empty(shape), np.empty(shape, np.int64)
        hamming.estimate(self._nearby, keys, q, distance, self._scratch, smoothing)
        return q, distance

    def _find(self, key: int) -> int:
        return int(index.find_state(self._memory.key, self._memory.slot, np.uint64(key)))

    def _mean_reward(self, s: int, a: int) -> float:
        m = self._memory
        mean = (m.reward[s, a] + m.reward_carry[s, a]) / m.n[s, a]
        return float(mean + m.offset[s, a]) if len(m.offset) else float(mean)

    def _add(self, transitions: Columns) -> None:
        done, outcome = 0, kernels.STATES_FULL
        try:
            while outcome != kernels.DONE:
                done, outcome = kernels.add(self._memory, done, *transitions, *self._constants)
                if outcome == kernels.COUNT_FULL:
                    raise OverflowError(f"N(s, a) must be at most {MAX_COUNT}")
                if outcome != kernels.DONE:
                    self._grow(states=outcome == kernels.STATES_FULL)
        except (OverflowError, MemoryError):
            added: Any = tuple(column[:done] for column in transitions)
            self._delete(added)
            raise

    def _delete(self, transitions: Columns) -> None:
        missing = kernels.delete(self._memory, *transitions, *self._constants)
        if missing < len(transitions[0]):
            state, action, _, next_state, terminal = (column[missing] for column in transitions)
            end = "the terminal state" if terminal else f"state {next_state}"
            raise KeyError(
                f"transition {missing} from state {state} by action {action} to {end} "
                "is not in the table"
            )

    def _grow(self, *, states: bool) -> None:
        """Double the capacity for states or for edges."""
        old = self._memory
        n_states, n_edges = len(old.key) * (1 + states), len(old.edge) * (2 - states)
        if n_states > MAX_STATES or n_edges > MAX_EDGES:
            raise OverflowError(f"a table holds at most {MAX_STATES} states and {MAX_EDGES} edges")
        exact, offsets = self.queue == "exact", len(old.offset) > 0
        new = allocate(self.n_actions, n_states, n_edges, exact=exact, offsets=offsets)
        copy_into(new, old)
        index.rebuild_index(new, in_use(new))
        self._use(new)

    def _transition(
        self, state: int, action: int, reward: float, next_state: int | None, max_reward: float
    ) -> Columns:
        """Return a transition as arrays of length 1, which are reused."""
        states, actions, rewards, next_states, terminals = self._one
        states[0] = as_key(state)
        actions[0] = as_action(self.n_actions, action)
        rewards[0] = as_reward(reward, max_reward)
        next_states[0] = 0 if next_state is None else as_key(next_state)
        terminals[0] = next_state is None
        return self._one
