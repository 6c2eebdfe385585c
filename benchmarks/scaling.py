"""How the parts of training grow: with the frames in the replay, the states, the bits of a code.

The preset is `cpu`, at the image size of the plus-maze. The replay is filled with a few hundred
real frames over and over, in episodes of one length: reads are as many, and as far apart in memory,
as in a real run. The table is that of a noisy grid (`benchmarks.worlds`). An update moves some
transitions to other successors, like the frames that a training step reassigns. For the neighbour
estimate, codes are near each other, like an encoder's: a few centres with some bits flipped.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.growth import as_stored, observed_in
from benchmarks.worlds import DISCOUNT, MIN_PRIORITY, N_ACTIONS, NoisyGrid, build
from vast.agents.vast.agent import VaST
from vast.agents.vast.extensions.recent_rewards import COLUMNS, RecentRewards
from vast.agents.vast.presets import preset
from vast.model import Tabulator
from vast.model.tabulator import Batch
from vast.planning import TransitionTable
from vast.replay.tables import TransitionBatch, revise
from vast.training.plain import with_changes
from vast.training.spaces import Spaces

TASK = "plus-maze"
SHAPE = (60, 80, 3)
REPLAYS = (10_000, 100_000, 500_000)
STATES = (1_000, 10_000, 100_000)
BITS = (16, 32, 60)
EPISODE = 100
"""frames of an episode"""
CALLS = 40
"""timed calls of each kind, after the warm-up"""
WARM_UP = 3
MOVED = 64
"""transitions that an update moves"""
WIDTHS = (0.0, 1.0)
"""of smoothing in the neighbour estimate: the paper's, and that of the preset `cpu`"""
FLIPPED = 8
"""bits, at most, in which a code differs from the centre of its group"""
AT_STATES = 10_000
"""states in the table while the number of bits varies"""
OF_MODEL = ("training_step_ms", "encoding_256_ms", "encoding_1_ms")


def milliseconds(call: Callable[[], object]) -> float:
    """Return the median duration of some calls, after a warm-up."""
    times = []
    for _ in range(CALLS + WARM_UP):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return 1000 * median(times[WARM_UP:])


def new_agent(n_bits: int, capacity: int) -> VaST:
    """Return an agent with codes of this many bits and room for this many frames."""
    changes = {
        "model.n_bits": n_bits,
        "replay.capacity": capacity,
        "training.overlap": False,
    }
    config = with_changes(preset("cpu", TASK, SHAPE), changes)
    return VaST(Spaces(SHAPE, np.dtype(np.uint8), N_ACTIONS), config=config)


def fill_replay(agent: VaST, frames: NDArray[Any]) -> None:
    """Store frames over and over until the replay is full."""
    rng, replay = np.random.default_rng(0), agent.replay
    actions = rng.integers(N_ACTIONS, size=replay.capacity).tolist()
    chosen = rng.integers(len(frames), size=replay.capacity).tolist()
    for number, (action, which) in enumerate(zip(actions, chosen, strict=True)):
        if number % EPISODE == 0:
            if number:
                replay.end_truncated()
            replay.begin(frames[which])
        else:
            replay.append(action, 0.0, frames[which])


def encoder_of(agent: VaST) -> Tabulator:
    """Return the encoder that an agent trains."""
    assert isinstance(agent.encoder, Tabulator)
    return agent.encoder


def filled(observed: NDArray[Any], n_bits: int = 32, capacity: int = 10_000) -> VaST:
    """Return an agent with a full replay, ready to be trained."""
    agent = new_agent(n_bits, capacity)
    frames = as_stored(agent, observed)[:, 0]
    fill_replay(agent, frames)
    encoder_of(agent).fit_standardisation(frames)
    return agent


def by_replay() -> list[dict[str, float]]:
    """Return how long sampling, training and re-encoding take, by the frames in the replay."""
    observed, rows = observed_in(TASK), []
    for size in REPLAYS:
        rows.append({"frames": size, **of_replay(filled(observed, capacity=size))})
    return rows


def of_replay(agent: VaST) -> dict[str, float]:
    """Return the milliseconds per call of reading the replay and of training on it."""
    training, rng = agent.config.training, np.random.default_rng(1)
    count, length = training.batch // training.segment, training.segment
    replay, encoder = agent.replay, encoder_of(agent)
    drawn = [replay.sample_segments(rng, count, length) for _ in range(CALLS + WARM_UP)]
    batches = iter([Batch(each.frames, each.actions, each.first, each.trained) for each in drawn])
    again = replay.histories(replay.next_frames(training.retabulate))
    return {
        "sampling_ms": milliseconds(lambda: replay.sample_segments(rng, count, length)),
        "reading_256_to_encode_again_ms": milliseconds(
            lambda: replay.histories(replay.next_frames(training.retabulate))
        ),
        "encoding_256_ms": milliseconds(lambda: encoder.encode(again, newest=True)),
        "encoding_1_ms": milliseconds(lambda: encoder.encode(again[:1])),
        "training_step_ms": milliseconds(lambda: encoder.train_and_encode(next(batches))),
    }


