"""Means of what was measured since the last row of metrics."""

from collections.abc import Mapping
from typing import Any


class Tally:
    """Sums and weights by name; `means` takes them out."""

    def __init__(self) -> None:
        self._sums: dict[str, list[float]] = {}

    def add(self, name: str, value: float, weight: float = 1.0) -> None:
        """Note a value; with a weight, the mean of so many values."""
        total = self._sums.setdefault(name, [0.0, 0.0])
        total[0] += value * weight
        total[1] += weight

    def means(self) -> dict[str, float]:
        """Return the means, and begin anew."""
        means = {name: total / weight for name, (total, weight) in self._sums.items() if weight}
        self._sums = {}
        return means

    def state_dict(self) -> dict[str, Any]:
        """Return what was noted since the last means."""
        return {name: list(total) for name, total in self._sums.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from there."""
        self._sums = {
            name: [float(total), float(weight)] for name, (total, weight) in state.items()
        }
