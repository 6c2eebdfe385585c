"""The profile of training runs as tables and as a figure, from the recorded results alone."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from benchmarks.parts import REST
from benchmarks.report import shortened
from vast.analysis.drawing import SMALL, TITLE, plain_axes, save
from vast.files import atomic_write

BEGIN, END = "<!-- numbers: begin -->", "<!-- numbers: end -->"
"""around the tables of a page"""
GROUPS = {
    "environment": ("#b4b2ab", ("environment",)),
    "training steps": ("#c8373a", ("training steps", "publishing the encoder")),
    "waiting for training": ("#f0b7b0", ("waiting for training",)),
    "encoding to act": ("#e09a3b", ("encoding to act",)),
    "re-tabulation": ("#e8d06b", ("re-tabulation",)),
    "replay sampling": ("#7a9e3f", ("replay sampling",)),
    "table updates": ("#2f6db5", ("table updates", "recent rewards", "counting revisits")),
    "sweeping": ("#7b5aa6", ("sweeping",)),
    "neighbour estimate": ("#5fb3b3", ("neighbour estimate",)),
    "the rest": (
        "#4a4a4a",
        ("storing frames", "digest of the episode", "repeat penalty", "restlessness", REST),
    ),
}
"""the parts that are drawn in one colour; earlier results call the repeat penalty restlessness"""
THREADS = ("main", "training")


def name_of(run: dict[str, Any]) -> str:
    """Return a run's preset and task, and whether it trained in a thread."""
    training = run["config"]["settings"]["training"]
    thread = training["overlap"] and not training.get("process")
    return f"{run['preset']} {run['task']}" + (", thread" if thread else "")


def seconds(run: dict[str, Any], phase: str | None) -> dict[str, float]:
    """Return seconds by thread and part: of the whole run, or per 1000 steps of a phase."""
    phases = run["phases"]
    if phase is not None:
        steps = phases[phase]["steps"]
        return {name: 1000 * value / steps for name, value in phases[phase]["parts"].items()}
    total: dict[str, float] = {}
    for each in phases.values():
        for name, value in each["parts"].items():
            total[name] = total.get(name, 0.0) + value
    return total


def part_rows(report: dict[str, Any], phase: str | None = None) -> list[dict[str, Any]]:
    """Return a row for each part, the slowest first, with a column per run."""
    columns = {name_of(run): seconds(run, phase) for run in report["runs"]}
    names = {name for column in columns.values() for name in column}

    def order(name: str) -> tuple[int, float]:
        thread = THREADS.index(name.split("/")[0])
        return thread, -sum(column.get(name, 0.0) for column in columns.values())

    return [
        {
            "thread": name.split("/")[0],
            "part": name.split("/")[1],
            **{run: column.get(name) for run, column in columns.items()},
        }
        for name in sorted(names, key=order)
    ]


def summary_rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a summary of the runs, with a column per run."""
    columns = {name_of(run): _summary(run) for run in report["runs"]}
    names = next(iter(columns.values()))
    return [{"": name, **{run: found[name] for run, found in columns.items()}} for name in names]


def _summary(run: dict[str, Any]) -> dict[str, Any]:
    phases = run["phases"]
    return {
        "shortened": run["shortened"] or "no",
        "environment steps": run["steps"],
        "training steps": sum(phase["trainings"] for phase in phases.values()),
        "states in the end": run["states"],
        "seconds": run["wall_seconds"],
        "of the processor": sum(phase["cpu_seconds"] for phase in phases.values()),
        "burn-in, seconds": phases["burn-in"]["wall_seconds"],
        "burst, seconds": phases["burst"]["wall_seconds"],
        "seconds per 1000 steps after the burst": run["seconds_per_1000_after"],
        "engine alone, seconds per 1000 steps": run["floor_per_1000"],
        "whole run / engine alone": run["of_floor"],
        "after the burst / engine alone": run["of_floor_after"],
        "of the time after the burst, waiting for training, %": 100 * run["waiting_share_after"],
        "mean epsilon after the burst": run["mean_epsilon_after"],
    }


def markdown(rows: list[dict[str, Any]]) -> str:
    """Return rows as a Markdown table."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = [columns, ["---"] * len(columns)]
    lines += [[shortened(row.get(name)) for name in columns] for row in rows]
    return "\n".join("| " + " | ".join(line).replace("_", " ") + " |" for line in lines)


