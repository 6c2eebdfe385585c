"""The verbs that users call, for any Gymnasium environment."""

import os
import re
import signal
import threading
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from tests.agents.worlds import TINY, Grid, picture, with_training
from tests.experiments.sameness import vast
from tests.training.runs import identical
from vast import LSH, MFEC, VaST, load_table
from vast.agents.extension import Extension
from vast.agents.registry import AGENTS
from vast.agents.vast.config import VaSTConfig
from vast.errors import UserError
from vast.experiments.runs import open_readonly
from vast.model.config import ModelConfig
from vast.training.callbacks import Callback, Row
from vast.training.protocol import Trainable


def same(one: VaST, other: VaST) -> bool:
    """Return whether two agents, and where they are in their worlds, are the same."""
    states = [agent.trainer.state_dict() for agent in (one, other)]
    for state in states:
        del state["wall_seconds"]
    return identical(*states)


@pytest.mark.parametrize(
    "name", ["CartPole-v1", pytest.param("Acrobot-v1", marks=pytest.mark.slow)]
)
def test_it_learns_acts_saves_and_resumes_exactly(name: str, tmp_path: Path) -> None:
    env, other, test = (gymnasium.make(name) for _ in range(3))
    agent = VaST(env, preset="debug", seed=3).learn(150)
    agent.save(tmp_path / "agent")
    loaded = VaST.load(tmp_path / "agent", other)
    assert same(agent, loaded)
    assert loaded.learn(150).steps == 300
    whole = VaST(gymnasium.make(name), preset="debug", seed=3).learn(300)
    assert same(loaded, whole)
    assert not same(VaST(env, preset="debug", seed=4).learn(300), whole)
    observation, _ = test.reset(seed=1)
    q = loaded.q_values(observation)
    np.testing.assert_array_equal(loaded.q_values(observation.tolist()), q)
    assert q.shape == (test.action_space.n,)  # type: ignore[attr-defined]
    assert loaded.act(observation) in np.flatnonzero(q == q.max())
    brought = loaded.evaluate(test, 120)
    assert identical(brought, whole.evaluate(test, 120))
    assert brought["reward_per_step"] == (1.0 if name == "CartPole-v1" else -1.0)
    for each in (agent, loaded, whole):
        each.close()


@pytest.mark.parametrize("first", [5, 20, 23])
@pytest.mark.parametrize("overlap", [False, True])
def test_whenever_it_was_saved_it_resumes_exactly(
    first: int, overlap: bool, tmp_path: Path
) -> None:
    config = with_training(burst=3, retabulate=9, overlap=overlap)
    agent = VaST(Grid(), config=config).learn(first)
    agent.save(tmp_path / "agent")
    loaded = VaST.load(tmp_path / "agent", Grid())
    assert same(agent, loaded)
    assert same(agent.learn(60), loaded.learn(60))
    agent.close()
    loaded.close()


def test_saving_twice_and_loading_leaves_what_was_saved_last(tmp_path: Path) -> None:
    agent = VaST(Grid(), config=TINY).learn(40)
    agent.save(tmp_path / "agent")
    agent.learn(40)
    agent.save(tmp_path / "agent")
    assert same(VaST.load(tmp_path / "agent", Grid()), agent)


def test_an_observation_may_come_with_its_history() -> None:
    config = VaSTConfig(
        model=ModelConfig(n_bits=8, history=2, network=TINY.model.network),
        training=TINY.training,
        exploration=TINY.exploration,
    )
    agent = VaST(Grid(), config=config).learn(60)
    frames = np.stack([picture(0, column) for column in range(4)])
    policy = agent.policy()
    policy.begin(frames[0])
    for frame in frames[1:]:
        policy.observe(frame)
    assert np.array_equal(agent.q_values(frames), policy.q_values())
    assert np.array_equal(agent.q_values(frames[1:]), policy.q_values())
    blank = np.concatenate([np.zeros_like(frames[:2]), frames[:1]])
    assert np.array_equal(agent.q_values(frames[0]), agent.q_values(blank))


