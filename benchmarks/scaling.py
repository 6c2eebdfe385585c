"""How the parts of training grow: with the frames in the replay, the states, the bits of a code.

All is the preset `cpu`, at plus-maze's image size. The replay is filled with a few hundred real
frames over and over, in episodes of one length: as much is read, and from places as far apart, as
in a real run. The table is that of a noisy grid (`benchmarks.worlds`). An update moves some
transitions to other successors, as reassigned frames do; that is what one training step brings.
For the neighbour estimate codes lie near each other, as an encoder's do: flips of a few centres.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.growth import as_seen, seen_in
from benchmarks.worlds import DISCOUNT, MIN_PRIORITY, N_ACTIONS, NoisyGrid, build
from vast.agents.vast.mind import VaSTMind
from vast.agents.vast.presets import cpu
from vast.agents.vast.recency import COLUMNS, RecentRewards
from vast.model.tabulator import Batch
from vast.planning import TransitionTable
from vast.replay.tables import Transitions, revise

TASK = "plus-maze"
SHAPE = (60, 80, 3)
REPLAYS = (10_000, 100_000, 500_000)
STATES = (1_000, 10_000, 100_000)
BITS = (16, 32, 60)
EPISODE = 100
"""frames of an episode"""
CALLS = 40
"""of each kind that are timed, after some that warm up"""
WARM_UP = 3
MOVED = 64
"""transitions that an update moves"""
WIDTHS = (0.0, 1.0)
"""of the neighbour estimate: the paper's, and that of the preset `cpu`"""
FLIPPED = 8
"""bits, at most, in which a code differs from the centre of its group"""
AT_STATES = 10_000
"""in the table, where bits are varied"""
OF_MODEL = ("training_step_ms", "encoding_256_ms", "encoding_1_ms")


def milliseconds(call: Callable[[], object]) -> float:
    """Return the median of some calls; the first few warm up."""
    times = []
    for _ in range(CALLS + WARM_UP):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return 1000 * median(times[WARM_UP:])


def agent(n_bits: int, capacity: int) -> VaSTMind:
    """Return an agent with codes of so many bits and room for so many frames."""
    config = cpu(TASK, SHAPE)
    config = replace(
        config,
        model=replace(config.model, n_bits=n_bits),
        replay=replace(config.replay, capacity=capacity),
        training=replace(config.training, overlap=False),
    )
    return VaSTMind(SHAPE, np.uint8, N_ACTIONS, config, np.random.SeedSequence(0))


def fill_replay(mind: VaSTMind, frames: NDArray[Any]) -> None:
    """Store frames over and over until the replay is full."""
    rng = np.random.default_rng(0)
    actions = rng.integers(N_ACTIONS, size=mind.replay.capacity).tolist()
    chosen = rng.integers(len(frames), size=mind.replay.capacity).tolist()
    for number, (action, which) in enumerate(zip(actions, chosen, strict=True)):
        if number % EPISODE == 0:
            if number:
                mind.replay.end_truncated()
            mind.replay.begin(frames[which])
        else:
            mind.replay.append(action, 0.0, frames[which])


def filled(seen: NDArray[Any], n_bits: int = 32, capacity: int = 10_000) -> VaSTMind:
    """Return an agent with a full replay, ready to be trained."""
    mind = agent(n_bits, capacity)
    frames = as_seen(mind, seen)[:, 0]
    fill_replay(mind, frames)
    mind.tabulator.fit_standardisation(frames)
    return mind


def by_replay() -> list[dict[str, float]]:
    """Return what drawing, training and encoding again take, by the frames in the replay."""
    seen, rows = seen_in(TASK), []
    for size in REPLAYS:
        rows.append({"frames": size, **of_replay(filled(seen, capacity=size))})
    return rows