def codes(n_states: int, n_bits: int, rng: np.random.Generator) -> NDArray[np.uint64]:
    """Return distinct codes, near each other in groups of about a thousand."""
    centres = rng.integers(0, 2**n_bits, max(4, n_states // 1000), np.uint64)
    bits = np.uint64(1) << rng.integers(0, n_bits, (4 * n_states, FLIPPED), np.uint64)
    near = rng.choice(centres, len(bits)) ^ np.bitwise_or.reduce(bits, 1)
    return rng.choice(np.unique(near), n_states, replace=False)


def estimates(n_states: int, n_bits: int) -> dict[str, float]:
    """Return how long the neighbour estimate takes for codes two bits from known ones."""
    rng = np.random.default_rng(2)
    table = TransitionTable(N_ACTIONS, DISCOUNT, MIN_PRIORITY)
    known = codes(n_states, n_bits, rng)
    ends = np.ones(n_states, np.bool_)
    for action in range(N_ACTIONS):
        table.add_many(known, np.full(n_states, action), rng.random(n_states), known, ends)
    asked = rng.choice(known, CALLS + WARM_UP)
    for _ in range(2):
        asked ^= np.uint64(1) << rng.integers(0, n_bits, len(asked), np.uint64)
    found = {}
    for width in WIDTHS:
        call = partial(_estimate, table, iter(asked.tolist()), width)
        found[f"estimate_width_{width:g}_us"] = 1000 * milliseconds(call)
    return found


def _estimate(table: TransitionTable, asked: Iterator[int], width: float) -> None:
    table.estimate(next(asked), width)


def by_states() -> list[dict[str, float]]:
    """Return how long the calls of a table take, by its states."""
    rows = []
    for size in STATES:
        grid = NoisyGrid(size)
        table, _ = build(grid)
        table.sweep()
        sizes = {"states": len(table), "transitions": table.n_transitions}
        rows.append({**sizes, **estimates(size, 60), **updates(grid, table)})
    return rows


def updates(grid: NoisyGrid, table: TransitionTable) -> dict[str, float]:
    """Return the median milliseconds of moving transitions, and of the updates that follow."""
    config, rng = preset("cpu", TASK, SHAPE), np.random.default_rng(3)
    assert config.extensions.reward_horizon is not None
    parts = zip(*NoisyGrid(grid.n_states).all_transitions(), strict=True)  # the same once more
    s, a, r, t, ends = (np.concatenate(part) for part in parts)
    there = TransitionBatch(s, a, r, t, ends, np.arange(len(s)))
    recent = RecentRewards(table, config.extensions.reward_horizon)
    recent.load_state_dict({name: getattr(there, name) for name in COLUMNS})
    going_on = np.flatnonzero(~there.terminals)
    taken = []
    for _ in range(CALLS + WARM_UP):
        chosen = np.unique(rng.choice(going_on, MOVED))
        deleted = TransitionBatch(*(column[chosen] for column in there))
        there.next_states[chosen] = rng.choice(there.states, len(chosen))
        added = TransitionBatch(*(column[chosen] for column in there))
        begin = time.perf_counter()
        revise(table, added, deleted)
        revised = time.perf_counter()
        recent.revise(added, deleted)
        rewarded = time.perf_counter()
        table.sweep(config.planning.backups_per_training)
        taken.append((revised - begin, rewarded - revised, time.perf_counter() - rewarded))
    names = (f"update_of_{MOVED}_ms", f"recent_rewards_of_{MOVED}_ms", "sweeping_after_it_ms")
    return dict(zip(names, (1000 * np.median(taken[WARM_UP:], 0)).tolist(), strict=True))


def by_bits() -> list[dict[str, float]]:
    """Return how long training, encoding and lookups take, by the bits of a code."""
    observed, rows = observed_in(TASK), []
    for n_bits in BITS:
        measured = of_replay(filled(observed, n_bits=n_bits))
        rows.append(
            {
                "bits": n_bits,
                **{name: measured[name] for name in OF_MODEL},
                "states": AT_STATES,
                **estimates(AT_STATES, n_bits),
            }
        )
    return rows
