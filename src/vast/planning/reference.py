"""The table in plain Python, line by line after the paper: the oracle the fast one is held to.

Dictionaries, a heap and the formulas of the supplement's Algorithm 2 as they stand there; nothing
is done for speed. The line numbers in the comments are those of the algorithm.
"""

import heapq
import math
import sys
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]


class ReferenceTable:
    """Counted transitions and prioritized sweeping with small backups, as TransitionTable."""

    def __init__(self, n_actions: int, discount: float = 0.99, min_priority: float = 5e-5) -> None:
        self.n_actions = n_actions
        self.discount = discount
        self.min_priority = min_priority
        self.noise = 64 * sys.float_info.epsilon / (1 - discount)
        """differences below this part of a value are rounding, and could circle for ever"""
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

    def add(self, state: int, action: int, reward: float, next_state: int | None) -> None:
        """Count a transition; next_state None ends the episode."""
        pair = (state, action)
        self.n[pair] += 1  # 13
        if next_state is None:
            self.terminals[pair] += 1
        else:
            self.predecessors[next_state][pair] += 1
        self.rewards[pair] += reward
        n, q = self.n[pair], self.q_values[pair]
        self.q_values[pair] = (q * (n - 1) + reward + self._future(next_state)) / n  # 14
        self._settle(state)  # 15, 16

    def delete(self, state: int, action: int, reward: float, next_state: int | None) -> None:
        """Uncount a transition; KeyError, and nothing changed, if it is not there."""
        pair = (state, action)
        counts = self.terminals if next_state is None else self.predecessors[next_state]
        if counts[pair] == 0:
            raise KeyError((state, action, next_state))
        counts[pair] -= 1
        self.n[pair] -= 1  # 19
        self.rewards[pair] -= reward
        n, q = self.n[pair], self.q_values[pair]
        if n > 0:
            future = self._future(next_state)
            self.q_values[pair] = (q * (n + 1) - (reward + future)) / n  # 21
        else:
            self.q_values[pair] = self.rewards[pair] = 0.0  # 23
        self._settle(state)  # 25-30

    def sweep(self, max_backups: int | None = None) -> int:
        """Do backups in the order of priority; return how many."""
        budget = math.inf if max_backups is None else max_backups
        done = 0
        while done < budget and self._priority:
            state = self._pop()  # 3
            change = self.v[state] - self.u[state]  # 4
            self.u[state] = self.v[state]  # 5
            for pair, count in self.predecessors[state].items():  # 6
                if count > 0:
                    self.q_values[pair] += self.discount * change * count / self.n[pair]  # 7
                    self._settle(pair[0])  # 8, 9
                    done += 1
        self.total_backups += done
        return done

    def q(self, state: int) -> NDArray[np.float64]:
        """Return Q(s, a) for each action, nan where it was never taken."""
        pairs = [(state, a) for a in range(self.n_actions)]
        return np.array([self.q_values[pair] if self.n[pair] else np.nan for pair in pairs])

    def value(self, state: int) -> float:
        """Return V(s), 0 for a state in which nothing was done."""
        return self.v[state]

    def estimate(
        self, state: int, width: float = 0.0, caution: float = 0.0
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the neighbour estimate for each action and the distance it comes from.

        Each is lowered by so many standard errors, for which states count the less, the farther
        they are than the nearest of all; a value is not known better than what a step costs.
        """
        visits, spread = np.ones(self.n_actions), np.zeros(self.n_actions)
        q, distance = np.zeros(self.n_actions), np.full(self.n_actions, -1)
        for action in range(self.n_actions):
            far = {s: (state ^ s).bit_count() for (s, a), n in self.n.items() if a == action and n}
            if far:
                nearest = distance[action] = min(far.values())
                # Beyond 7 widths a state would count less than a thousandth of the nearest.
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
        """How many states wait to be swept from."""
        return len(self._priority)

    def _future(self, next_state: int | None) -> float:
        return 0.0 if next_state is None else self.discount * self.u[next_state]

    def _settle(self, state: int) -> None:
        """Find V(s), and queue s if its predecessors should hear of it."""
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
        """Return the state of highest priority; entries that are out of date are passed over."""
        while True:
            priority, state = heapq.heappop(self._heap)
            if self._priority.get(state) == -priority:
                del self._priority[state]
                return state
