"""The paper's claims as data: what is claimed, what tests it, and which runs it needs.

The verdicts are not here: people write them, beside the numbers, in docs/results.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vast.analysis import claim_interventions as interventions
from vast.analysis import claim_statistics as statistics
from vast.analysis import earlier_records
from vast.analysis.claim_rows import (
    Records,
    Row,
    at_the_end,
    first_third,
    last_third,
    rows_by_arm,
)
from vast.analysis.claim_statistics import LAST_THIRD, compared
from vast.experiments.results import RunRecord

REWARD = "eval/reward_per_step"
REVISITED = "revisited pairs at the end (share)"


@dataclass(frozen=True)
class Claim:
    """Something that the paper says, and how it is tested."""

    name: str
    """by which docs/results.md refers to it"""
    text: str
    grids: tuple[str, ...]
    """the experiments whose runs it needs; none: what is computed is the same every time"""
    rows: Callable[[Records], list[Row]]
    """its table"""


def of(
    grid: str, rows: Callable[[Sequence[RunRecord]], list[Row]]
) -> Callable[[Records], list[Row]]:
    """Return a function of the records of one grid, if there are any."""
    return lambda records: rows(records[grid]) if records.get(grid) else []


CLAIMS = (
    Claim(
        "one-run",
        "One unrewarded run gives values to the states of a new arm; no network changes.",
        ("fig1",),
        of("fig1", statistics.one_run),
    ),
    Claim(
        "two-episodes",
        "Of two episodes that cross, planning carries the reward over; episodic control does not.",
        (),
        lambda _: statistics.crossing_episodes(),
    ),
    Claim(
        "random-policy",
        "In the large maze a random policy is rewarded about every 20 000 steps.",
        ("random-policy",),
        of("random-policy", statistics.steps_per_goal),
    ),
    Claim(
        "repeated-frames",
        "A frame of an earlier episode is seen again 0.05 % to 0.3 % of the time.",
        ("fig3",),
        of(
            "fig3",
            lambda runs: rows_by_arm(
                [run for run in runs if run.task == "large-maze"],
                {"share of frames": statistics.seen_before},
            ),
        ),
    ),
    Claim(
        "large-maze",
        "In the large maze VaST is slightly above NEC; DQN hardly learns within the budget.",
        ("fig3",),
        of("fig3", lambda runs: statistics.large_maze(runs, "large-maze")),
    ),
    Claim(
        "hazards",
        "With hazards VaST is clearly above all other agents.",
        ("fig3",),
        of("fig3", statistics.hazards),
    ),
    Claim(
        "bits",
        "States of 64 bits learn faster at first in the large maze, and level off lower than 32.",
        ("fig4",),
        of(
            "fig4",
            lambda runs: statistics.bits_compared(
                runs,
                {
                    "reward per step, first third of the steps": first_third(REWARD),
                    LAST_THIRD: last_third(REWARD),
                },
            ),
        ),
    ),
    Claim(
        "revisited",
        "State-action pairs are revisited often, even with 64 bits.",
        ("fig4",),
        of(
            "fig4",
            lambda runs: statistics.by_bits(
                runs,
                {REVISITED: at_the_end("table/revisited")},
            ),
        ),
    ),
    Claim(
        "few-bits",
        "Small mazes need 8 to 16 bits only.",
        ("figS1",),
        of(
            "figS1",
            lambda runs: [
                *statistics.bits_compared(runs, {LAST_THIRD: last_third(REWARD)}),
                *statistics.by_bits(runs, {REVISITED: at_the_end("table/revisited")}),
            ],
        ),
    ),
    Claim(
        "teleporter",
        "After one rewarded or penalised run through a new teleporter VaST soon uses it, regularly "
        "after about 20 000 steps; without a run 2 of 5 seeds find it.",
        ("fig5",),
        of("fig5", interventions.teleporter),
    ),
    Claim(
        "teleporter-agents",
        "VaST adapts to the teleporter better than all other agents.",
        ("fig5",),
        of("fig5", interventions.teleporter_agents),
    ),
    Claim(
        "reversal",
        "VaST recovers quickly when rewards are reversed; the size of the replay matters to NEC "
        "and DQN, not to VaST.",
        ("fig6",),
        of("fig6", interventions.recovery),
    ),
    Claim(
        "pong",
        "In Pong a history of three frames converges faster; its reconstruction is the same, "
        "transition - entropy is lower.",
        ("fig7", "pong-long"),
        lambda records: [
            *of("fig7", statistics.pong)(records),
            *of("pong-long", statistics.long_pong)(records),
        ],
    ),
    Claim(
        "latent-learning",
        "VaST learns the structure of the world without rewards (latent learning).",
        ("latent-plus-maze", "latent-large-maze"),
        lambda records: [
            Row(f"{grid.removeprefix('latent-')}, {row.what}", row.statistic, row.result)
            for grid in ("latent-plus-maze", "latent-large-maze")
            for row in of(grid, statistics.latent)(records)
        ],
    ),
    Claim(
        "fixed-prior",
        "A learned transition prior beats the fixed prior of a variational autoencoder.",
        ("fixed-prior",),
        of("fixed-prior", lambda runs: compared(runs, "plus-maze", "plain")),
    ),
    Claim(
        "background-planner",
        "Planning runs in a process of its own, beside acting and training.",
        ("background-planner",),
        of("background-planner", lambda runs: compared(runs, "plus-maze", "plain")),
    ),
    Claim(
        "paper-preset",
        "The preset `paper`, convolutional networks and no extension, beside plain VaST.",
        ("paper-preset",),
        of("paper-preset", lambda runs: compared(runs, "plus-maze", "paper")),
    ),
    Claim(
        "trials",
        "Hyperparameters come from a coarse search; here every agent has eight trials.",
        ("trials-plus-maze", "trials-large-maze"),
        lambda records: [
            row
            for grid in ("trials-plus-maze", "trials-large-maze")
            for row in of(grid, statistics.trials)(records)
        ],
    ),
    Claim(
        "tree-likeness",
        "Many Atari games are like trees, in which planning has nothing to add.",
        ("tree-likeness",),
        of("tree-likeness", statistics.tree_likeness),
    ),
    Claim(
        "earlier-records",
        "The runs here are in the range of those of earlier studies.",
        ("fig1", "fig3", "fig5", "fig6"),
        earlier_records.rows,
    ),
)
"""the claims that runs can test; docs/results.md names the exact tests of the others"""
