"""The table in plain Python, line by line as in the paper: the oracle for the fast table.

Dictionaries, a heap, and the formulas of the supplement's Algorithm 2; nothing is optimized. The
comments give the line numbers of the algorithm, in which every statement and every end of a loop or
condition has its number. A test checks that each is cited exactly once, in order.
"""

import heapq
import math
import sys
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]
"""a state and an action"""


class ReferenceTable:
    """Counted transitions and prioritized sweeping with small backups, like TransitionTable."""

    def __init__(self, n_actions: int, discount: float = 0.99, min_priority: float = 5e-5) -> None:
        self.n_actions = n_actions
        self.discount = discount
        self.min_priority = min_priority
        self.noise = 64 * sys.float_info.epsilon / (1 - discount)
        """relative changes of a value below this are rounding errors, and could circle forever"""
        self.v: defaultdict[int, float] = defaultdict(float)
        self.u: defaultdict[int, float] = defaultdict(float)
        self.q_values: defaultdict[Pair, float] = defaultdict(float)
        self.n: defaultdict[Pair, int] = defaultdict(int)
        self.predecessors: defaultdict[int, defaultdict[Pair, int]] = defaultdict(
            lambda: defaultdict(int)
        )
        """s' -> (s, a) -> how often a led from s to s'"""
        self.terminals: defaultdict[Pair, int] = defaultdict(int)
        self.rewards: defaultdict[Pair, float] = defaultdict(float)
        self.total_backups = 0
        self._heap: list[tuple[float, int]] = []
        self._priority: dict[int, float] = {}

    # line 1: the endless loop is the agent's; it calls `add`, `delete` and, through
    # `InlineSweeper.plan`, `sweep`.

    def sweep(self, max_backups: int | None = None) -> int:
        """Do backups in the order of priority; return how many.

        The algorithm sweeps until there are transitions to add or delete; here a budget ends it.
        """
        budget = math.inf if max_backups is None else max_backups
        done = 0
        while done < budget and self._priority:  # line 2
            state = self._pop()  # line 3
            change = self.v[state] - self.u[state]  # line 4
            self.u[state] = self.v[state]  # line 5
            for pair, count in self.predecessors[state].items():  # line 6
                if count > 0:
                    self.q_values[pair] += self.discount * change * count / self.n[pair]  # line 7
                    self._refresh_value(pair[0])  # lines 8-9
                    done += 1
        # lines 10-11: the ends of the two loops
        self.total_backups += done
        return done

    # line 12: the loop over the add queue is `kernels.add`, which `TransitionTable.add_many` calls

    def add(self, state: int, action: int, reward: float, next_state: int | None) -> None:
        """Add a transition; `next_state=None` makes it terminal."""
        pair = (state, action)
        self.n[pair] += 1  # line 13
        if next_state is None:
            self.terminals[pair] += 1
        else:
            self.predecessors[next_state][pair] += 1
        self.rewards[pair] += reward
        n, q = self.n[pair], self.q_values[pair]
        self.q_values[pair] = (q * (n - 1) + reward + self._future(next_state)) / n  # line 14
        self._refresh_value(state)  # lines 15-16

    # line 17: the end of that loop
    # line 18: the loop over the delete queue is `kernels.delete`, which
    # `TransitionTable.delete_many` calls

    def delete(self, state: int, action: int, reward: float, next_state: int | None) -> None:
        """Delete a transition; if it is not in the table, raise KeyError and change nothing."""
        pair = (state, action)
        counts = self.terminals if next_state is None else self.predecessors[next_state]
        if counts[pair] == 0:
            raise KeyError((state, action, next_state))
        counts[pair] -= 1
        self.n[pair] -= 1  # line 19
        self.rewards[pair] -= reward
        n, q = self.n[pair], self.q_values[pair]
        if n > 0:  # line 20
            future = self._future(next_state)
            self.q_values[pair] = (q * (n + 1) - (reward + future)) / n  # line 21
        else:  # line 22
            self.q_values[pair] = self.rewards[pair] = 0.0  # lines 23-24
        self._refresh_value(state)  # lines 25-30

    # lines 31-32: the ends of that loop and of the endless loop

    def q(self, state: int) -> NDArray[np.float64]:
        """Return Q(s, a) for each action, nan for actions never taken in this state."""
        pairs = [(state, a) for a in range(self.n_actions)]
        return np.array([self.q_values[pair] if self.n[pair] else np.nan for pair in pairs])

    def value(self, state: int) -> float:
        """Return V(s); 0 for a state in which no action was taken."""
        return self.v[state]

    def estimate(
        self, state: int, width: float = 0.0, caution: float = 0.0
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the neighbour estimate for each action, and the distance of the nearest states.

        `caution` lowers each estimate by this many standard errors. For these, visits count less
        the farther an action's nearest states are beyond the nearest of all actions, and a value
        has at least the relative error 1 - discount, the fraction of it lost per step.
        """
        visits, spread = np.ones(self.n_actions), np.zeros(self.n_actions)
        q, distance = np.zeros(self.n_actions), np.full(self.n_actions, -1)
        for action in range(self.n_actions):
            far = {s: (state ^ s).bit_count() for (s, a), n in self.n.items() if a == action and n}
            if far:
                nearest = distance[action] = min(far.values())
                # Beyond 7 widths, the weight of a state is below a thousandth of the nearest's.
                near = {s: d - nearest for s, d in far.items() if d - nearest <= 7 * width}
                share = {
                    s: self.n[s, action] * (math.exp(-d / width) if d else 1.0)
                    for s, d in near.items()
                }
                values = [self.q_values[s, action] for s in share]
                weights = list(share.values())
                q[action] = mean = np.average(values, weights=weights)
                visits[action] = sum(weights)
                spread[action] = np.average((np.array(values) - mean) ** 2, weights=weights)
        known = distance >= 0
        if caution and known.any():
            farther = np.where(known, distance - distance[known].min(), 0)
            visits *= np.exp(-farther / width) if width else 1.0
            lost = (1 - self.discount) * q
            q -= caution * np.sqrt((spread + lost**2) / visits)
        return q, distance

    @property
    def queue_length(self) -> int:
        """How many states are in the priority queue."""
        return len(self._priority)

    def _future(self, next_state: int | None) -> float:
        return 0.0 if next_state is None else self.discount * self.u[next_state]

    def _refresh_value(self, state: int) -> None:
        """Recompute V(s), 0 if no action was taken in s, and add or update s in the queue."""
        pairs = [(state, a) for a in range(self.n_actions)]
        value = max((self.q_values[pair] for pair in pairs if self.n[pair] > 0), default=0.0)
        self.v[state] = value
        priority = abs(self.u[state] - value)
        if priority > max(self.min_priority, self.noise * abs(value)):
            self._priority[state] = priority
            heapq.heappush(self._heap, (-priority, state))
        else:
            self._priority.pop(state, None)

    def _pop(self) -> int:
        """Pop the state of highest priority; skip stale entries of the heap."""
        while True:
            priority, state = heapq.heappop(self._heap)
            if self._priority.get(state) == -priority:
                del self._priority[state]
                return state
