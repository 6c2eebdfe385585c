"""How long a decision takes, by the number of entries in the memory.

NEC and MFEC are also compared with what no exact search can avoid: one matrix product of the query
with all keys of each action. Both take turns; the ratio is the median. Their memories are searched
by inverted files, as in their preset `paper`; recall is the share of nearest neighbours found.
"""

import time
from collections.abc import Callable
from itertools import islice
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.random_walk import random_walk
from vast.agents.base import Agent
from vast.agents.ddqn import PrioritizedDDQN
from vast.agents.mfec import MFEC
from vast.agents.nearest import Keys
from vast.agents.nec.agent import NEC
from vast.agents.neighbours import KeyValueMemory
from vast.agents.registry import agent_named
from vast.agents.table import TableAgent
from vast.replay.resizing import Resizer
from vast.tasks import make_env
from vast.training.plain import with_changes
from vast.training.spaces import spaces_of

FRAMES = 300
CALLS = 20
"""decisions timed in a turn"""
FLIPPED = 4
"""bits in which a state of the table differs from an observed one"""


def growth(task: str, agents: list[str], entries: tuple[int, ...], turns: int) -> list[Any]:
    """Return the milliseconds per decision of each agent, by entries per action."""
    frames = observed_in(task)
    return [
        {"agent": name, "entries_per_action": size, **measured(task, name, size, frames, turns)}
        for name in agents
        for size in entries
    ]


def observed_in(task: str) -> NDArray[Any]:
    """Return frames of a random walk."""
    return np.stack(list(islice(random_walk(task), FRAMES)))


def measured(task: str, name: str, size: int, frames: NDArray[Any], turns: int) -> dict[str, float]:
    """Return how long an agent with a memory of this size takes."""
    agent = new_agent(task, name, size)
    rng = np.random.default_rng(1)
    policy = agent.policy(0.0, rng)

    def decide() -> None:
        policy.begin(frames[rng.integers(len(frames))])
        policy.act()

    also: dict[str, float] = {}
    if isinstance(agent, TableAgent):
        also = fill_table(agent, frames, size, rng)
    elif isinstance(agent, MFEC | NEC):
        also = fill_memories(agent, frames, size, turns, rng)
    elif isinstance(agent, PrioritizedDDQN):
        also = fill_ranks(agent, size, turns, rng)
    result = {"ms_per_decision": milliseconds(decide, turns), **also}
    agent.close()
    return result


def new_agent(task: str, name: str, size: int) -> Agent:
    """Return an agent whose memory has room for this many entries per action."""
    env = make_env(task)
    spaces = spaces_of(env)
    env.close()
    spec = agent_named(name)
    config = with_changes(spec.preset("cpu", task, spaces.shape), size_changes(name, size))
    return spec.agent_class(spaces, config=config)


def size_changes(name: str, size: int) -> dict[str, Any]:
    """Return the changes of a config that set the size of the memory."""
    if name in ("mfec", "nec"):
        return {"capacity": size, "index": "inverted"}
    return {"replay": size} if name == "ddqn" else {}  # a table grows as it must


def as_stored(agent: Agent, frames: NDArray[Any]) -> NDArray[Any]:
    """Return frames as an agent stores them, each without history: [N, 1, *shape]."""
    resize = Resizer(frames.shape[1:], agent.config.resize)
    return np.stack([resize(frame) for frame in frames])[:, None]


def fill_table(
    agent: TableAgent, frames: NDArray[Any], size: int, rng: np.random.Generator
) -> dict[str, float]:
    """Add this many transitions per action, from states a few bits away from observed ones.

    The observed states themselves stay unknown, so each decision searches for the nearest ones;
    return how many bits these are away.
    """
    states = agent.encoder.encode(as_stored(agent, frames))
    config = agent.config
    n_bits = config.model.n_bits if agent.name == "vast" else config.n_bits
    width = n_bits // FLIPPED
    for action in range(agent.n_actions):
        chosen = states[rng.integers(len(states), size=size)]
        for part in range(FLIPPED):  # one bit in each part of the code
            bits = rng.integers(part * width, (part + 1) * width, size=size, dtype=np.uint64)
            chosen ^= np.uint64(1) << bits
        chosen = chosen[~np.isin(chosen, states)]
        n = len(chosen)
        agent.table.add_many(
            chosen, np.full(n, action), rng.random(n), np.roll(chosen, 1), np.zeros(n, np.bool_)
        )
    distances = [agent.table.estimate(state)[1].mean() for state in states.tolist()]
    return {"bits_away": float(np.mean(distances))}


def fill_memories(
    agent: MFEC | NEC, frames: NDArray[Any], size: int, turns: int, rng: np.random.Generator
) -> dict[str, float]:
    """Fill the memories with keys like the observed ones; return how long a lookup takes."""
    keys = np.stack([agent.embed(each) for each in as_stored(agent, frames)])
    apart = np.float32(0.1 * keys.std(0).mean())
    stored = []
    memories = agent.memories if isinstance(agent, MFEC) else agent.dictionary.memories
    for memory in memories:
        chosen = keys[rng.integers(len(keys), size=size)]
        chosen += apart * rng.standard_normal(chosen.shape, np.float32)
        stored.append(chosen)
        memory.load_state_dict(
            {"keys": chosen, "values": rng.random(size), "used": np.arange(size), "clock": size}
        )
    queries = keys + apart * rng.standard_normal(keys.shape, np.float32)
    look_up: Callable[[Any], Any] = (
        agent._look_up if isinstance(agent, MFEC) else agent.dictionary.look_up
    )

    def lookup() -> None:
        look_up(queries[rng.integers(len(queries))])

    def products() -> None:
        query = queries[rng.integers(len(queries))]
        for each in stored:
            np.matmul(each, query)

    both = [(seconds(lookup), seconds(products)) for _ in range(turns + 1)][1:]
    return {
        "ms_per_lookup": 1000 * median(mine for mine, _ in both),
        "of_products": median(mine / theirs for mine, theirs in both),
        "recall_percent": 100 * recall(memories[0], queries, agent.config.neighbours),
    }


def recall(memory: KeyValueMemory, queries: Keys, k: int) -> float:
    """Return the share of the nearest neighbours that a memory finds."""
    exact = KeyValueMemory(memory.capacity, memory.width)
    exact.load_state_dict(memory.state_dict())
    both = zip(exact.nearest(queries, k).rows, memory.nearest(queries, k).rows, strict=True)
    return float(np.mean([np.isin(wanted, found).mean() for wanted, found in both]))


def fill_ranks(
    agent: PrioritizedDDQN, size: int, turns: int, rng: np.random.Generator
) -> dict[str, float]:
    """Give this many steps a priority; return how long it takes to draw a minibatch."""
    none = np.zeros(0, np.int64)
    priorities = np.linspace(1, 0, size)
    agent.ranks.load_state_dict(
        {"order": np.arange(size), "priority": priorities}
        | dict.fromkeys(("new", "changed", "changed_to"), none)
    )

    def draw() -> None:
        agent.ranks.revise(0)
        drawn = agent.ranks.draw(rng, agent.config.batch, 0.5).numbers
        agent.ranks.set_priorities(drawn, rng.random(len(drawn)))

    return {"ms_per_draw": milliseconds(draw, turns)}


def seconds(call: Callable[[], object]) -> float:
    """Return the mean duration of some calls."""
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - begin) / CALLS


def milliseconds(call: Callable[[], object], turns: int) -> float:
    """Return how long a call takes; the first turn warms up."""
    return 1000 * median([seconds(call) for _ in range(turns + 1)][1:])
