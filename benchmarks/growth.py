"""How long a decision takes when the memory holds so and so many entries.

NEC and MFEC are also held against what no exact search can avoid: one matrix product of the query
with all keys of each action. Both take turns; the ratio is the median. Large memories are inverted,
as in their preset `paper`; recall is the share of the nearest neighbours that are found.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.agents.ddqn.mind import PrioritizedDDQNMind
from vast.agents.lsh.mind import LSHMind
from vast.agents.mfec.mind import MFECMind
from vast.agents.nec.mind import NECMind
from vast.agents.neighbours import Keys, Memory
from vast.agents.registry import KINDS
from vast.agents.vast.mind import VaSTMind
from vast.envs.tasks import make_env
from vast.replay.shrinking import Shrinking
from vast.training.actor import spaces_of

FRAMES = 300
CALLS = 20
"""decisions timed in a turn"""
FLIPPED = 4
"""bits in which a state of the table differs from one seen"""


def growth(task: str, agents: list[str], entries: tuple[int, ...], turns: int) -> list[Any]:
    """Return rows of milliseconds per decision, with so many entries per action."""
    frames = seen_in(task)
    return [
        {"agent": name, "entries_per_action": size, **measured(task, name, size, frames, turns)}
        for name in agents
        for size in entries
    ]


def seen_in(task: str) -> NDArray[Any]:
    """Return frames of a random walk."""
    env, rng, frames = make_env(task), np.random.default_rng(0), []
    frames.append(env.reset(seed=0)[0])
    while len(frames) < FRAMES:
        seen, _, terminated, truncated, _ = env.step(np.int64(rng.integers(3)))
        frames.append(env.reset()[0] if terminated or truncated else seen)
    env.close()
    return np.stack(frames)


def measured(task: str, name: str, size: int, frames: NDArray[Any], turns: int) -> dict[str, float]:
    """Return what one agent takes, with a memory of its own."""
    mind = made(task, name, size, frames.shape[1:])
    rng = np.random.default_rng(1)
    policy = mind.policy(0.0, rng)

    def decide() -> None:
        policy.begin(frames[rng.integers(len(frames))])
        policy.act()

    also: dict[str, float] = {}
    if isinstance(mind, VaSTMind | LSHMind):
        also = fill_table(mind, frames, size, rng)
    elif isinstance(mind, MFECMind | NECMind):
        also = fill_memories(mind, frames, size, turns, rng)
    else:
        also = fill_ranks(mind, size, turns, rng)
    result = {"ms_per_decision": milliseconds(decide, turns), **also}
    mind.close()
    return result


def made(task: str, name: str, size: int, shape: tuple[int, ...]) -> Any:
    """Return an agent that can remember so much."""
    env = make_env(task)
    config = KINDS[name].preset("cpu", task, shape)
    field = {"mfec": "capacity", "nec": "capacity", "ddqn": "replay"}.get(name)
    if field is not None:
        config = replace(config, **{field: size})
    if name in ("mfec", "nec"):
        config = replace(config, index="inverted")
    mind = KINDS[name].make(spaces_of(env), config, np.random.SeedSequence(0))
    env.close()
    return mind


def as_seen(mind: Any, frames: NDArray[Any]) -> NDArray[Any]:
    """Return frames as an agent sees them, each alone: [N, 1, *shape]."""
    small = Shrinking(frames.shape[1:], mind.config.resize)
    return np.stack([small(frame) for frame in frames])[:, None]


def fill_table(
    mind: VaSTMind | LSHMind, frames: NDArray[Any], size: int, rng: np.random.Generator
) -> dict[str, float]:
    """Let each action have been taken so often in states like those seen but for some bits.

    In those seen themselves nothing was ever done, so that each decision asks the nearest states;
    return how far these are.
    """
    seen = as_seen(mind, frames)
    if isinstance(mind, VaSTMind):
        states, n_bits = mind.tabulator.encode(seen), mind.config.model.n_bits
    else:
        states = np.array([mind.encode(each) for each in seen], np.uint64)
        n_bits = mind.config.n_bits
    width = n_bits // FLIPPED
    for action in range(mind.n_actions):
        chosen = states[rng.integers(len(states), size=size)]
        for part in range(FLIPPED):  # one bit in each part of the code
            bits = rng.integers(part * width, (part + 1) * width, size=size, dtype=np.uint64)
            chosen ^= np.uint64(1) << bits
        chosen = chosen[~np.isin(chosen, states)]
        n = len(chosen)
        mind.table.add_many(
            chosen, np.full(n, action), rng.random(n), np.roll(chosen, 1), np.zeros(n, np.bool_)
        )
    distances = [mind.table.estimate(state)[1].mean() for state in states.tolist()]
    return {"bits_away": float(np.mean(distances))}


def fill_memories(
    mind: MFECMind | NECMind, frames: NDArray[Any], size: int, turns: int, rng: np.random.Generator
) -> dict[str, float]:
    """Fill the memories with keys like those seen; return how long a lookup takes."""
    keys = np.stack([mind.embed(each) for each in as_seen(mind, frames)])
    apart = np.float32(0.1 * keys.std(0).mean())
    stored = []
    memories = mind.memories if isinstance(mind, MFECMind) else mind.dictionary.memories
    for memory in memories:
        chosen = keys[rng.integers(len(keys), size=size)]
        chosen += apart * rng.standard_normal(chosen.shape, np.float32)
        stored.append(chosen)
        memory.load_state_dict(
            {"keys": chosen, "values": rng.random(size), "used": np.arange(size), "clock": size}
        )
    queries = keys + apart * rng.standard_normal(keys.shape, np.float32)
    look: Callable[[Any], Any] = mind._look if isinstance(mind, MFECMind) else mind.dictionary.look

    def lookup() -> None:
        look(queries[rng.integers(len(queries))])

    def products() -> None:
        query = queries[rng.integers(len(queries))]
        for each in stored:
            np.matmul(each, query)

    both = [(seconds(lookup), seconds(products)) for _ in range(turns + 1)][1:]
    return {
        "ms_per_lookup": 1000 * median(mine for mine, _ in both),
        "of_products": median(mine / theirs for mine, theirs in both),
        "recall_percent": 100 * recall(memories[0], queries, mind.config.neighbours),
    }


def recall(memory: Memory, queries: Keys, k: int) -> float:
    """Return the share of the nearest neighbours that a memory finds."""
    exact = Memory(memory.capacity, memory.width)
    exact.load_state_dict(memory.state_dict())
    both = zip(exact.nearest(queries, k).rows, memory.nearest(queries, k).rows, strict=True)
    return float(np.mean([np.isin(wanted, found).mean() for wanted, found in both]))


def fill_ranks(
    mind: PrioritizedDDQNMind, size: int, turns: int, rng: np.random.Generator
) -> dict[str, float]:
    """Let so many steps have priorities; return how long it takes to draw a minibatch."""
    none = np.zeros(0, np.int64)
    priorities = np.linspace(1, 0, size)
    mind.ranks.load_state_dict(
        {"order": np.arange(size), "priority": priorities}
        | dict.fromkeys(("new", "changed", "changed_to"), none)
    )

    def draw() -> None:
        mind.ranks.revise(0)
        drawn = mind.ranks.draw(rng, mind.config.batch, 0.5).numbers
        mind.ranks.set_priorities(drawn, rng.random(len(drawn)))

    return {"ms_per_draw": milliseconds(draw, turns)}


def seconds(call: Callable[[], object]) -> float:
    """Return how long some calls took, each."""
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - begin) / CALLS


def milliseconds(call: Callable[[], object], turns: int) -> float:
    """Return how long a call takes; the first turn warms up."""
    return 1000 * median([seconds(call) for _ in range(turns + 1)][1:])
