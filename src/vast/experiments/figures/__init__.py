"""The paper's figures, and the experiments of its discussion, as data.

Each is declared at two scales: `paper`, with the published budgets, and `cpu`, which takes minutes
per run. `differences` lists what the smaller scale changes, hyperparameter by hyperparameter.
"""

from collections.abc import Mapping
from pkgutil import resolve_name

from vast.errors import UserError, unknown
from vast.experiments.spec import Experiment

SCALES = ("cpu", "paper")

_HERE = "vast.experiments.figures"
EXPERIMENTS: Mapping[str, str] = {
    "fig1": f"{_HERE}.fig1:SCALES",
    "fig3": f"{_HERE}.fig3:SCALES",
    "fig4": f"{_HERE}.fig4:SCALES",
    "fig5": f"{_HERE}.fig5:SCALES",
    "fig6": f"{_HERE}.fig6:SCALES",
    "fig7": f"{_HERE}.fig7:SCALES",
    "figS1": f"{_HERE}.fig4:SMALL_MAZE",
    "latent-plus-maze": f"{_HERE}.latent:PLUS_MAZE",
    "latent-large-maze": f"{_HERE}.latent:LARGE_MAZE",
    "tree-likeness": f"{_HERE}.tree:SCALES",
    "fixed-prior": f"{_HERE}.plus_maze:FIXED_PRIOR",
    "background-planner": f"{_HERE}.plus_maze:BACKGROUND_PLANNER",
    "paper-preset": f"{_HERE}.plus_maze:PAPER_PRESET",
    "ddqn-settings": f"{_HERE}.plus_maze:DDQN_SETTINGS",
    "pong-long": f"{_HERE}.fig7:LONG",
    "pong-oracle": f"{_HERE}.pong_oracle:SCALES",
    "pong-oracle-variants": f"{_HERE}.pong_oracle:VARIANTS",
    "random-policy": f"{_HERE}.fig3:RANDOM_POLICY",
    "large-maze-schedule": f"{_HERE}.fig3:SCHEDULE",
    "trials-plus-maze": f"{_HERE}.trials:PLUS_MAZE",
    "trials-large-maze": f"{_HERE}.trials:LARGE_MAZE",
    "study-t-maze": f"{_HERE}.studies:T_MAZE",
    "study-plus-maze": f"{_HERE}.studies:PLUS_MAZE",
    "study-plus-maze-start": f"{_HERE}.studies:PLUS_MAZE_START",
    "study-h-maze": f"{_HERE}.studies:H_MAZE",
    "study-large-maze": f"{_HERE}.studies:LARGE_MAZE",
    "study-large-maze-hazards": f"{_HERE}.studies:LARGE_MAZE_HAZARDS",
    "study-recency": f"{_HERE}.studies:RECENCY",
    "study-leaps": f"{_HERE}.studies:LEAPS",
    "study-controls": f"{_HERE}.studies:CONTROLS",
    "study-remedies": f"{_HERE}.studies:REMEDIES",
    "study-agents": f"{_HERE}.studies:AGENTS",
    "study-estimators": f"{_HERE}.studies:ESTIMATORS",
}
"""where each experiment is declared, at each scale"""
SAME_RUNS = {"fig2": "fig1", "figS2": "fig5", "figS3": "fig7"}
"""figures that are drawn from the runs of another one"""


def scales_of(name: str) -> Mapping[str, Experiment]:
    """Return an experiment at each of its scales; UserError if there is none of that name."""
    name = SAME_RUNS.get(name, name)
    if name not in EXPERIMENTS:
        raise unknown("experiment", name, [*EXPERIMENTS, *SAME_RUNS, "SPEC.toml"])
    found: Mapping[str, Experiment] = resolve_name(EXPERIMENTS[name])
    return found


def experiment_named(name: str, scale: str = "cpu") -> Experiment:
    """Return an experiment at a scale; UserError if there is none."""
    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    found = scales_of(name)
    if scale not in found:
        raise UserError(f"{name} must have the scale {' or '.join(found)}, got {scale!r}")
    return found[scale]
