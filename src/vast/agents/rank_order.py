"""Steps in the order of their priorities, each found by its rank or its number, and moved quickly.

The order is cut into blocks of at most `BLOCK` items. To insert or remove one, its block is found
by bisection, and only the items of that block move. A full block is split in two. When no block is
left, all are filled by half again, which happens at most once in as many insertions as there are
items.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vast.agents.compiled import compiled

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]

BLOCK = 256
"""items of a block at most: moving half of them costs as much as finding the block"""
USED, STAMP = 0, 1
"""where the counters are: blocks in use, and the stamp given last"""


class Blocks(NamedTuple):
    """An order in blocks: by priority, then by stamp, both descending; no two stamps are equal."""

    priorities: Floats
    """[blocks, BLOCK]"""
    stamps: Numbers
    """[blocks, BLOCK]"""
    numbers: Numbers
    """[blocks, BLOCK]"""
    sizes: Numbers
    """[blocks], items in each"""
    order: Numbers
    """[blocks], those in use first, in their order"""
    counters: Numbers
    """by USED and STAMP"""
    own_priority: Floats
    """[capacity], of the step in each slot"""
    own_stamp: Numbers
    """[capacity], its stamp; 0: none is in the order"""
    own_number: Numbers
    """[capacity], its number"""


class RankOrder:
    """Steps by number, with the largest priority first; of equal ones, the one put last.

    Numbers are absolute, and less than `capacity` apart: the step in slot number mod capacity is
    the only one with that slot.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        blocks = 4 * -(-capacity // BLOCK) + 2
        self._blocks = Blocks(
            priorities=np.zeros((blocks, BLOCK)),
            stamps=np.zeros((blocks, BLOCK), np.int64),
            numbers=np.zeros((blocks, BLOCK), np.int64),
            sizes=np.zeros(blocks, np.int64),
            order=np.arange(blocks),
            counters=np.array([1, 0]),
            own_priority=np.zeros(capacity),
            own_stamp=np.zeros(capacity, np.int64),
            own_number=np.full(capacity, -1),
        )

    def __len__(self) -> int:
        return int(self._blocks.sizes.sum())

    @property
    def largest(self) -> float:
        """The largest priority; 1 if there is none."""
        first = self._blocks.order[0]
        return float(self._blocks.priorities[first, 0]) if self._blocks.sizes[first] else 1.0

    def put(self, numbers: Numbers, priorities: Floats) -> None:
        """Put distinct steps into the order, one by one, or move them if they are in it."""
        _put(self._blocks, numbers, priorities)

    def remove(self, numbers: Numbers) -> None:
        """Remove steps, where they are in the order."""
        _remove(self._blocks, numbers)

    def at(self, ranks: Numbers) -> Numbers:
        """Return the numbers of the steps with these ranks, counted from 0."""
        used = self._used
        sizes = self._blocks.sizes[used]
        ends = np.cumsum(sizes)
        place = np.searchsorted(ends, ranks, side="right")
        return self._blocks.numbers[used[place], ranks - (ends - sizes)[place]]

    def in_order(self) -> tuple[Numbers, Floats]:
        """Return all numbers and priorities, the first rank first."""
        used = self._used
        filled = np.arange(BLOCK) < self._blocks.sizes[used, None]
        return self._blocks.numbers[used][filled], self._blocks.priorities[used][filled]

    def fill(self, numbers: Numbers, priorities: Floats) -> None:
        """Start again from numbers and priorities that are in order."""
        self._blocks = RankOrder(self.capacity)._blocks
        self.put(numbers[::-1].copy(), priorities[::-1].copy())

    @property
    def _used(self) -> Numbers:
        return self._blocks.order[: self._blocks.counters[USED]]


@compiled(inline="always")
def _precedes(p: float, stamp: int, other_p: float, other_stamp: int) -> bool:
    return p > other_p or (p == other_p and stamp > other_stamp)


@compiled()
def _block_of(blocks: Blocks, p: float, stamp: int) -> int:
    """Return the place of the first block whose last item this one does not follow, or the last."""
    low, high = 0, blocks.counters[USED] - 1
    while low < high:
        middle = (low + high) // 2
        block = blocks.order[middle]
        last = blocks.sizes[block] - 1
        if _precedes(blocks.priorities[block, last], blocks.stamps[block, last], p, stamp):
            low = middle + 1
        else:
            high = middle
    return low


@compiled()
def _place_in(blocks: Blocks, block: int, p: float, stamp: int) -> int:
    """Return the place in a block before which all items precede this one."""
    low, high = 0, blocks.sizes[block]
    while low < high:
        middle = (low + high) // 2
        if _precedes(blocks.priorities[block, middle], blocks.stamps[block, middle], p, stamp):
            low = middle + 1
        else:
            high = middle
    return low


@compiled()
def _copy(blocks: Blocks, source: int, i: int, target: int, j: int) -> None:
    """Copy an item to another place."""
    blocks.priorities[target, j] = blocks.priorities[source, i]
    blocks.stamps[target, j] = blocks.stamps[source, i]
    blocks.numbers[target, j] = blocks.numbers[source, i]


@compiled()
def _remove(blocks: Blocks, removed: Numbers) -> None:
    order, sizes, counters = blocks.order, blocks.sizes, blocks.counters
    for number in removed:
        slot = number % len(blocks.own_stamp)
        stamp = blocks.own_stamp[slot]
        if stamp == 0 or blocks.own_number[slot] != number:
            continue
        blocks.own_stamp[slot] = 0
        place = _block_of(blocks, blocks.own_priority[slot], stamp)
        block = order[place]
        at = _place_in(blocks, block, blocks.own_priority[slot], stamp)
        sizes[block] -= 1
        for i in range(at, sizes[block]):
            _copy(blocks, block, i + 1, block, i)
        if sizes[block] == 0 and counters[USED] > 1:
            counters[USED] -= 1
            for i in range(place, counters[USED]):
                order[i] = order[i + 1]
            order[counters[USED]] = block


@compiled()
def _split(blocks: Blocks, place: int) -> None:
    """Move the second half of a full block to a new one behind it."""
    order, used = blocks.order, blocks.counters[USED]
    old, new = order[place], order[used]
    for i in range(used, place + 1, -1):
        order[i] = order[i - 1]
    order[place + 1] = new
    blocks.counters[USED] = used + 1
    half = BLOCK // 2
    for i in range(half, BLOCK):
        _copy(blocks, old, i, new, i - half)
    blocks.sizes[old], blocks.sizes[new] = half, BLOCK - half


@compiled()
def _spread(blocks: Blocks) -> None:
    """Fill as many blocks by half as the items need."""
    sizes = blocks.sizes
    total, half, at = sizes.sum(), BLOCK // 2, 0
    p, s, n = np.empty(total), np.empty(total, np.int64), np.empty(total, np.int64)
    for block in blocks.order[: blocks.counters[USED]]:
        size = sizes[block]
        p[at : at + size] = blocks.priorities[block, :size]
        s[at : at + size] = blocks.stamps[block, :size]
        n[at : at + size] = blocks.numbers[block, :size]
        at += size
    blocks.counters[USED] = max(-(-total // half), 1)
    sizes[:] = 0
    at = 0
    for block in blocks.order[: blocks.counters[USED]]:
        size = min(total - at, half)
        blocks.priorities[block, :size] = p[at : at + size]
        blocks.stamps[block, :size] = s[at : at + size]
        blocks.numbers[block, :size] = n[at : at + size]
        sizes[block] = size
        at += size


@compiled()
def _put(blocks: Blocks, moved: Numbers, values: Floats) -> None:
    _remove(blocks, moved)
    for k in range(len(moved)):
        p, slot = values[k], moved[k] % len(blocks.own_stamp)
        blocks.counters[STAMP] += 1
        stamp = blocks.counters[STAMP]
        place = _block_of(blocks, p, stamp)
        if blocks.sizes[blocks.order[place]] == BLOCK:
            if blocks.counters[USED] == len(blocks.order):
                _spread(blocks)
            else:
                _split(blocks, place)
            place = _block_of(blocks, p, stamp)
        block = blocks.order[place]
        at = _place_in(blocks, block, p, stamp)
        for i in range(blocks.sizes[block], at, -1):
            _copy(blocks, block, i - 1, block, i)
        blocks.priorities[block, at] = blocks.own_priority[slot] = p
        blocks.stamps[block, at] = blocks.own_stamp[slot] = stamp
        blocks.numbers[block, at] = blocks.own_number[slot] = moved[k]
        blocks.sizes[block] += 1
