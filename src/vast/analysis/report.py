"""A report on one or more runs as one HTML file: curves, configuration, and what agents learned."""

from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from math import nan
from pathlib import Path

from vast.analysis.arms import Arm, LoggedRun, flat, group, read_runs
from vast.analysis.curves import (
    FREE_ENERGY,
    LEARNING,
    OTHER_LEARNING,
    TABLE,
    draw_metric,
    logged,
)
from vast.analysis.report_page import (
    Picture,
    Section,
    as_text,
    details,
    facts,
    fields,
    page,
    table,
)
from vast.analysis.report_views import views_of
from vast.files import atomic_write
from vast.tasks import TASKS
from vast.training.plain import to_plain

MOST_BYTES = 13_000_000
"""of the pictures of saved agents in a report; what does not fit is named instead"""
CURVES = (
    "A thick line is the mean over the runs of an arm, the band around it one standard deviation "
    "between them; thin lines are the single runs."
)
INTERVENTIONS = "Dotted lines mark interventions."


def write_report(
    folders: Sequence[str | Path], out: str | Path, say: Callable[[str], None] = lambda _: None
) -> list[str]:
    """Write the report, and return a summary in lines; `say` is told what is being done.

    The runs are only read; nothing else changes in their directories.
    """
    runs = read_runs([Path(folder) for folder in folders])
    arms = group(runs)
    summary: list[str] = []
    sections = [_glance(arms), *_curves(arms), *_views(arms, summary, say), _configuration(arms)]
    tasks = ", ".join(dict.fromkeys(run.config.task for run in runs))
    title = runs[0].name if len(runs) == 1 else tasks
    text = page(
        title,
        _subtitle(arms, tasks),
        sections,
        f"Written by vast report, version {version('vast-rl')}; nothing is loaded from a network.",
    )
    with atomic_write(Path(out)) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    return summary


def _subtitle(arms: Sequence[Arm], tasks: str) -> str:
    if len(arms) == 1 and len(arms[0].runs) == 1:
        config = arms[0].config
        return f"{arms[0].name} on {tasks}, preset {config.preset}, seed {config.seed}"
    n_runs = sum(len(arm.runs) for arm in arms)
    return f"{_count(n_runs, 'run')} in {_count(len(arms), 'arm')} on {tasks}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


# --- at a glance --------------------------------------------------------------------------------


def _glance(arms: Sequence[Arm]) -> Section:
    """Return what is known of each run; of several, what they have in common comes first."""
    runs = [(arm, run) for arm in arms for run in arm.runs]
    found = [_facts(arm, run) for arm, run in runs]
    names = list(dict.fromkeys(name for each in found for name in each))
    common = [name for name in names if len({each.get(name) for each in found}) == 1]
    notes = [_missing(run) if len(runs) == 1 else f"{run.name}: {_missing(run)}" for _, run in runs]
    notes = [note for note, (_, run) in zip(notes, runs, strict=True) if _missing(run)]
    inside = facts({name: found[0][name] for name in common})
    if len(runs) > 1:
        columns = [name for name in names if name not in common]
        inside += table(columns, [[each.get(name, "") for name in columns] for each in found])
    return Section("At a glance", inside=inside, note=" ".join(notes))


def _missing(run: LoggedRun) -> str:
    """Return why a run has no curves yet, if so."""
    loop = run.config.loop
    if not run.rows:
        first = min(loop.log_every, loop.eval_every)
        return f"Nothing is logged yet; the first row of metrics comes at step {first:,}."
    if not len(run.series("eval/reward_per_step")[0]):
        return f"It was not tested yet; the first test epoch comes at step {loop.eval_every:,}."
    return ""


def _facts(arm: Arm, run: LoggedRun) -> dict[str, str]:
    config = run.config
    found = {
        "run": run.name,
        "arm": arm.name,
        "task": config.task,
        "preset": config.preset,
        "seed": str(config.seed),
        "steps": f"{run.steps:,}" + f" of {config.steps:,}" * (run.steps < config.steps),
    }
    if config.interventions:
        found["interventions"] = ", ".join(config.interventions)
    if run.rows:
        seconds = run.rows[-1].get("wall_seconds") or nan
        found["time"] = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"
    for key, name, form in (
        ("eval/mean_return", "last test return", "{:.2f}"),
        ("eval/reward_per_step", "last test reward per step", "{:.4f}"),
        ("table/states", "states", "{:,.0f}"),
        ("table/backups", "backups", "{:,.0f}"),
        ("memory/entries", "entries in the memory", "{:,.0f}"),
    ):
        steps, values = run.series(key)
        if len(steps):
            found[name] = form.format(values[-1])
    return found


