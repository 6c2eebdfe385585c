"""The paper's figures show what the records say: every run, its mean, what happened when."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.analysis.records import REWARD, record
from vast.analysis.drawing import AGENT_COLOURS
from vast.analysis.figures import draw_figure
from vast.analysis.paper import fig3, fig4, fig5, fig6, fig7, figS1, figS2
from vast.analysis.paper.bits import bit_lines
from vast.analysis.paper.lines import Line, legend_note
from vast.analysis.paper.mazes import floor_plan, forced_path
from vast.analysis.told_apart import longest, told_apart
from vast.errors import UserError
from vast.experiments.figures import experiment_named
from vast.experiments.grids.directory import write_grid
from vast.experiments.grids.run import grid_of
from vast.experiments.results import RunRecord

RNG = np.random.default_rng(0)
EXTENDED = {"extensions": {"smoothing": 1.0}}
AGENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "vast": ("vast", EXTENDED),
    "plain": ("vast", {"extensions": {}}),
    "nec": ("nec", {}),
    "lsh": ("lsh", {}),
}


def runs(task: str, arm: str, seeds: int = 3, n: int = 8, **options: Any) -> list[RunRecord]:
    agent, settings = AGENTS.get(arm, ("vast", {}))
    options = {"agent": agent, "settings": settings, **options}
    metrics = {
        REWARD: RNG.random((seeds, n)),
        "table/revisited": RNG.random((seeds, n)),
        "eval/with_teleporter": RNG.random((seeds, n)),
    }
    return [
        record(
            {name: values[seed] for name, values in metrics.items()},
            task=task,
            arm=arm,
            seed=seed,
            **options,
        )
        for seed in range(seeds)
    ]


def drawn(ax: Axes) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the lines of a panel by their names: ARM is the mean, ARM:SEED a single run."""
    return {
        str(line.get_gid()): (np.asarray(line.get_xdata()), np.asarray(line.get_ydata()))
        for line in ax.get_lines()
        if line.get_gid()
    }


def panels(figure: Figure) -> list[Axes]:
    """Return the panels in which lines with names are drawn."""
    return [ax for ax in figure.axes if any(":" in name for name in drawn(ax))]


def assert_shows(
    ax: Axes, records: Sequence[RunRecord], name: str, metric: str = REWARD, scale: float = 1.0
) -> None:
    """Assert that a panel shows each run of an arm, and their mean."""
    lines = drawn(ax)
    for one in records:
        steps, values = one.curve(metric)
        assert lines[f"{name}:{one.seed}"][0].tolist() == steps.tolist()
        assert lines[f"{name}:{one.seed}"][1] == pytest.approx(scale * values)
    mean = np.mean([one.metrics[metric] for one in records], axis=0)
    assert lines[name][1] == pytest.approx(scale * mean)


def legend_texts(figure: Figure) -> str:
    (legend,) = figure.legends
    return legend.get_title().get_text() + "|".join(text.get_text() for text in legend.texts)


def test_fig3_shows_every_run_of_both_tasks_in_the_colours_of_the_agents() -> None:
    tasks = ("large-maze", "large-maze-hazards")
    records = {(task, arm): runs(task, arm) for task in tasks for arm in AGENTS}
    figure = fig3.draw([one for some in records.values() for one in some])
    without, hazards = panels(figure)
    for ax, task in ((without, tasks[0]), (hazards, tasks[1])):
        for arm in AGENTS:
            assert_shows(ax, records[task, arm], arm)
    colours = {str(line.get_gid()): line.get_color() for line in without.get_lines()}
    assert colours["vast"] == AGENT_COLOURS["vast"]
    assert colours["plain"] == colours["plain:2"] == AGENT_COLOURS["plain-vast"]
    assert "mean of 3 seeds" in legend_texts(figure)
    hazard_zones = [
        patch for ax in figure.axes for patch in ax.patches if patch.get_gid() == "hazard"
    ]
    assert len(hazard_zones) == 6


