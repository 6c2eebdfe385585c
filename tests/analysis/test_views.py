"""What the views draw: everything that is there, where it belongs, legible in light and dark."""

import re
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.path import Path as Shape

import vast.analysis as views
from tests.analysis.test_arms import VAST, logged
from tests.experiments.sameness import vast
from vast.analysis.arms import group
from vast.analysis.drawing import DARK, WALL, themed_svg
from vast.analysis.fields import wedges
from vast.analysis.gallery import different, spread
from vast.analysis.snapshots import Snapshot, plan_of, principal
from vast.analysis.states import ReceptiveFields, collect
from vast.envs.doom.environment import DoomMaze
from vast.errors import UserError
from vast.planning import TransitionTable


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("views") / "run"
    vast("train", "t-maze-2d", "--preset", "debug", "--out", folder)
    return folder


@pytest.fixture(scope="module")
def view(run: Path) -> Snapshot:
    return views.snapshot(run)


def marks(figure: Figure) -> list[PolyCollection]:
    ax = figure.axes[0]
    return [part for part in ax.collections if isinstance(part, PolyCollection)]


def test_every_public_name_is_there_whatever_was_imported_before() -> None:
    for name in views.__all__:
        assert callable(getattr(views, name)), name
    assert set(views._MODULES) & set(views.__all__) == set()


def test_a_snapshot_is_the_saved_agent_and_its_world(view: Snapshot) -> None:
    assert view.table is not None
    assert view.states is not None
    assert view.replay is not None
    assert view.steps == 400
    assert view.by_state
    assert view.has_places
    assert view.start in view.table.states()
    np.testing.assert_array_equal(view.values, view.states.value)
    assert view.plan is not None
    inside = np.array(view.plan.walls).reshape(-1, 2)
    placed = view.poses[np.isfinite(view.poses[:, 0]), :2]
    assert (placed >= inside.min(axis=0)).all()
    assert (placed <= inside.max(axis=0)).all()


def test_all_states_are_drawn_and_with_headings_they_point_there(view: Snapshot) -> None:
    known = np.isfinite(view.poses[:, 0])
    drawn = marks(views.draw_values(view.poses, view.values, view.plan))
    assert sum(len(part.get_paths()) for part in drawn) == known.sum()
    poses = np.array([[0.0, 0, 0], [10, 0, 90], [0, 10, np.nan], [np.nan, 0, 0]])
    arrows, dots = marks(views.draw_values(poses, np.zeros(4)))
    east, north = (np.asarray(path.vertices)[0] for path in arrows.get_paths())
    assert east == pytest.approx([max(east), 0])
    assert north - [10, 0] == pytest.approx([0, max(east)], abs=1e-9)
    assert len(dots.get_paths()) == 1


def test_wedges_fill_their_cell_and_lie_where_the_agent_looks() -> None:
    seen = np.ones((4, 2, 3), np.int64)
    fields = ReceptiveFields(np.zeros((1, 4, 2, 3)), seen, np.arange(4.0), np.arange(0, 6, 2.5))
    shapes = wedges(fields).reshape(4, 2, 3, 4, 2)
    for row, column in np.ndindex(2, 3):
        for heading, ahead in enumerate([(1, 0), (0, 1), (-1, 0), (0, -1)]):
            point = (column + 0.5 + 0.3 * ahead[0], 2.5 * row + 1.25 + 0.3 * ahead[1])
            there = [Shape(shapes[other, row, column]).contains_point(point) for other in range(4)]
            assert there == [other == heading for other in range(4)]


def test_receptive_fields_say_which_bits_never_change(view: Snapshot) -> None:
    assert view.states is not None
    assert view.replay is not None
    fields = views.receptive_fields(view.states, view.replay, 6)
    assert fields is not None
    fields.share[0][np.isfinite(fields.share[0])] = 0
    fields.share[2][np.isfinite(fields.share[2])] = 1
    figure = views.draw_receptive_fields(fields, [0, 1, 2], view.plan)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles[:3] == ["bit 0: never", "bit 1", "bit 2: always"]