def of_replay(mind: VaSTMind) -> dict[str, float]:
    """Return milliseconds per call of what reads the replay, and of what learns from it."""
    training, rng = mind.config.training, np.random.default_rng(1)
    count, length = training.batch // training.segment, training.segment
    replay, tabulator = mind.replay, mind.tabulator
    drawn = [replay.sample_segments(rng, count, length) for _ in range(CALLS + WARM_UP)]
    batches = iter([Batch(each.frames, each.actions, each.first, each.trained) for each in drawn])
    again = replay.histories(replay.next_frames(training.retabulate))
    return {
        "sampling_ms": milliseconds(lambda: replay.sample_segments(rng, count, length)),
        "reading_256_to_encode_again_ms": milliseconds(
            lambda: replay.histories(replay.next_frames(training.retabulate))
        ),
        "encoding_256_ms": milliseconds(lambda: tabulator.encode(again, newest=True)),
        "encoding_1_ms": milliseconds(lambda: tabulator.encode(again[:1])),
        "training_step_ms": milliseconds(lambda: tabulator.train_and_encode(next(batches))),
    }


def codes(n_states: int, n_bits: int, rng: np.random.Generator) -> NDArray[np.uint64]:
    """Return so many different codes, near each other in groups of about a thousand."""
    centres = rng.integers(0, 2**n_bits, max(4, n_states // 1000), np.uint64)
    bits = np.uint64(1) << rng.integers(0, n_bits, (4 * n_states, FLIPPED), np.uint64)
    near = rng.choice(centres, len(bits)) ^ np.bitwise_or.reduce(bits, 1)
    return rng.choice(np.unique(near), n_states, replace=False)


def estimates(n_states: int, n_bits: int) -> dict[str, float]:
    """Return what the neighbour estimate takes for codes two bits from known ones."""
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
    """Return what the table takes, by its states."""
    rows = []
    for size in STATES:
        grid = NoisyGrid(size)
        table, _ = build(grid)
        table.sweep()
        sizes = {"states": len(table), "transitions": table.n_transitions}
        rows.append({**sizes, **estimates(size, 60), **updates(grid, table)})
    return rows


def updates(grid: NoisyGrid, table: TransitionTable) -> dict[str, float]:
    """Return milliseconds of moving transitions and of what follows from it, medians."""
    planning, rng = cpu(TASK, SHAPE).planning, np.random.default_rng(3)
    assert planning.reward_horizon is not None
    parts = zip(*NoisyGrid(grid.n_states).all_transitions(), strict=True)  # the same once more
    s, a, r, t, ends = (np.concatenate(part) for part in parts)
    there = Transitions(s, a, r, t, ends, np.arange(len(s)))
    recent = RecentRewards(table, planning.reward_horizon)
    recent.load_state_dict({name: getattr(there, name) for name in COLUMNS})
    going_on = np.flatnonzero(~there.terminals)
    taken = []
    for _ in range(CALLS + WARM_UP):
        chosen = np.unique(rng.choice(going_on, MOVED))
        deleted = Transitions(*(column[chosen] for column in there))
        there.next_states[chosen] = rng.choice(there.states, len(chosen))
        added = Transitions(*(column[chosen] for column in there))
        begin = time.perf_counter()
        revise(table, added, deleted)
        revised = time.perf_counter()
        recent.revise(added, deleted)
        told = time.perf_counter()
        table.sweep(planning.backups_per_training)
        taken.append((revised - begin, told - revised, time.perf_counter() - told))
    names = (f"update_of_{MOVED}_ms", f"recent_rewards_of_{MOVED}_ms", "sweeping_after_it_ms")
    return dict(zip(names, (1000 * np.median(taken[WARM_UP:], 0)).tolist(), strict=True))


def by_bits() -> list[dict[str, float]]:
    """Return what learning, encoding and looking up take, by the bits of a code."""
    seen, rows = seen_in(TASK), []
    for n_bits in BITS:
        mind = filled(seen, n_bits=n_bits)
        measured = of_replay(mind)
        rows.append(
            {
                "bits": n_bits,
                **{name: measured[name] for name in OF_MODEL},
                "states": AT_STATES,
                **estimates(AT_STATES, n_bits),
            }
        )
    return rows
