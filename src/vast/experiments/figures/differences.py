"""What the scale `cpu` changes, beside what was published: every hyperparameter that differs.

    python -m vast.experiments.figures.differences > docs/scales.md

The list follows from the declarations and the presets, so it cannot leave anything out.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from vast.agents.vast.config import ExtensionsConfig
from vast.experiments.figures import EXPERIMENTS, experiment_named, scales_of
from vast.experiments.spec import Arm, Condition, Experiment
from vast.training.plain import to_plain

BOTH_SCALES = tuple(name for name in EXPERIMENTS if "paper" in scales_of(name))
HEAD = """\
# The two scales of each experiment

`python -m vast.experiments.figures.differences > docs/scales.md` writes this page. For each
experiment that has both: what is run at the scale `paper` and at the scale `cpu`, and every
hyperparameter that differs. Arms without a counterpart at the scale `paper` are compared with the
same agent's there, in their order, and agents that do not run at that scale with their preset
`paper`.
"""


Place = tuple[str, bool]
"""a task, and whether it is a fork there"""


class Difference(NamedTuple):
    """One hyperparameter of one agent at the two scales."""

    agent: str
    field: str
    paper: str
    cpu: str
    where: str = ""
    """in which of its runs, if not in all"""


def differences(name: str) -> list[Difference]:
    """Return what differs between the scales of an experiment, agent by agent."""
    cpu = experiment_named(name, "cpu").conditions()
    published = _with_agents(experiment_named(name, "paper"), cpu).conditions()
    places: dict[str, set[Place]] = {}
    found: dict[Difference, set[Place]] = {}
    for condition in cpu:
        agent, place = _label(condition), (condition.task, condition.fork is not None)
        places.setdefault(agent, set()).add(place)
        for field, paper, ours in _differing(_counterpart(condition, cpu, published), condition):
            found.setdefault(Difference(agent, field, paper, ours), set()).add(place)
    return [one._replace(where=_which(some, places[one.agent])) for one, some in found.items()]


def _label(condition: Condition) -> str:
    extensions = getattr(condition.config.settings, "extensions", None)
    return "plain vast" if extensions == ExtensionsConfig() else condition.config.agent


def _which(some: set[Place], every: set[Place]) -> str:
    """Return which of an agent's tasks, and whether trunks or forks; nothing if that is all."""
    tasks, forked = ({place[i] for place in some} for i in (0, 1))
    words = []
    if tasks != {place[0] for place in every}:
        words = [str(task).rpartition("/")[2] for task in sorted(tasks)]
    if forked != {place[1] for place in every}:
        words.append("forks" if forked == {True} else "before the fork")
    return ", ".join(words)


def _with_agents(experiment: Experiment, conditions: list[Condition]) -> Experiment:
    """Return an experiment with an arm of each agent that these conditions have and it lacks."""
    there = {arm.agent for arm in experiment.arms.values()}
    missing = {condition.config.agent for condition in conditions} - there
    added = {agent: Arm(agent) for agent in sorted(missing)}
    return replace(experiment, arms={**experiment.arms, **added})


def _counterpart(condition: Condition, cpu: list[Condition], paper: list[Condition]) -> Condition:
    """Return what to compare with: the same arm, or that of the agent which is most like it.

    Arms of one agent that have other names at the two scales are compared in their order.
    """
    agent = condition.config.agent
    ours, theirs = _arms(cpu, agent), _arms(paper, agent)
    in_turn = theirs[ours.index(condition.arm) % len(theirs)]

    def likeness(other: Condition) -> tuple[bool, ...]:
        return (
            other.key == condition.key,
            other.config.agent == agent,
            other.fork == condition.fork,
            other.task == condition.task,
            other.arm == in_turn,
        )

    return max(paper, key=likeness)


def _arms(conditions: list[Condition], agent: str) -> list[str]:
    return list(dict.fromkeys(each.arm for each in conditions if each.config.agent == agent))


def _differing(paper: Condition, cpu: Condition) -> Iterator[tuple[str, str, str]]:
    skipped = {"preset", "interventions", "task"}
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
    for name in BOTH_SCALES:
        parts.append(f"## {name}\n\n{scales_of(name)['cpu'].about}\n")
        parts.append("| | paper | cpu |\n|---|---|---|\n" + "\n".join(_summary(name)) + "\n")
        agents: dict[tuple[str, ...], list[str]] = {}
        for agent, *difference in differences(name):
            agents.setdefault(tuple(difference), []).append(agent)
        rows = [
            f"| `{field}` | {paper} | {cpu} | {', '.join(whose)}{where and f' ({where})'} |"
            for (field, paper, cpu, where), whose in agents.items()
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