class Spaces(gymnasium.Env[Any, Any]):
    """An environment of which only the spaces are ever asked for."""

    def __init__(self, seen: spaces.Space[Any], done: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = seen, done


IMAGE = spaces.Box(0, 255, (8, 8, 3), np.uint8)
TWO = spaces.Discrete(2)


@pytest.mark.parametrize(
    ("seen", "done", "said"),
    [
        (IMAGE, spaces.Box(-1, 1, (2,)), "action space must be Discrete.n.*got Box"),
        (IMAGE, spaces.MultiDiscrete([2, 2]), "action space must be .*got MultiDiscrete"),
        (IMAGE, spaces.Discrete(257), "n at most 256.*got Discrete.257"),
        (IMAGE, spaces.Discrete(2, start=1), "must be Discrete.n.*, starting at 0"),
        (spaces.Discrete(16), TWO, "observation space must be a Box.*got Discrete.16"),
        (spaces.Dict({"x": IMAGE}), TWO, "observation space must be a Box.*got Dict"),
        (spaces.Box(0, 1, (8, 8, 3), np.float32), TWO, "got shape .8, 8, 3. and type float32"),
        (spaces.Box(0, 9, (4,), np.int64), TWO, "got shape .4,. and type int64"),
        (spaces.Box(0, 255, (3, 8, 9), np.uint8), TWO, "must be .rows, columns, channels., got"),
        (spaces.Box(0, 255, (12, 84, 84), np.uint8), TWO, "must be .rows, columns, channels., got"),
        (spaces.Box(0, 255, (8, 8), np.uint8), TWO, "got shape .8, 8. and type uint8"),
    ],
)
def test_worlds_it_cannot_live_in_are_refused(
    seen: spaces.Space[Any], done: spaces.Space[Any], said: str
) -> None:
    with pytest.raises(UserError) as error:
        VaST(Spaces(seen, done))
    assert re.search(said, str(error.value))
    assert "\n" not in str(error.value)


def test_what_does_not_fit_is_refused_in_one_line(tmp_path: Path) -> None:
    env = Grid()
    with pytest.raises(UserError, match=r"unknown preset 'papre'.*did you mean 'paper'"):
        VaST(env, preset="papre")
    with pytest.raises(UserError, match=r"config must be a VaSTConfig, got"):
        VaST(env, config={"n_bits": 3})
    agent = VaST(env, config=TINY).learn(30)
    with pytest.raises(UserError, match="steps must be at least 0, got -1"):
        agent.learn(-1)
    with pytest.raises(UserError, match=r"must have shape \(4, 4, 1\).*got shape \(4,\)"):
        agent.act(np.zeros(4))
    with pytest.raises(UserError, match="needs another environment than the one"):
        agent.evaluate(env)
    with pytest.raises(UserError, match="epsilon must be between 0 and 1, got 2"):
        agent.evaluate(Grid(), epsilon=2)
    agent.save(tmp_path / "agent")
    with pytest.raises(UserError, match="does not fit: saved agent: n_actions must be 2, got 4"):
        VaST.load(tmp_path / "agent", gymnasium.make("CartPole-v1"))
    with pytest.raises(UserError, match="is not a checkpoint"):
        VaST.load(tmp_path / "none", Grid())


def test_an_interrupt_lets_the_step_be_finished_and_learning_go_on() -> None:
    agent = VaST(Grid(), config=TINY)
    before = signal.getsignal(signal.SIGINT)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        agent.learn(1_000_000)
    timer.join()
    assert signal.getsignal(signal.SIGINT) is before
    steps = agent.steps
    assert 0 < steps < 1_000_000
    agent.learn(10)
    whole = VaST(Grid(), config=TINY).learn(steps + 10)
    assert same(agent, whole)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(AGENTS))
def test_learn_equals_the_command_with_the_same_task_preset_and_seed(
    name: str, tmp_path: Path
) -> None:
    vast("train", "t-maze-2d", "--agent", name, "--preset", "debug", "--out", tmp_path / "run")
    agent = AGENTS[name].agent_class(gymnasium.make("vast/TMaze2D-v0"), preset="debug", seed=0)
    agent.learn(400)
    with open_readonly(tmp_path / "run") as run:
        trained, learned = run.agent.state_dict(), agent.state_dict()
    # The command logs more often, and each row takes out the means since the last one.
    del trained["means"], learned["means"]
    assert identical(trained, learned)
    agent.close()


