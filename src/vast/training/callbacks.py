"""What looks on while an agent is trained: progress, metrics, checkpoints, interrupts.

A callback observes the run and may stop it. It must not change the agent.
"""

import time
from collections.abc import Callable

from vast.training.metrics import MetricsLog
from vast.training.progress import Progress
from vast.training.protocol import Trainable

Row = dict[str, float]
"""a row of metrics by name; `step` and `wall_seconds` among them"""


class Callback:
    """The hooks; each does nothing unless a subclass overrides it."""

    def on_step(self, agent: Trainable, total: int) -> bool | None:
        """Be called after every environment step, and between the training steps of a burst.

        `total` is the number of environment steps asked for. Return True to stop after this step.
        """

    def on_metrics(self, row: Row) -> None:
        """Be given each row of metrics, as it stands in `metrics.jsonl`."""


class ShowProgress(Callback):
    """Updates a progress display, with the return of the last test epoch."""

    def __init__(self, display: Progress) -> None:
        self._display = display
        self._last_test: dict[str, float | str] = {}

    def on_step(self, agent: Trainable, total: int) -> None:
        """Show where the run is."""
        self._display.update(
            agent.steps,
            total,
            lambda: {**agent.progress_stats(), **self._last_test},
            agent.burst_left,
        )

    def on_metrics(self, row: Row) -> None:
        """Remember the last test epoch."""
        if "eval/episodes" in row:
            found = f"{row['eval/mean_return']:.2f}" if row["eval/episodes"] else "none"
            self._last_test = {"test return": f"{found} at {row['step']:,}"}


class WriteMetrics(Callback):
    """Appends each row to a log."""

    def __init__(self, metrics: MetricsLog) -> None:
        self._metrics = metrics

    def on_metrics(self, row: Row) -> None:
        """Write the row."""
        self._metrics.write(row)


class SaveRegularly(Callback):
    """Saves a checkpoint every so many seconds; saving changes nothing, so it may go by the clock.

    Args:
        save: what to call.
        seconds: between two checkpoints.
    """

    def __init__(self, save: Callable[[], None], seconds: float) -> None:
        self._save = save
        self._seconds = seconds
        self._saved_at = time.monotonic()

    def on_step(self, agent: Trainable, total: int) -> None:
        """Save if it is time."""
        if time.monotonic() - self._saved_at > self._seconds:
            self._save()
            self._saved_at = time.monotonic()


class StopWhen(Callback):
    """Stops the run as soon as a condition holds, such as an interrupt."""

    def __init__(self, asked: Callable[[], bool]) -> None:
        self._asked = asked

    def on_step(self, agent: Trainable, total: int) -> bool:
        """Tell whether to stop."""
        return self._asked()