def test_the_gallery_shows_states_that_differ_and_frames_from_old_to_new(view: Snapshot) -> None:
    states = view.states
    assert states is not None
    chosen = different(states, states.frame_counts, 5)
    assert len(set(chosen)) == 5
    assert states.frame_counts[chosen[0]] == states.frame_counts.max()
    assert (np.diff(states.frame_counts[chosen]) <= 0).all()
    assert spread(np.arange(10, 50), 4).tolist() == [10, 23, 36, 49]
    assert spread(np.array([7, 9])).tolist() == [7, 9]
    figure = views.draw_gallery(view, chosen)
    texts = [text.get_text() for ax in figure.axes for text in ax.texts]
    assert texts[0].startswith(f"V {states.value[chosen[0]]:.2f}")
    with pytest.raises(UserError, match="keeps no frames"):
        views.draw_gallery(replace(view, replay=None), chosen)
    assert different(collect(TransitionTable(2)), np.zeros(0)) == []


def test_the_layout_is_that_of_the_two_largest_singular_vectors() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(50, 6)) * [5, 1, 3, 0.1, 1, 1]
    features[7] = np.nan
    found = principal(features)
    kept = np.delete(features, 7, axis=0)
    u, s, _ = np.linalg.svd(kept - kept.mean(axis=0))
    expected = u[:, :2] * s[:2]
    assert np.isnan(found[7]).all()
    np.testing.assert_allclose(np.abs(np.delete(found, 7, axis=0)), np.abs(expected), atol=1e-9)


def test_a_curve_shows_mean_spread_every_run_and_interventions() -> None:
    marked = replace(VAST, interventions=("20:reverse", "900:reverse"))
    arms = group(
        [
            logged(replace(marked, seed=0), 0.0, 1.0, 2.0),
            logged(replace(marked, seed=1), 2.0, 3.0, 4.0),
            logged(VAST, 5.0, 5.0),
        ]
    )
    figure = views.draw_metric(arms, "eval/mean_return", "return", best=6.0)
    (ax,) = figure.axes
    drawn = [line.get_ydata() for line in ax.lines]
    for expected in ([1, 2, 3], [0, 1, 2], [2, 3, 4], [5, 5]):
        assert any(np.array_equal(line, expected) for line in drawn), expected
    assert len(ax.collections) == 1  # the band of the arm with two runs
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["reverse", "shortest path: 6.00"]  # the second one was not reached
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [f"{arms[0].name} (2 runs)", arms[1].name]
    assert not views.draw_metric(arms[:1], "eval/mean_return").legends


def test_an_svg_follows_the_readers_theme_and_asks_for_nothing(view: Snapshot) -> None:
    svg = themed_svg(views.draw_values(view.poses, view.values, view.plan, "all values"))
    assert ">all values<" in svg  # text is text
    light, dark = re.findall(r":root\{(.*?)\}", svg)
    variable = f"--c{WALL[1:]}"
    assert f"{variable}:{WALL};" in light
    assert f"{variable}:{DARK[WALL]};" in dark
    assert f"stroke: var({variable})" in svg
    assert f"stroke: {WALL}" not in svg
    assert all(link[0] == "#" or link[:5] == "data:" for link in re.findall(r'href="([^"]+)', svg))
    assert not re.search(r"url\((?!#)|@import|<script", svg)


@pytest.mark.slow
def test_agents_without_states_look_around(tmp_path: Path) -> None:
    for agent in ("nec", "lsh"):
        folder = tmp_path / agent
        vast("train", "t-maze-2d", "--agent", agent, "--preset", "debug", "--out", folder)
        seen = views.snapshot(folder)
        assert not seen.by_state
        assert seen.has_places
        assert len(seen.poses) == len(seen.values) > 1000
        assert np.isfinite(seen.values).all()
        assert (seen.states is None) == (agent == "nec")


def test_where_rewards_are_reversed_goals_and_penalties_are_swapped() -> None:
    env = gymnasium.make("vast/PlusMaze-v0")  # its engine starts with the first episode: never here
    world = env.unwrapped
    assert isinstance(world, DoomMaze)
    before = plan_of(env)
    world.reversed = True
    after = plan_of(env)
    assert before is not None
    assert after is not None
    swapped = {"goal": "penalty", "penalty": "goal"}
    assert [area.kind for area in after.areas] == [swapped[area.kind] for area in before.areas]
    assert {area.kind for area in before.areas} == {"goal", "penalty"}
    env.close()
