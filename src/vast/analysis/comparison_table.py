"""A comparison as tables for the terminal, and as a JSON file."""

import json
from collections.abc import Iterator
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from vast.analysis.comparison import ALL_TASKS, Comparison, Pair, TaskComparison
from vast.analysis.statistics.estimates import number
from vast.files import atomic_write

WIDTH = 132
"""columns, where the output is not a terminal"""


def show(comparison: Comparison, console: Console | None = None) -> None:
    """Print the tables, the caveats below each of them, and what was left out."""
    console = console or Console()
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)
    for task in comparison.tasks:
        console.print(_arms(comparison, task))
        if task.pairs:
            console.print(_pairs(task))
        for said in task.caveats:
            console.print(said, style="yellow", highlight=False, soft_wrap=True)
        console.print()
    for line in comparison.left_out:
        console.print(f"left out: {line}", highlight=False, soft_wrap=True)


def write_json(comparison: Comparison, path: Path) -> None:
    """Write everything that a comparison holds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as unfinished:
        text = json.dumps(comparison.plain(), indent=1, allow_nan=False)
        unfinished.write_text(text + "\n", encoding="utf-8")


def _arms(comparison: Comparison, task: TaskComparison) -> Table:
    if task.task == ALL_TASKS:
        title = f"{ALL_TASKS}: {comparison.score} of {comparison.metric}, worst run 0, best 1"
    else:
        until = f"{task.until:,}" if task.until else ""
        title = f"{task.task}: {comparison.metric}, tests up to step {until}"
    table = _table(title, "arm", "seeds", "statistic", "value")
    for arm in task.arms:
        rows = {
            f"{comparison.score}, interquartile mean": str(arm.interquartile_mean),
            f"{comparison.score}, mean": str(arm.mean),
            f"{comparison.score}, tolerance interval": str(arm.tolerance),
        }
        if arm.area is not None and arm.steps_to is not None and task.threshold is not None:
            rows["area under the curve, interquartile mean"] = str(arm.area)
            reached = f"{arm.reached} of {len(arm.seeds)} seeds"
            name = f"steps to {number(task.threshold)}, median; {reached}"
            rows[name] = str(arm.steps_to)
        seeds = ", ".join(map(str, arm.seeds))
        for first, (name, value) in enumerate(rows.items()):
            table.add_row(*(("", "") if first else (arm.arm, seeds)), name, value)
        table.add_section()
    return table


def _pairs(task: TaskComparison) -> Table:
    table = _table("", "pair", "probability of improvement", "mean difference", "p", "p, Holm")
    for pair in task.pairs:
        table.add_row(f"{pair.ours} > {pair.theirs}", str(pair.improvement), *_test(pair))
    return table


def _test(pair: Pair) -> Iterator[str]:
    if pair.test is None:
        yield from ("-", "-", "-")
        return
    yield number(pair.test.difference)
    yield f"{number(pair.test.p)} ({pair.test.mark})"
    yield number(pair.adjusted)


def _table(title: str, *columns: str) -> Table:
    table = Table(
        title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD
    )
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