# --- curves -------------------------------------------------------------------------------------


def _curves(arms: Sequence[Arm]) -> Iterator[Section]:
    tasks = {arm.config.task for arm in arms}
    task = TASKS.get(tasks.pop()) if len(tasks) == 1 else None
    best = task.best_return if task else None
    several = any(len(arm.runs) > 1 for arm in arms)
    marked = any(arm.config.interventions for arm in arms)
    reading = " ".join([CURVES] * several + [INTERVENTIONS] * marked)
    for title, about, metrics, without in (
        (
            "Learning",
            "Test epochs are played apart, and nothing is learned from them. The return counts "
            "only episodes that ended; the reward per step counts every step.",
            LEARNING,
            "There are no curves yet: they need two rows of metrics, or two test epochs.",
        ),
        (
            "Free energy",
            "What the model minimises: reconstruction + transition - entropy.",
            FREE_ENERGY,
            "",
        ),
        ("Table", "What the table holds, and how planning goes.", TABLE, ""),
        ("Network and memory", "What other agents learn with.", OTHER_LEARNING, ""),
    ):
        there = logged(arms, metrics)
        pictures = [
            Picture.of(
                draw_metric(arms, key, name, best if key == "eval/mean_return" else None),
                f"{name} over environment steps",
            )
            for key, name in there.items()
        ]
        if pictures:
            yield Section(title, f"{about} {reading if title == 'Learning' else ''}", pictures)
        elif without:
            yield Section(title, note=without)


# --- what agents learned ------------------------------------------------------------------------


def _views(
    arms: Sequence[Arm], summary: list[str], say: Callable[[str], None]
) -> Iterator[Section]:
    """Yield the views of one run per arm, as long as the report is not too large."""
    size = 0
    left_out: list[str] = []
    alone = sum(len(arm.runs) for arm in arms) == 1
    for arm in arms:
        run = next((run for run in arm.runs if run.rows), arm.runs[0])
        name = f"{arm.name}, seed {run.config.seed}"
        if not left_out:
            say(f"looking at {run.name}")
            parts, said = views_of(run.directory)
            more = sum(part.size for part in parts)
        if left_out or (size and size + more > MOST_BYTES):
            left_out.append(run.name)
            continue
        size += more
        summary += said if alone else [f"{name}: {line}" for line in said]
        if alone:
            yield from parts
        else:
            many = len(arm.runs)
            about = f"{run.name}, one of the {many} runs of this arm." if many > 1 else ""
            yield Section(name, about, parts=parts)
    if left_out:
        yield Section(
            "Left out",
            note="So that this file stays small, it does not look into "
            f"{', '.join(left_out)}: a report on one of them does.",
        )


# --- configuration ------------------------------------------------------------------------------


def _configuration(arms: Sequence[Arm]) -> Section:
    """Return what differs between arms, all hyperparameters, and versions."""
    configs = [dict(flat(to_plain(arm.config, full=True))) for arm in arms]
    shared = [name for name in configs[0] if all(name in config for config in configs)]
    differ = [
        name
        for name in shared
        if name not in ("agent", "seed", "steps")
        and len({str(config[name]) for config in configs}) > 1
    ]
    inside = ""
    if differ:
        rows = [[name, *(as_text(config[name]) for config in configs)] for name in differ]
        columns = ["hyperparameter", *(arm.name for arm in arms)]
        inside += details("What differs between the arms", table(columns, rows))
    for arm in arms:
        inside += details(f"Hyperparameters of {arm.name}", fields(to_plain(arm.config)))
    for recorded, names in _versions(arms).items():
        whose = "all runs" if len(names) == sum(len(arm.runs) for arm in arms) else ", ".join(names)
        inside += details(f"Versions of {whose}", fields(dict(recorded)))
    return Section(
        "Configuration",
        "Each run directory has this in its config.json. To start another run with the same "
        "hyperparameters: vast train --config DIR.",
        inside=inside,
    )


def _versions(arms: Sequence[Arm]) -> dict[tuple[tuple[str, str], ...], list[str]]:
    """Return the processor and the versions of packages, each with the runs that have them."""
    found: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for arm in arms:
        for run in arm.runs:
            versions = run.recorded("versions") or {}
            all_ = {"processor": run.recorded("processor"), **versions}
            key = tuple((name, str(value)) for name, value in all_.items())
            found.setdefault(key, []).append(run.name)
    return found
