"""What 1000 steps of a finished run cost, as its table grew: from the clock in its metrics."""

import json
from pathlib import Path
from typing import Any


def cost_by_steps(run: Path, every: int) -> list[dict[str, Any]]:
    """Return seconds per 1000 steps and the states in the table, for each `every` steps of a run.

    Test epochs are included. Rows come at multiples of the logging interval.
    """
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    rows = {row["step"]: row for row in map(json.loads, lines)}
    ends = [step for step in sorted(rows) if step % every == 0]
    begins = [min(rows), *ends[:-1]] if ends else []
    return [
        {
            "from_step": begin,
            "to_step": end,
            "seconds_per_1000": 1000 * spent(rows[begin], rows[end]) / (end - begin),
            "states": rows[end].get("table/states"),
        }
        for begin, end in zip(begins, ends, strict=True)
        if end > begin
    ]


def spent(begin: dict[str, Any], end: dict[str, Any]) -> float:
    """Return the seconds between two rows."""
    return float(end["wall_seconds"] - begin["wall_seconds"])
