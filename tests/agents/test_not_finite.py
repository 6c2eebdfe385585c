"""What is not finite is refused where it enters, before it reaches a weight."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from tests.agents.test_contract import AGENTS, make
from tests.experiments.sameness import vast
from tests.training.runs import identical
from vast.agents.ddqn import PrioritizedDDQN, PrioritizedDDQNConfig
from vast.agents.mfec import MFEC
from vast.agents.nec.agent import NEC
from vast.agents.nec.config import NECConfig
from vast.errors import UserError
from vast.model.config import NetworkConfig
from vast.training.spaces import Spaces


class Failing(gymnasium.Env[Any, Any]):
    """Observes a number that is not finite after some steps."""

    def __init__(self, wrong: float = float("nan"), after: int = 150) -> None:
        self.observation_space = spaces.Box(-9, 9, (2,), np.float32)
        self.action_space = spaces.Discrete(2)
        self._wrong, self._after, self._steps = wrong, after, 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        seen = self.np_random.normal(size=2).astype(np.float32)
        if self._steps >= self._after:
            seen[1] = self._wrong
        return seen, 0.0, False, self._steps % 10 == 0, {}


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", list(AGENTS))
def test_an_observation_that_is_not_finite_is_refused_and_changes_nothing(
    name: str, wrong: float
) -> None:
    agent = make(name)
    agent.begin(np.zeros(2, np.float32))
    agent.observe(agent.decide(), 0.0, np.ones(2, np.float32), False, False)
    before = agent.state_dict()
    with pytest.raises(UserError, match=f"observation must be finite, got {wrong}"):
        agent.observe(0, 0.0, np.array([0, wrong], np.float32), False, False)
    assert identical(agent.state_dict(), before)
    agent.close()


@pytest.mark.parametrize("agent", ["vast", "nec"])
def test_a_run_stops_with_one_line_and_its_last_checkpoint_is_sound(
    agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gymnasium.register(id="Failing-v0", entry_point="tests.agents.test_not_finite:Failing")
    try:
        options = ("train", "gym:Failing-v0", "--agent", agent, "--preset", "debug")
        vast(*options, "--steps", "120", "--out", tmp_path / "run")
        before = {p: p.read_bytes() for p in (tmp_path / "run" / "checkpoint").iterdir()}
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            vast("resume", tmp_path / "run", "--steps", "400")
        assert stop.value.code == 2
        assert capsys.readouterr().err == "vast: observation must be finite, got nan\n"
        after = {p: p.read_bytes() for p in (tmp_path / "run" / "checkpoint").iterdir()}
        assert after == before
    finally:
        del gymnasium.registry["Failing-v0"]


def network(**fields: Any) -> dict[str, Any]:
    return {"replay": 300, "network": NetworkConfig(kind="mlp", mlp_hidden=(8,)), **fields}


def test_a_gradient_that_is_not_finite_stops_training_before_a_weight_moves() -> None:
    spaces_ = Spaces((2,), np.dtype(np.float32), 4)
    nec = NEC(spaces_, config=NECConfig(**network(embedding=4, capacity=50, n_steps=5)))
    ddqn = PrioritizedDDQN(spaces_, config=PrioritizedDDQNConfig(**network()))
    for agent in (nec, ddqn):
        before = agent.network.state_dict()
        loss = agent.network(np.ones((1, 1, 2), np.float32)).sum() * float("nan")
        with pytest.raises(UserError, match="loss and gradient must be finite, got a loss of nan"):
            agent._optimiser.descend(loss)
        after = agent.network.state_dict()
        assert all((before[name] == after[name]).all() for name in before)


def test_a_free_energy_that_is_not_finite_stops_training_before_a_weight_moves() -> None:
    from tests.model.worlds import SMALL, batch, tabulator
    from vast.model import ModelConfig

    tab = tabulator(ModelConfig(n_bits=8, network=SMALL))
    data = batch(np.random.default_rng(0), rows=4)
    tab.train(data)
    before = tab.state_dict()
    with np.errstate(all="ignore"):
        tab.model.initial.data.fill_(float("nan"))
    first = np.ones_like(data.first)
    with pytest.raises(UserError, match="must be finite"):
        tab.train(data._replace(first=first))
    after = tab.state_dict()
    assert all(
        np.array_equal(before[name], after[name])
        for name in before
        if name.startswith("model/encoder")
    )


def test_a_reward_too_large_for_the_table_is_refused_before_it_is_learned_from() -> None:
    agent = make("lsh")
    agent.begin(np.zeros(2, np.float32))
    before = agent.state_dict()
    with pytest.raises(UserError, match=r"^reward must be at most 1e\+52 in size, got -1e\+60$"):
        agent.observe(0, -1e60, np.ones(2, np.float32), False, False)
    assert identical(agent.state_dict(), before)


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("agent", [MFEC, NEC])
def test_observations_whose_distances_overflow_are_refused_in_one_line(agent: Any) -> None:
    with pytest.raises(UserError, match=r"^keys must be at most 1e\+18 in size"):
        agent(Failing(3e38), preset="debug", seed=0).learn(400, progress=False)
