"""The seam for states: the same planning on learned, random or true states."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.agents.mazes import GridMaze, live, share_of_shortest_paths
from tests.agents.worlds import TINY
from tests.training.runs import identical
from vast.agents.config import TableConfig
from vast.agents.encoders import trainable
from vast.agents.lsh import LSH, LSHConfig, RandomProjections
from vast.agents.table import TableAgent
from vast.agents.vast.agent import VaST
from vast.agents.vast.config import ExtensionsConfig, PlanningConfig, VaSTConfig
from vast.errors import UserError
from vast.model.tabulator import Tabulator
from vast.training.exploration import ExplorationConfig
from vast.training.plain import to_plain
from vast.training.spaces import Spaces
from vast.training.trainer import seeds_from

SPACES = Spaces((2,), np.dtype(np.float32), 4)
SCHEDULE = ExplorationConfig(burn_in=500, anneal_steps=1500)


class Cells:
    """The true states of the grid maze."""

    @property
    def n_bits(self) -> int:
        return 6

    def encode(self, histories: NDArray[Any]) -> NDArray[np.uint64]:
        row, column = histories[:, -1].astype(np.uint64).T
        cells: NDArray[np.uint64] = row * np.uint64(8) + column
        return cells


def test_lsh_is_the_table_agent_with_random_projections() -> None:
    lsh = LSH(SPACES, config=LSHConfig(exploration=SCHEDULE), seed=5)
    seed = seeds_from(5).agent.spawn(3)[1]
    encoder = RandomProjections((2,), LSHConfig(), seed)
    table = TableAgent(SPACES, config=TableConfig(exploration=SCHEDULE), seed=5, encoder=encoder)
    for agent in (lsh, table):
        live(agent, GridMaze(), 700)
    one, other = lsh.state_dict(), table.state_dict()
    assert (one.pop("name"), other.pop("name")) == ("lsh", "table")
    assert identical(one, other)


@pytest.mark.parametrize("agent", [TableAgent, VaST])
def test_on_true_states_planning_finds_the_shortest_path_from_everywhere(
    agent: type[TableAgent],
) -> None:
    config: Any = TableConfig(exploration=SCHEDULE)
    if agent is VaST:
        config = VaSTConfig(planning=PlanningConfig(backups_per_step=1000), exploration=SCHEDULE)
    made = agent(SPACES, config=config, encoder=Cells())
    live(made, GridMaze(), 3000)
    assert share_of_shortest_paths(made, GridMaze()) == 1
    assert set(made.table.states().tolist()) <= {
        8 * row + col for row in range(5) for col in range(5)
    }
    assert "train/free_energy" not in made.metrics()


def test_an_agent_with_its_own_encoder_is_loaded_with_it(tmp_path: Path) -> None:
    agent = VaST(GridMaze(), config=TINY, encoder=Cells()).learn(80)
    agent.save(tmp_path / "agent")
    loaded = VaST.load(tmp_path / "agent", GridMaze(), encoder=Cells())
    assert identical(agent.learn(50).state_dict(), loaded.learn(50).state_dict())
    with pytest.raises(UserError, match="encoder is 'Cells' there, 'Tabulator' here"):
        VaST.load(tmp_path / "agent", GridMaze())


def test_the_tabulator_is_trainable_and_the_others_are_not() -> None:
    learned = VaST(SPACES, config=TINY).encoder
    assert isinstance(learned, Tabulator)
    assert trainable(learned) is learned
    assert trainable(Cells()) is None

    class Half(Cells):
        def train(self) -> None:
            raise AssertionError

    with pytest.raises(
        UserError, match=r"must also have steps, fitted, .*, load_state_dict, got Half"
    ):
        trainable(Half())


def test_what_an_agent_with_its_own_encoder_needs_is_said_in_one_line() -> None:
    with pytest.raises(UserError, match="TableAgent needs an encoder"):
        TableAgent(SPACES)
    wrong: Any = 3
    for agent in (TableAgent, LSH, VaST):
        with pytest.raises(UserError, match="encoder must have the method encode, got 3"):
            agent(SPACES, encoder=wrong)


class OneMethod:
    """An encoder with nothing but `encode`."""

    def encode(self, histories: NDArray[Any]) -> NDArray[np.uint64]:
        return Cells().encode(histories)


@pytest.mark.parametrize("agent", [TableAgent, LSH, VaST])
def test_an_encoder_needs_one_method(agent: type[TableAgent], tmp_path: Path) -> None:
    made = agent(GridMaze(), preset="debug", encoder=OneMethod()).learn(200)
    assert len(made.table) > 4
    made.save(tmp_path / "agent")
    loaded = agent.load(tmp_path / "agent", GridMaze(), encoder=OneMethod())
    assert identical(made.learn(50).state_dict(), loaded.learn(50).state_dict())


def test_a_table_agent_has_what_the_presets_of_table_agents_share() -> None:
    lsh = LSH(SPACES, preset="cpu").config
    table = TableAgent(SPACES, preset="cpu", encoder=Cells()).config
    assert to_plain(table, full=True).items() <= to_plain(lsh, full=True).items()
    with pytest.raises(UserError, match=r"unknown preset 'cup'.*did you mean 'cpu'"):
        TableAgent(SPACES, preset="cup", encoder=Cells())


def test_tags_never_reach_into_the_bits_of_a_code(caplog: pytest.LogCaptureFixture) -> None:
    tagged = replace(TINY, extensions=ExtensionsConfig(last_action=True))

    class All(Cells):
        @property
        def n_bits(self) -> int:
            return 64

    with caplog.at_level(logging.WARNING):
        assert not VaST(SPACES, config=tagged, encoder=All()).extensions.parts
        assert VaST(SPACES, config=tagged, encoder=Cells()).extensions.parts
    assert [record.getMessage() for record in caplog.records] == [
        "last_action is off: codes of 64 bits and 4 bits of actions do not fit into 64"
    ]
