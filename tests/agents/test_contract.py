"""What holds for every agent: exact resume, policies without a trace, the order of calls."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.agents.mazes import GridMaze, episode, live
from vast.agents.base import Agent
from vast.agents.ddqn import PrioritizedDDQN, PrioritizedDDQNConfig
from vast.agents.lsh import LSH, LSHConfig
from vast.agents.mfec import MFEC, MFECConfig
from vast.agents.nec.agent import NEC
from vast.agents.nec.config import NECConfig
from vast.agents.vast.agent import VaST
from vast.agents.vast.config import (
    ExtensionsConfig,
    PlanningConfig,
    ReplayConfig,
    TrainingConfig,
    VaSTConfig,
)
from vast.errors import UserError
from vast.model.config import ModelConfig, NetworkConfig
from vast.training.exploration import ExplorationConfig
from vast.training.spaces import Spaces

SCHEDULE = ExplorationConfig(burn_in=50, anneal_steps=100)
SMALL = NetworkConfig(kind="mlp", mlp_hidden=(8,))
HISTORY = 1

AGENTS: dict[str, tuple[type[Agent], Any]] = {
    "vast": (
        VaST,
        VaSTConfig(
            model=ModelConfig(
                n_bits=6,
                history=HISTORY,
                network=replace(SMALL, transition_hidden=(4,)),
                learning_rate=0.01,
                ema_decay=0.5,
            ),
            replay=ReplayConfig(capacity=60),
            training=TrainingConfig(batch=8, segment=2, burst=3, retabulate=5, overlap=True),
            planning=PlanningConfig(backups_per_step=5, backups_per_training=5),
            exploration=SCHEDULE,
            encode_batch=1,
            extensions=ExtensionsConfig(
                last_action=True,
                repeat_penalty=1.0,
                smoothing=1.0,
                caution=1.0,
                reward_horizon=20.0,
                reward_width=1.0,
                change_point=0.5,
                outcome_shift=3,
            ),
        ),
    ),
    "lsh": (LSH, LSHConfig(history=HISTORY, backups_per_step=5, exploration=SCHEDULE)),
    "mfec": (
        MFEC,
        MFECConfig(history=HISTORY, capacity=20, neighbours=3, exploration=SCHEDULE),
    ),
    "nec": (
        NEC,
        NECConfig(
            history=HISTORY,
            capacity=20,
            neighbours=5,
            replay=60,
            n_steps=5,
            embedding=4,
            network=SMALL,
            batch=8,
            standardise_after=30,
            exploration=SCHEDULE,
        ),
    ),
    "ddqn": (
        PrioritizedDDQN,
        PrioritizedDDQNConfig(
            history=HISTORY,
            replay=60,
            network=SMALL,
            batch=8,
            target_interval=40,
            compressed=True,
            standardise_after=30,
            exploration=SCHEDULE,
        ),
    ),
}

LEARNED = {
    "vast": "table",
    "lsh": "table",
    "mfec": "memories",
    "nec": "dictionary",
    "ddqn": "ranks",
}
"""where what each has learned is saved"""

agents = pytest.mark.parametrize("name", list(AGENTS))


def make(name: str, image: bool = False, seed: int = 0) -> Agent:
    spaces = Spaces((5, 5, 1), np.dtype(np.uint8), 4)
    if not image:
        spaces = Spaces((2,), np.dtype(np.float32), 4)
    agent, config = AGENTS[name]
    return agent(spaces, config=config, seed=seed)


def everything(agent: Agent) -> dict[str, Any]:
    """Return all that an agent is, frames included, shared with nothing."""
    store = agent.frame_store
    frames = {} if store is None else store.frames_since(store.oldest)
    return {**copy.deepcopy(agent.state_dict()), "frames": frames}


def assert_same(one: Any, two: Any, name: str = "") -> None:
    """Assert that two states are equal to the last bit."""
    assert type(one) is type(two), name
    if isinstance(one, dict):
        assert one.keys() == two.keys(), name
        for key in one:
            assert_same(one[key], two[key], f"{name}/{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(two), name
        for i, (left, right) in enumerate(zip(one, two, strict=True)):
            assert_same(left, right, f"{name}/{i}")
    elif isinstance(one, np.ndarray):
        assert one.dtype == two.dtype, name
        np.testing.assert_array_equal(one, two, err_msg=name)
    else:
        assert one == two, name


def plain(state: Any) -> bool:
    """Tell whether a state is made of what a checkpoint can write."""
    if isinstance(state, dict):
        return all(isinstance(key, str) and plain(value) for key, value in state.items())
    if isinstance(state, list):
        return all(map(plain, state))
    return state is None or type(state) in (int, float, str, np.ndarray)


@pytest.mark.slow
@agents
@pytest.mark.parametrize("image", [False, True])
def test_stopping_and_resuming_equals_never_having_stopped(name: str, image: bool) -> None:
    env = GridMaze(image, limit=23)
    agent = make(name, image)
    live(agent, env, 100)
    agent.metrics()
    store = agent.frame_store
    pieces = [] if store is None else [store.frames_since(store.oldest)]
    for stop in (107, 161, 240):  # within an episode, and within what training does now and then
        live(agent, env, stop - agent.steps, begin=False)
        state = agent.state_dict()
        assert plain(state)
        if store is not None:
            pieces.append(store.frames_since(pieces[-1]["frames_first"]))
        other = make(name, image, seed=1)
        other.load_state_dict(copy.deepcopy(state), pieces)
        assert_same(everything(other), everything(agent))
        ahead, theirs = copy.deepcopy(env), copy.deepcopy(env)
        twin = make(name, image, seed=2)
        twin.load_state_dict(state, pieces)
        live(other, ahead, 80, begin=False)
        live(twin, theirs, 80, begin=False)
        assert_same(everything(other), everything(twin))
        measured = other.metrics()
        assert measured == twin.metrics()
    # and the agent that was never loaded ends where the last that was loaded did
    live(agent, env, 80, begin=False)
    assert agent.metrics() == measured
    assert_same(everything(agent), everything(other))


@agents
def test_a_policy_leaves_no_trace(name: str) -> None:
    agent = make(name)
    live(agent, GridMaze(limit=23), 200)
    before = everything(agent)
    for epsilon in (0.0, 0.5):
        episode(agent, GridMaze(), epsilon)
    assert_same(everything(agent), before)


@agents
def test_a_policy_takes_the_action_of_highest_value(name: str) -> None:
    agent = make(name)
    live(agent, GridMaze(limit=23), 200)
    policy = agent.policy(0.0, 0)
    seen = np.array([[0, 0], [3, 1]], np.float32)
    policy.begin(seen[1])
    q = agent.values(seen)
    assert q[policy.act()] == q.max()


@agents
def test_the_same_seed_lives_the_same_life(name: str) -> None:
    lives = [make(name, seed=seed) for seed in (3, 3, 4)]
    for agent in lives:
        live(agent, GridMaze(limit=23), 150)
    one, same, other = map(everything, lives)
    assert_same(one, same)
    assert not np.array_equal(one["rng"]["state"]["state"], other["rng"]["state"]["state"])


@agents
def test_calls_out_of_order_and_wrong_values_are_refused(name: str) -> None:
    agent = make(name)
    seen = np.zeros(2, np.float32)
    with pytest.raises(ValueError, match="no episode has begun"):
        agent.decide()
    with pytest.raises(ValueError, match="no episode has begun"):
        agent.observe(0, 0.0, seen, False, False)
    agent.begin(seen)
    with pytest.raises(ValueError, match="begin needs the last episode to be over"):
        agent.begin(seen)
    with pytest.raises(ValueError, match="action must be between 0 and 3, got 4"):
        agent.observe(4, 0.0, seen, False, False)
    with pytest.raises(ValueError, match="reward must be finite, got nan"):
        agent.observe(0, float("nan"), seen, False, False)
    with pytest.raises(ValueError, match=r"observation must have shape \(2,\).*got shape \(3,\)"):
        agent.observe(0, 0.0, np.zeros(3, np.float32), False, False)
    agent.observe(0, 0.0, seen, False, True)
    agent.cut()  # nothing is going on: nothing to cut
    agent.begin(seen)
    agent.cut()
    agent.begin(seen)


@agents
def test_another_agents_state_is_refused(name: str) -> None:
    state = make("mfec" if name != "mfec" else "lsh").state_dict()
    with pytest.raises(ValueError, match="saved agent: name must be"):
        make(name).load_state_dict(state, [])


@agents
def test_a_state_that_lacks_something_is_refused(name: str) -> None:
    agent = make(name)
    live(agent, GridMaze(limit=23), 60)
    store = agent.frame_store
    pieces = [] if store is None else [store.frames_since(store.oldest)]
    state = agent.state_dict()
    for part in state:
        lacking = {key: value for key, value in state.items() if key != part}
        with pytest.raises(ValueError, match="saved"):
            make(name).load_state_dict(lacking, pieces)


@agents
def test_training_begins_after_burn_in_and_keeps_its_interval(name: str) -> None:
    agent, env = make(name), GridMaze(limit=23)
    live(agent, env, 49)
    assert agent.metrics()["agent/epsilon"] == 1.0
    due = {"nec": range(52, 99, 4), "ddqn": range(52, 99, 4), "vast": [50, *range(55, 99, 4)]}
    for _ in range(12):
        live(agent, env, 1, begin=False)
        # VaST's first results are those of its burst; later ones are used when the next is due.
        trained = {"train/loss", "train/free_energy"} & agent.metrics().keys()
        assert bool(trained) == (agent.steps in due.get(name, ()))


@agents
def test_steps_that_were_not_decided_are_learned_from_and_not_counted(name: str) -> None:
    agent = make(name)
    live(agent, GridMaze(limit=23), 60)
    agent.cut()
    before = everything(agent)
    agent.begin(np.array([1, 0], np.float32))
    agent.observe(2, 5.0, np.array([2, 0], np.float32), False, False)
    agent.observe(2, 5.0, np.array([3, 0], np.float32), True, False)
    assert agent.steps == 60
    assert not agent.train()
    after = everything(agent)
    for part in ("network", "encoder", "trainings"):
        assert_same(after.get(part), before.get(part))
    with pytest.raises(AssertionError):
        assert_same(after[LEARNED[name]], before[LEARNED[name]])


@agents
def test_training_again_when_none_is_due_changes_nothing(name: str) -> None:
    agent = make(name)
    live(agent, GridMaze(limit=23), 60)
    before = everything(agent)
    assert not agent.train()
    assert_same(everything(agent), before)


@agents
def test_what_a_policy_sees_is_shrunk_like_what_is_learned_from(name: str) -> None:
    make, config = AGENTS[name]
    config = replace(config, resize=(4, 5))
    agent: Any = make(Spaces((8, 10, 3), np.dtype(np.uint8), 4), config=config)
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 256, (80, 8, 10, 3)).astype(np.uint8)
    agent.begin(frames[0])
    for frame in frames[1:]:
        agent.observe(agent.decide(), 0.5, frame, False, False)
        while agent.train():
            pass
    policy = agent.policy(0.0, rng)
    policy.begin(frames[-2])
    policy.observe(frames[-1])
    assert agent._frames.history.shape == (HISTORY + 1, 4, 5, 3)
    np.testing.assert_array_equal(policy.q_values(), agent.values(agent._frames.history))
    if agent.frame_store is not None:
        assert agent.frame_store.frames([79]).shape == (1, 4, 5, 3)


@pytest.mark.parametrize("name", ["nec", "ddqn"])
def test_training_reaches_every_layer_of_the_convolutional_network(name: str) -> None:
    network = NetworkConfig(conv_channels=(4, 4, 4), dense=16)
    make, config = AGENTS[name]
    config = replace(config, network=network, resize=(12, 10), history=0, standardise_after=None)
    agent = make(Spaces((24, 20, 3), np.dtype(np.uint8), 4), config=config)
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 256, (120, 24, 20, 3)).astype(np.uint8)
    agent.begin(frames[0])
    before = agent.state_dict()["network"]
    for frame in frames[1:]:
        agent.observe(agent.decide(), float(rng.random()), frame, False, False)
        agent.train()
    after = agent.state_dict()["network"]
    weights = [part for part in before if part.startswith("model/encoder")]
    assert len(weights) == 2 * 5
    for part in weights:
        assert (before[part] != after[part]).any(), part


def test_epsilon_is_one_then_falls_on_a_line() -> None:
    schedule = ExplorationConfig(burn_in=10, first=0.9, final=0.1, anneal_steps=8)
    epsilons = [schedule.epsilon_at(step) for step in (0, 9, 10, 14, 18, 1000)]
    assert epsilons == pytest.approx([1, 1, 0.9, 0.5, 0.1, 0.1])
    with pytest.raises(UserError, match=r"final must be between 0 and 1, got 1\.5"):
        ExplorationConfig(final=1.5)


def test_ties_are_broken_at_random_and_explored_actions_are_uniform(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    q = np.array([1.0, 0.0, 1.0])

    def chosen(epsilon: float, times: int) -> NDArray[np.int64]:
        agent = MFEC(Spaces((1,), np.dtype(np.float32), 3), config=MFECConfig(capacity=5))
        monkeypatch.setattr(agent, "values", lambda _: q)
        policy = agent.policy(epsilon, rng)
        policy.begin(np.zeros(1, np.float32))
        return np.bincount([policy.act() for _ in range(times)], minlength=3)

    greedy = chosen(0.0, 2000)
    assert greedy[1] == 0
    assert abs(greedy[0] - 1000) < 4.5 * np.sqrt(500)
    mixed = chosen(0.3, 9000)
    assert abs(mixed[1] - 900) < 4.5 * np.sqrt(900)
