"""Probes: what is measured on trained agents; and the teleporter as an event of an episode."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.agents.test_contract import assert_same
from tests.experiments.sameness import vast
from vast.experiments.interventions import FORCED_RUNS, LETTERS
from vast.experiments.one_run import Views
from vast.experiments.probes import follow_up, run_probes
from vast.experiments.probes.decisions import FIELDS
from vast.experiments.probes.tree import tree_likeness
from vast.experiments.probes.values import by_state
from vast.experiments.run_directory import read_probes
from vast.planning import TransitionTable
from vast.tasks import make_env
from vast.training.actor import Actor
from vast.training.rollout import run_test_epoch

RUN = FORCED_RUNS["h-maze-rewarded"]


def table_of(*transitions: tuple[int, int, int | None]) -> TransitionTable:
    table = TransitionTable(n_actions=2)
    for state, action, following in transitions:
        table.add(state, action, 0.0, following)
    return table


def test_a_tree_has_one_predecessor_per_state_and_nothing_is_revisited() -> None:
    found = tree_likeness(table_of((1, 0, 2), (1, 1, 3), (2, 0, 4), (2, 1, 5), (3, 0, None)))
    assert (found["mean_predecessors"], found["several_predecessors"]) == (1.0, 0.0)
    assert (found["pairs"], found["transitions"], found["revisited"]) == (5, 5, 0.0)


def test_ways_that_meet_have_several_predecessors() -> None:
    # 4 is reached from 2 and from 3; both actions of 2 count as one predecessor.
    found = tree_likeness(
        table_of((1, 0, 2), (1, 1, 3), (2, 0, 4), (2, 1, 4), (3, 0, 4), (3, 0, 4), (4, 0, None))
    )
    assert found["predecessors"][:3] == [0, 2, 1]
    assert found["mean_predecessors"] == pytest.approx(4 / 3)
    assert found["revisited"] == pytest.approx(1 / 7)


def test_the_mean_pose_of_a_state_turns_round_the_circle() -> None:
    poses = np.array([(0.0, 0.0, 350.0), (10.0, 4.0, 30.0), (7.0, 7.0, 90.0)])
    views = Views(poses, np.zeros((3, 1)), np.array([5, 5, 9], np.uint64))
    found = by_state(views, np.array([1.0, 1.0, np.nan]), np.array([2.0, 2.0, 3.0]))
    assert found["sightings"] == [2, 1]
    assert found["mean_poses"] == [[5.0, 2.0, 10.0], [7.0, 7.0, 90.0]]
    assert (found["before"], found["after"]) == ([1.0, None], [2.0, 3.0])


class FromStart(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The H-maze with its teleporter; every episode starts where the forced run does."""

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        return self.env.reset(seed=options.get("seed"), options={"start": RUN.start})


class Scripted:
    """An agent and its policy: the forced run, again and again; it learns nothing."""

    steps = 0

    def __init__(self) -> None:
        self._at = 0

    def policy(self, epsilon: float = 0.0, seed: Any = 0) -> "Scripted":
        return Scripted()

    def begin(self, observation: NDArray[Any], pose: Any = None) -> None:
        self._at = 0

    def act(self) -> int:
        self._at += 1
        return LETTERS.index(RUN.actions[self._at - 1])

    decide = act

    def observe(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def h_maze() -> Iterator[Any]:
    with closing(FromStart(make_env("h-maze"))) as env:
        world: Any = env.unwrapped
        world.set_map(RUN.map_name)
        yield env


@pytest.mark.slow
def test_a_step_through_the_teleporter_is_an_event_of_its_episode(h_maze: Any) -> None:
    h_maze.reset(seed=0)
    events = [h_maze.step(np.int64(LETTERS.index(letter)))[4]["event"] for letter in RUN.actions]
    assert [event for event in events if event] == ["teleporter", "goal"]
    agent: Any = Scripted()
    length = len(RUN.actions)
    for steps, share in ((length, 1.0), (length + 3, 0.5), (10, 0.0)):
        found = run_test_epoch(agent, h_maze, steps, 0.0, np.random.SeedSequence(0))
        assert found.metrics()["eval/with_teleporter"] == share
    actor = Actor(h_maze, np.random.SeedSequence(0))
    for _ in range(length):
        actor.step(agent)
    assert actor.metrics()["train/with_teleporter"] == 1.0


@pytest.mark.slow
def test_probes_are_taken_once_and_leave_the_run_alone(tmp_path: Path) -> None:
    vast("train", "plus-maze", "--preset", "debug", "--out", tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    run_probes(tmp_path / "run", ("tree", "frames"))
    found = read_probes(tmp_path / "run")
    assert set(found) == {"tree", "frames"}
    assert found["tree"]["transitions"] == 399
    assert 0 <= found["frames"]["share"] < 1
    after = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert after.keys() - before.keys() == {tmp_path / "run" / "probes.json"}
    assert before.items() <= after.items()
    stamp = (tmp_path / "run" / "probes.json").stat().st_mtime_ns
    run_probes(tmp_path / "run", ("frames",))
    assert (tmp_path / "run" / "probes.json").stat().st_mtime_ns == stamp


@pytest.mark.slow
def test_decisions_are_tested_with_each_extension_and_on_the_table_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vast.experiments.probes.decisions.STEPS", 100)
    plain = ("--plain",)
    vast("train", "plus-maze", "--preset", "debug", "--out", tmp_path / "run", *plain)
    seen = []

    def looked(run: Any, env: Any, steps: int) -> dict[str, Any]:
        seen.append(([*run.agent.extensions.parts], run.agent.table.state_dict()))
        return follow_up.tested(run, env, steps)

    monkeypatch.setattr("vast.experiments.probes.decisions.tested", looked)
    run_probes(tmp_path / "run", ("decisions",))
    found = read_probes(tmp_path / "run")["decisions"]
    assert [*found] == [*FIELDS, "planned to the end"]
    assert all(each["steps"] == 100 for each in found.values())
    kinds = [{type(part).__name__ for part in parts} for parts, _ in seen]
    both = {"RepeatPenalty", "Smoothing"}
    assert kinds == [set(), {"RepeatPenalty"}, {"Smoothing"}, {"Smoothing"}, both, set()]
    assert_same([table for _, table in seen[:5]], [seen[0][1]] * 5)
