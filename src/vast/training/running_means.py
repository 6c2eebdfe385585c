"""Means of what was measured since the last row of metrics."""

from collections.abc import Mapping
from typing import Any


class RunningMeans:
    """Sums and weights by name; `means` returns the means and resets them."""

    def __init__(self) -> None:
        self._sums: dict[str, list[float]] = {}

    def add(self, name: str, value: float, weight: float = 1.0) -> None:
        """Add a value; with a weight, the mean of that many values."""
        total = self._sums.setdefault(name, [0.0, 0.0])
        total[0] += value * weight
        total[1] += weight

    def means(self) -> dict[str, float]:
        """Return the means, and start again."""
        means = {name: total / weight for name, (total, weight) in self._sums.items() if weight}
        self._sums = {}
        return means

    def state_dict(self) -> dict[str, Any]:
        """Return the sums since the last call of `means`."""
        return {name: list(total) for name, total in self._sums.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from saved sums."""
        self._sums = {
            name: [float(total), float(weight)] for name, (total, weight) in state.items()
        }