def test_a_task_that_was_not_run_says_so_and_a_figure_without_any_is_refused() -> None:
    figure = fig3.draw(runs("large-maze", "vast"))
    assert [text.get_text() for ax in figure.axes for text in ax.texts if text.get_text()].count(
        "not run yet"
    ) == 1
    with pytest.raises(UserError, match="fig3 needs runs on large-maze, got runs on plus-maze"):
        fig3.draw(runs("plus-maze", "vast"))


def bits(task: str, *numbers: int) -> dict[int, list[RunRecord]]:
    return {d: runs(task, f"d{d}", settings={"model": {"n_bits": d}}) for d in numbers}


def test_fig4_shows_the_mean_and_its_standard_error_by_the_number_of_bits() -> None:
    arms = bits("large-maze", 64, 16)
    figure = fig4.draw([one for some in arms.values() for one in some])
    reward, revisited = panels(figure)
    for d, records in arms.items():
        assert_shows(reward, records, f"d{d}")
        assert_shows(revisited, records, f"d{d}", "table/revisited", 100.0)
    values = np.array([one.metrics[REWARD] for one in arms[64]])
    error = values.std(axis=0, ddof=1) / np.sqrt(3)
    band = reward.collections[0].get_paths()[0].vertices
    assert np.asarray(band)[:, 1].max() == pytest.approx((values.mean(axis=0) + error).max())
    assert "band: ± SEM, too narrow with 3 seeds" in legend_texts(figure)


def test_figS1_has_a_column_for_each_maze() -> None:
    large, small = bits("large-maze", 64, 32), bits("plus-maze", 32, 8)
    figure = figS1.draw([one for arms in (large, small) for some in arms.values() for one in some])
    shown = panels(figure)
    assert len(shown) == 4, "reward and revisited pairs, in two mazes"
    assert_shows(shown[0], large[64], "d64")
    assert_shows(shown[1], small[8], "d8")
    assert_shows(shown[3], small[32], "d32", "table/revisited", 100.0)
    said = [text.get_text() for ax in figure.axes for text in ax.texts]
    assert said.count("not recorded") == 4, "lookup distance and reassigned frames, in two mazes"


def forked(arm: str, fork: str, **options: Any) -> list[RunRecord]:
    return runs("h-maze", arm, fork=fork, interventions=("5000:map=HON",), **options)


def test_fig5_shows_vast_by_condition_and_all_agents_after_the_rewarded_run() -> None:
    conditions = ("no-run", "rewarded", "penalised")
    plain = {fork: forked("plain", fork, seeds=5) for fork in conditions}
    nec = {fork: forked("nec", fork) for fork in conditions[1:]}
    trunk = runs("h-maze", "plain", n=5)
    records = [*trunk, *(one for arms in (plain, nec) for some in arms.values() for one in some)]
    figure = fig5.draw(records)
    reward, everyone, teleported, everyone_teleported = panels(figure)
    for fork, some in plain.items():
        assert_shows(reward, some, f"plain/{fork}")
        assert_shows(teleported, some, f"plain/{fork}", "eval/with_teleporter")
    assert_shows(everyone, nec["rewarded"], "nec/rewarded")
    assert_shows(everyone_teleported, nec["rewarded"], "nec/rewarded", "eval/with_teleporter")
    assert "nec/penalised" not in drawn(everyone)
    assert drawn(reward)["intervention"][0].tolist() == [5000]
    assert reward.get_xlim() == (2000, 8000), "as much before the teleporter as after it"
    assert "mean of 3 or 5 seeds" in legend_texts(figure)
    paths = [line for ax in figure.axes for line in ax.get_lines() if line.get_gid() == "path"]
    assert len(paths) == 4, "two forced runs, before and after the teleporter"