class Watching(Callback):
    """Counts steps, keeps rows, and stops at a step if asked to."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.steps: list[int] = []
        self.rows: list[Row] = []
        self._stop_at = stop_at

    def on_step(self, agent: Trainable, total: int) -> bool:
        self.steps.append(agent.steps)
        return agent.steps == self._stop_at

    def on_metrics(self, row: Row) -> None:
        self.rows.append(row)


def test_callbacks_see_every_step_and_row_change_nothing_and_may_stop_it() -> None:
    one, other = Watching(), Watching(stop_at=1200)
    agent = LSH(Grid(), preset="debug")
    agent.learn(2000, callbacks=[one, other])
    assert agent.steps == 1200
    assert one.steps == list(range(1, 1201))
    assert one.steps == other.steps
    assert [row["step"] for row in one.rows] == [1000]
    assert {"wall_seconds", "train/reward_per_step", "table/states"} <= one.rows[0].keys()
    unwatched = LSH(Grid(), preset="debug").learn(1200)
    assert identical(agent.table.state_dict(), unwatched.table.state_dict())


def test_the_table_is_there_to_be_read_also_without_the_agent(tmp_path: Path) -> None:
    agent = VaST(Grid(), config=TINY).learn(60)
    agent.save(tmp_path / "agent")
    table = load_table(tmp_path / "agent")
    assert identical(table.state_dict(), agent.table.state_dict())
    table.add(1, 0, 5.0, None)
    assert identical(load_table(tmp_path / "agent").state_dict(), agent.table.state_dict())
    MFEC(Grid(), preset="debug").learn(10).save(tmp_path / "mfec")
    with pytest.raises(UserError, match="the agent 'mfec' has no table"):
        load_table(tmp_path / "mfec")
    with pytest.raises(UserError, match="is not a checkpoint"):
        load_table(tmp_path / "nowhere")


def test_an_agent_made_from_spaces_alone_acts_and_refuses_to_learn() -> None:
    agent = VaST(VaST(Grid(), config=TINY).spaces, config=TINY)
    assert agent.act(picture(0, 0)) in range(4)
    with pytest.raises(UserError, match="has no environment"):
        agent.learn(1)


def test_what_a_callback_raises_loses_no_metrics() -> None:
    class Raising(Callback):
        def on_metrics(self, row: Row) -> None:
            raise RuntimeError(row["step"])

    agent, seen = LSH(Grid(), preset="debug"), Watching()
    with pytest.raises(RuntimeError, match="1000"):
        agent.learn(1500, callbacks=[seen, Raising()])
    agent.learn(1000, callbacks=[seen])
    assert [row["step"] for row in seen.rows] == [1000, 2000]
    assert all("train/reward_per_step" in row for row in seen.rows)


def test_a_run_directory_is_not_written_to(tmp_path: Path) -> None:
    vast("train", "t-maze-2d", "--agent", "lsh", "--preset", "debug", "--out", tmp_path / "run")
    agent = LSH.load(tmp_path / "run", gymnasium.make("vast/TMaze2D-v0"))
    with pytest.raises(UserError, match="is a run directory: choose another path"):
        agent.save(tmp_path / "run")
    agent.save(tmp_path / "agent")


class Odd(gymnasium.Env[Any, Any]):
    """Tells of itself what is no pose, and is not exact about types."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.observation_space = spaces.Box(-1, 1, (2,), np.float32)
        self.action_space = TWO
        self._said = said

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        return np.zeros(2), self._said

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.ones(2), 0.0, False, False, self._said


@pytest.mark.parametrize("said", [{"x": None, "y": 1}, {"x": "a", "y": "b"}, {"x": [1, 2], "y": 0}])
def test_what_is_no_pose_stops_no_run_and_floats_are_cast(said: dict[str, Any]) -> None:
    agent = VaST(Odd(said), preset="debug").learn(20)
    assert np.isnan(agent.replay.poses([0])).all()
    assert agent.replay.frames([0]).dtype == np.float32


def test_an_extension_that_records_must_give_policies_their_own() -> None:
    with pytest.raises(TypeError, match="Forgetful must also override for_policy"):

        class Forgetful(Extension):
            def record(self, state: int, observation: Any, action: int) -> None:
                raise AssertionError
