"""What the scale `cpu` changes, beside what was published: every hyperparameter that differs.

    python -m vast.experiments.figures.differences > docs/scales.md

The list follows from the declarations and the presets, so it cannot leave anything out.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from vast.agents.vast.config import ExtensionsConfig
from vast.experiments.figures import EXPERIMENTS, experiment_named, scales_of
from vast.experiments.spec import Condition
from vast.training.plain import to_plain

PAPER_FIGURES = tuple(name for name in EXPERIMENTS if name.startswith("fig"))
HEAD = """\
# The two scales of each experiment

`python -m vast.experiments.figures.differences > docs/scales.md` writes this page. For each figure:
what is run at the scale `paper` and at the scale `cpu`, and every hyperparameter that differs. Arms
without a counterpart at the other scale are compared with the same agent's.
"""


class Difference(NamedTuple):
    """One hyperparameter of one agent at the two scales."""

    agent: str
    field: str
    paper: str
    cpu: str


def differences(name: str) -> list[Difference]:
    """Return what differs between the scales of an experiment, agent by agent."""
    found: dict[Difference, None] = {}
    paper = {c.config.agent: c for c in reversed(experiment_named(name, "paper").conditions())}
    for condition in experiment_named(name, "cpu").conditions():
        agent = condition.config.agent
        extensions = getattr(condition.config.settings, "extensions", None)
        label = "plain vast" if extensions == ExtensionsConfig() else agent
        same = [c for c in experiment_named(name, "paper").conditions() if c.key == condition.key]
        other = same[0] if same else paper.get(agent)
        if other is not None:
            for field, published, ours in _differing(other, condition):
                found[Difference(label, field, published, ours)] = None
    return list(found)


def _differing(paper: Condition, cpu: Condition) -> Iterator[tuple[str, str, str]]:
    skipped = {"preset", "interventions"}
    one, other = (_flat(to_plain(each.config, full=True)) for each in (paper, cpu))
    for field in {**one, **other}:
        if field not in skipped and one.get(field) != other.get(field):
            yield field.removeprefix("settings."), one.get(field, ""), other.get(field, "")


def _flat(plain: dict[str, Any], where: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in plain.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{where}{name}.")
        else:
            found[f"{where}{name}"] = _text(value)
    return found


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    return f"{value:,}".replace(",", " ") if isinstance(value, int) else str(value)


def page() -> str:
    """Return the page of the docs."""
    parts = [HEAD]
    for name in PAPER_FIGURES:
        parts.append(f"## {name}\n\n{scales_of(name)['cpu'].about}\n")
        parts.append("| | paper | cpu |\n|---|---|---|\n" + "\n".join(_summary(name)) + "\n")
        agents: dict[tuple[str, str, str], list[str]] = {}
        for agent, field, paper, cpu in differences(name):
            agents.setdefault((field, paper, cpu), []).append(agent)
        rows = [
            f"| `{field}` | {paper} | {cpu} | {', '.join(whose)} |"
            for (field, paper, cpu), whose in agents.items()
        ]
        parts.append("| hyperparameter | paper | cpu | of |\n|---|---|---|---|\n")
        parts[-1] += "\n".join(rows) + "\n"
    return "\n".join(parts)


def _summary(name: str) -> Iterator[str]:
    both = [experiment_named(name, scale) for scale in ("paper", "cpu")]
    for label, cells in {
        "tasks": [", ".join(each.tasks) for each in both],
        "arms": [", ".join(each.arms) for each in both],
        "seeds": [str(len(each.seeds)) for each in both],
        "interventions": [", ".join(f"`{text}`" for text in each.interventions) for each in both],
        "forks": [
            f"at {each.fork_at:,}: {', '.join(each.forks)}" if each.fork_at else "" for each in both
        ],
    }.items():
        if any(cells):
            yield f"| {label} | {' | '.join(cells)} |"


if __name__ == "__main__":
    print(page(), end="")