def test_the_forced_runs_end_in_the_zones_of_the_h_maze() -> None:
    zones = {area.kind: area for area in floor_plan("h-maze", "HON").areas}
    for run, kind in (("rewarded", "goal"), ("penalised", "penalty")):
        x, y, _ = forced_path("h-maze", f"h-maze-{run}")[-1]
        zone = zones[kind]
        assert zone.low_x < x < zone.high_x
        assert zone.low_y < y < zone.high_y


def test_figS2_shows_both_kinds_of_runs() -> None:
    rewarded, penalised = forked("nec", "rewarded"), forked("nec", "penalised")
    figure = figS2.draw([*rewarded, *penalised])
    left, right = panels(figure)[:2]
    assert_shows(left, rewarded, "nec/rewarded")
    assert_shows(right, penalised, "nec/penalised")


def test_fig6_has_a_panel_for_each_replay_and_agents_without_one_in_both() -> None:
    def reversed_at(arm: str, **settings: Any) -> list[RunRecord]:
        agent, own = AGENTS[arm.split("-")[0]]
        every = {**own, **settings}
        when = ("4000:reverse",)
        return runs("plus-maze", arm, agent=agent, settings=every, interventions=when)

    small = reversed_at("plain-15k", replay={"capacity": 15_000})
    large = reversed_at("plain-75k", replay={"capacity": 75_000})
    deleting = reversed_at("plain-del", replay={"capacity": 15_000, "delete_evicted": True})
    nec = reversed_at("nec-75k", replay=75_000)
    lsh = reversed_at("lsh")
    figure = fig6.draw([*small, *large, *deleting, *nec, *lsh])
    a, b = panels(figure)
    assert_shows(a, small, "plain-15k")
    assert_shows(a, deleting, "plain-del")
    assert_shows(a, lsh, "lsh")
    assert_shows(b, large, "plain-75k")
    assert_shows(b, nec, "nec-75k")
    assert_shows(b, lsh, "lsh")
    assert "plain-75k" not in drawn(a)
    assert "plain-15k" not in drawn(b)
    assert drawn(a)["intervention"][0].tolist() == [4000]
    assert (a.get_title(loc="left"), b.get_title(loc="left")) == (
        "replay of 15,000 frames",
        "replay of 75,000 frames",
    )


def test_fig7_and_figS3_show_pong_by_the_history_of_frames() -> None:
    curves = {
        name: RNG.random(6)
        for name in (
            "eval/score",
            "train/reconstruction",
            "train/transition",
            "train/entropy",
        )
    }
    records = [
        record(curves, task="pong", arm=f"k{k}", agent="vast", settings={"model": {"history": k}})
        for k in (0, 3)
    ]
    (scores,) = panels(fig7.draw(records))
    assert_shows(scores, records[:1], "k0", "eval/score")
    moving = {"model": {"history": 3, "target": {"past": 2}}}
    further = [
        record(curves, task="pong", arm="k3-motion", agent="vast", settings=moving),
        record(curves, task="pong", arm="nec", agent="nec"),
    ]
    (scores,) = panels(fig7.draw([*records, *further]))
    assert {"k0", "k3", "k3-motion", "nec"} <= set(drawn(scores))
    terms = panels(fig7.draw_terms([*records, *further]))
    assert all("k3-motion" not in drawn(ax) for ax in terms)  # its reconstruction is of more
    longer = record(
        {"eval/score": RNG.random(9)},
        task="pong",
        arm="k3",
        agent="vast",
        settings={"model": {"history": 3}},
    )
    (scores,) = panels(fig7.draw([longer, *records]))  # one seed that went on, whatever the order
    assert len(drawn(scores)["k3:0"][1]) == 9
    reconstruction, rest = panels(fig7.draw_terms(records))
    assert_shows(reconstruction, records[1:], "k3", "train/reconstruction")
    difference = curves["train/transition"] - curves["train/entropy"]
    assert drawn(rest)["k3"][1] == pytest.approx(difference)


