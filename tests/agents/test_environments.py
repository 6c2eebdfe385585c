"""Where an agent can learn: environments by their id, and wrappers for those that do not fit."""

import re
import subprocess
import sys
from typing import Any

import gymnasium
import numpy
import pytest
from gymnasium import spaces, wrappers

import vast
from tests.agents.worlds import Grid
from vast import LSH, MFEC, NEC, PrioritizedDDQN, VaST
from vast.agents.base import Agent
from vast.errors import UserError
from vast.planning import TransitionTable

ALL: tuple[type[Agent], ...] = (VaST, LSH, MFEC, NEC, PrioritizedDDQN)


@pytest.mark.parametrize("kind", ALL)
def test_every_agent_takes_an_id_and_says_what_it_is(kind: type[Agent]) -> None:
    agent = kind("CartPole-v1", preset="debug").learn(30)
    assert agent.env is not None
    assert agent.env.spec is not None
    assert agent.env.spec.id == "CartPole-v1"
    assert re.fullmatch(rf"<{kind.__name__} on CartPole-v1: 30 steps, \d+ [a-z ]+.*>", repr(agent))
    assert agent.evaluate("CartPole-v1", 20)["reward_per_step"] == 1.0
    agent.close()


def test_agents_and_tables_print_what_they_hold() -> None:
    agent = LSH("vast/TMaze2D-v0", preset="debug").learn(25)
    assert repr(agent) == f"<LSH on t-maze-2d: 25 steps, {len(agent.table)} states>"
    assert repr(LSH(Grid(), preset="debug")) == "<LSH on Grid: 0 steps, 0 states>"
    assert repr(LSH(agent.spaces, preset="debug")).startswith("<LSH on observations (2,): ")
    table = TransitionTable(n_actions=3, discount=0.9)
    table.add(1, 0, 0.0, 2)
    table.add(2, 1, 1.0, None)
    assert repr(table) == "<TransitionTable: 2 states, 2 transitions, 3 actions, discount 0.9>"


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("CartPol-v1", "CartPole-v1"),
        ("CartPole-v99", "CartPole-v1"),
        ("cartpole-v1", "CartPole-v1"),
        ("TMaze2D-v0", "vast/TMaze2D-v0"),
        ("t-maze", "vast/TMaze-v0"),
        ("vastt/PlusMaze-v0", "vast/PlusMaze-v0"),
    ],
)
def test_an_unknown_id_gets_one_line_with_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(UserError) as error:
        VaST(name)
    assert str(error.value) == (
        f"unknown environment {name!r}: must be the id of a registered Gymnasium environment; "
        f"did you mean {nearest!r}?"
    )


def test_what_is_no_environment_is_refused_in_one_line() -> None:
    with pytest.raises(UserError, match="cannot make the environment nothing:A-v0: No module"):
        VaST("nothing:A-v0")
    wrong: Any = 3
    with pytest.raises(UserError, match="must be a Gymnasium environment or its id, got 3"):
        VaST(wrong)
    several: Any = gymnasium.make_vec("CartPole-v1", num_envs=2)
    with pytest.raises(UserError, match=r"in one environment.*with gymnasium.make, not"):
        VaST(several)


class Odd(gymnasium.Env[Any, Any]):
    """Draws observations from any space, and accepts actions of any other."""

    def __init__(self, seen: spaces.Space[Any], done: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = seen, done
        seen.seed(0)

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        return self.observation_space.sample(), 0.0, False, False, {}


IMAGE = spaces.Box(0, 255, (8, 8, 3), numpy.uint8)
VECTOR = spaces.Box(-1, 1, (3,))
TWO = spaces.Discrete(2)


@pytest.mark.parametrize(
    ("seen", "done", "wrapper"),
    [
        (spaces.Dict({"a": VECTOR, "b": TWO}), TWO, "FlattenObservation"),
        (spaces.Dict({"image": IMAGE}), TWO, "FlattenObservation"),
        (spaces.Tuple((VECTOR, VECTOR)), TWO, "FlattenObservation"),
        (spaces.Discrete(16), TWO, "FlattenObservation"),
        (spaces.MultiDiscrete([3, 4]), TWO, "FlattenObservation"),
        (spaces.MultiBinary(5), TWO, "FlattenObservation"),
        (spaces.Box(0, 1, (4, 4, 3)), TWO, "FlattenObservation"),
        (spaces.Box(0, 1, (2, 4)), TWO, "FlattenObservation"),
        (spaces.Box(0, 9, (4,), numpy.int64), TWO, "DtypeObservation"),
        (spaces.Box(0, 255, (8, 8), numpy.uint8), TWO, "ReshapeObservation"),
        (spaces.Box(0, 255, (3, 8, 9), numpy.uint8), TWO, "TransformObservation"),
        (VECTOR, spaces.Box(-1, 1, (2,)), "DiscretizeAction"),
        (VECTOR, spaces.MultiDiscrete([2, 3]), "TransformAction"),
        (VECTOR, spaces.Discrete(2, start=1), "TransformAction"),
    ],
)
def test_the_wrapper_that_an_error_names_makes_it_work(
    seen: spaces.Space[Any], done: spaces.Space[Any], wrapper: str
) -> None:
    env = Odd(seen, done)
    with pytest.raises(UserError, match=wrapper) as error:
        VaST(env)
    said = str(error.value)
    assert "\n" not in said
    names = {**vars(wrappers), **vars(spaces), "numpy": numpy, "env": env}
    wrapped = eval(said.partition("; wrap it: ")[2], names)
    VaST(wrapped, preset="debug").learn(25).close()


@pytest.mark.parametrize(
    ("seen", "done"),
    [
        (spaces.Sequence(VECTOR), TWO),
        (VECTOR, spaces.Box(-numpy.inf, numpy.inf, (1,))),
        (VECTOR, spaces.Box(-1, 1, (20,))),
        (VECTOR, spaces.MultiDiscrete([100, 100])),
        (VECTOR, spaces.Discrete(257)),
    ],
)
def test_no_wrapper_is_named_where_none_helps(
    seen: spaces.Space[Any], done: spaces.Space[Any]
) -> None:
    with pytest.raises(UserError, match=r"space must be") as error:
        VaST(Odd(seen, done))
    assert "wrap it" not in str(error.value)
    assert "\n" not in str(error.value)


def test_the_public_names_are_listed_before_they_are_imported() -> None:
    assert set(dir(vast)) == {*vast.__all__, "__version__"}


def test_gymnasium_makes_our_environments_without_importing_vast() -> None:
    """Gymnasium 1.0 and later load no entry points: the id names the module instead."""
    code = "import gymnasium; print(gymnasium.make('vast:vast/TMaze2D-v0').spec.id)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "vast/TMaze2D-v0\n"