def tables(report: dict[str, Any]) -> str:
    """Return all tables of a page."""
    machine = report["machine"]
    titles = {
        "Runs": summary_rows(report),
        "Seconds of the whole run": part_rows(report),
        "Seconds per 1000 environment steps after the burst": part_rows(report, "after"),
        "One call, by the frames in the replay": report["by_replay"],
        "One call, by the states in the table": report["by_states"],
        "One call, by the bits of a code": report["by_bits"],
    }
    sections = [f"{title}:\n\n{markdown(rows)}" for title, rows in titles.items()]
    about = f"{machine['processor']}, Python {machine['python']}, torch {machine['torch']}, "
    return "\n\n".join([about + "one thread of torch.", *sections])


def refresh(report: dict[str, Any], page: Path) -> None:
    """Replace the tables of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    with atomic_write(page) as unfinished:
        text = f"{before}{BEGIN}\n{tables(report)}\n{END}{after}"
        unfinished.write_text(text, encoding="utf-8")


def draw(report: dict[str, Any], path: Path) -> Path:
    """Draw where the time goes, in the whole of each run and after its burst."""
    runs = report["runs"]
    figure = Figure(figsize=(10, 1.6 + 1.05 * len(runs)), layout="constrained")
    axes = figure.subplots(1, 2)
    titles = ("the whole run", "after the burst; line: engine alone")
    for ax, phase, title in zip(axes, (None, "after"), titles, strict=True):
        for place, run in enumerate(runs):
            _bars(ax, place, run, phase)
        plain_axes(ax, title, "percent of the wall time")
        ax.grid(visible=False)
        ax.set_xlim(0, 100)
        ax.set_yticks(range(len(runs)))
        ax.set_yticklabels([_label(run, phase) for run in runs], fontsize=SMALL)
        ax.invert_yaxis()
    handles, labels = axes[0].get_legend_handles_labels()
    found = dict(zip(labels, handles, strict=True))
    figure.legend(
        found.values(), found.keys(), loc="outside lower center", ncols=5, frameon=False,
        fontsize=SMALL,
    )  # fmt: skip
    figure.suptitle("where the time goes: main thread above, training thread below", fontsize=TITLE)
    return save(figure, path)


def _label(run: dict[str, Any], phase: str | None) -> str:
    if phase is None:
        return f"{name_of(run)}\n{run['steps']} steps, {run['wall_seconds']:.0f} s"
    speed, ratio = run["seconds_per_1000_after"], run["of_floor_after"]
    return f"{speed:.3g} s per 1000 steps,\n{ratio:.3g} x engine"


def _bars(ax: Any, place: int, run: dict[str, Any], phase: str | None) -> None:
    parts = seconds(run, phase)
    scale = 100 / (run["wall_seconds"] if phase is None else run["seconds_per_1000_after"])
    for thread, offset in zip(THREADS, (-0.19, 0.19), strict=True):
        left = 0.0
        for label, (colour, members) in GROUPS.items():
            width = scale * sum(parts.get(f"{thread}/{member}", 0.0) for member in members)
            ax.barh(
                place + offset, width, 0.34, left=left, color=colour,
                label=label if place == 0 and thread == "main" else None,
            )  # fmt: skip
            left += width
    if phase is not None:
        floor = scale * run["floor_per_1000"]
        ax.plot([floor, floor], [place - 0.42, place + 0.42], color="black", linewidth=1.2)