def test_a_figure_says_which_runs_it_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    motion = {"model": {"history": 3, "target": {"past": 2}}}
    moving = [record([0.0], task="pong", arm="k3-motion", agent="vast", settings=motion)]
    needed = "figS3 needs runs on pong of VaST with the paper's target, got others"
    with pytest.raises(UserError, match=needed):
        fig7.draw_terms(moving)
    monkeypatch.setattr("vast.analysis.figures.published_names", list)
    command = "fig4 has no published results yet: vast grid fig4 --out grids/fig4-cpu, then"
    with pytest.raises(UserError, match=command):
        draw_figure("fig4", tmp_path / "figures")
    assert not list(tmp_path.iterdir())


def test_agents_that_are_called_the_same_are_told_apart() -> None:
    # as runs in directories of their own are: their arm is their agent
    extended = runs("large-maze", "vast", seeds=1)
    plain = [replace(one, arm="vast") for one in runs("large-maze", "plain")][1:]
    apart = told_apart([*extended, *plain])
    (shown,) = panels(fig3.draw(apart))
    (with_extension,) = {one.arm for one in apart if one.seed == 0}
    assert with_extension == "vast extensions.smoothing=1.0"
    assert_shows(shown, apart[:1], with_extension)
    assert_shows(shown, apart[1:], apart[1].arm)
    assert [one.arm for one in told_apart(extended)] == ["vast"]
    # Of one kind, the legend says which is which.
    bits_too = [*bits("large-maze", 64)[64], *runs("large-maze", "other")]
    labels = {one.name: one.label for one in bit_lines([*bits_too, *plain], REWARD)}
    assert labels == {"d64": "d = 64", "other": "d = 32, other", "vast": "d = 32, vast"}


def test_a_run_counts_once_and_the_longer_one_of_two() -> None:
    (short,), (long,) = runs("pong", "vast", seeds=1), runs("pong", "vast", seeds=1, n=9)
    assert longest([short, long]) == longest([long, short]) == [long]
    with pytest.raises(UserError, match="seed 0 of 'vast' on pong is given twice"):
        longest([long, short, long])
    with pytest.raises(UserError, match="each seed of VaST with extensions must be there once"):
        fig3.draw([*runs("large-maze", "vast"), *runs("large-maze", "vast")])


def test_a_figure_of_runs_without_a_test_is_empty_and_says_so(tmp_path: Path) -> None:
    begun = record({"table/revisited": [0.5]}, task="large-maze", arm="d64", agent="vast")
    assert "no run has come to a test yet" in legend_texts(fig4.draw([begun]))
    write_grid(tmp_path, grid_of(experiment_named("fig4", "cpu"), "cpu"))
    with pytest.raises(UserError, match="fig4 needs runs that have begun, got none in"):
        draw_figure("fig4", tmp_path / "figures", [tmp_path])


def test_the_mean_ends_where_an_unfinished_run_does() -> None:
    curves = {0: [1.0, 2.0], 1: [3.0, 4.0, 5.0]}
    named: dict[int, Any] = {
        seed: (1000.0 * np.arange(len(values)), np.array(values)) for seed, values in curves.items()
    }
    line = Line("a", "a", "black", named)
    assert line.mean()[1].tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("counts", "note"),
    [
        (
            [3, 5],
            "thin: single runs; bold: mean of 3 or 5 seeds\n"
            "band: ± SEM, too narrow with 3 or 5 seeds",
        ),
        ([12], "thin: single runs; bold: mean of 12 seeds\nband: ± SEM"),
    ],
)
def test_a_band_of_few_seeds_says_that_it_is_too_narrow(counts: list[int], note: str) -> None:
    point = (np.zeros(1), np.zeros(1))
    lines = [Line("a", "a", "black", dict.fromkeys(range(n), point)) for n in counts]
    assert legend_note(lines, band=True) == note
