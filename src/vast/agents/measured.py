"""What was measured since somebody last asked."""

from collections.abc import Mapping
from typing import Any


class Means:
    """Means of numbers by name."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, int]] = {}

    def note(self, name: str, total: float, count: int = 1) -> None:
        """Add a number, or the sum of several."""
        before, times = self._sums.get(name, (0.0, 0))
        self._sums[name] = (before + float(total), times + int(count))

    def take(self) -> dict[str, float]:
        """Return the means, and begin anew; what was not measured is not there."""
        means = {name: total / count for name, (total, count) in self._sums.items() if count}
        self._sums = {}
        return means

    def state_dict(self) -> dict[str, Any]:
        """Return what the next `take` depends on."""
        return {name: [total, count] for name, (total, count) in self._sums.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what was saved."""
        self._sums = {name: (float(total), int(count)) for name, (total, count) in state.items()}
