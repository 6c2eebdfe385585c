"""Steps in the order of their priorities, each found by its rank or its number, and moved quickly.

The order is cut into blocks of at most `BLOCK` items. To insert or remove one, its block is found
by bisection, and only the items of that block move. A full block is split in two. When no block is
left, all are filled by half again, which happens at most once in as many insertions as there are
items.
"""

import numpy as np
from numpy.typing import NDArray

from vast.agents.compiled import compiled

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
Arrays = tuple[Floats, Numbers, Numbers, Numbers, Numbers, Numbers, Floats, Numbers, Numbers]

BLOCK = 256
"""items of a block at most: moving half of them costs as much as finding the block"""
USED, STAMP = 0, 1
"""where the counters are: blocks in use, and the stamp given last"""


class RankOrder:
    """Steps by number, with the largest priority first; of equal ones, the one put last.

    Numbers are absolute, and less than `capacity` apart: the step in slot number mod capacity is
    the only one with that slot.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        blocks = 4 * -(-capacity // BLOCK) + 2
        self._priorities = np.zeros((blocks, BLOCK))
        self._stamps = np.zeros((blocks, BLOCK), np.int64)
        self._numbers = np.zeros((blocks, BLOCK), np.int64)
        self._sizes = np.zeros(blocks, np.int64)
        self._blocks = np.arange(blocks)  # those in use come first, in their order
        self._counters = np.array([1, 0])
        self._own_priority = np.zeros(capacity)
        self._own_stamp = np.zeros(capacity, np.int64)  # 0: not in the order
        self._own_number = np.full(capacity, -1)

    @property
    def _arrays(self) -> Arrays:
        return (
            self._priorities,
            self._stamps,
            self._numbers,
            self._sizes,
            self._blocks,
            self._counters,
            self._own_priority,
            self._own_stamp,
            self._own_number,
        )

    def __len__(self) -> int:
        return int(self._sizes.sum())

    @property
    def largest(self) -> float:
        """The largest priority; 1 if there is none."""
        first = self._blocks[0]
        return float(self._priorities[first, 0]) if self._sizes[first] else 1.0

    def put(self, numbers: Numbers, priorities: Floats) -> None:
        """Put distinct steps into the order, one by one, or move them if they are in it."""
        _put(*self._arrays, numbers, priorities)

    def remove(self, numbers: Numbers) -> None:
        """Remove steps, where they are in the order."""
        _remove(*self._arrays, numbers)

    def at(self, ranks: Numbers) -> Numbers:
        """Return the numbers of the steps with these ranks, counted from 0."""
        used = self._blocks[: self._counters[USED]]
        ends = np.cumsum(self._sizes[used])
        place = np.searchsorted(ends, ranks, side="right")
        return self._numbers[used[place], ranks - (ends - self._sizes[used])[place]]

    def in_order(self) -> tuple[Numbers, Floats]:
        """Return all numbers and priorities, the first rank first."""
        used = self._blocks[: self._counters[USED]]
        filled = np.arange(BLOCK) < self._sizes[used, None]
        return self._numbers[used][filled], self._priorities[used][filled]

    def fill(self, numbers: Numbers, priorities: Floats) -> None:
        """Start again from numbers and priorities that are in order."""
        self.__dict__.update(RankOrder(self.capacity).__dict__)
        self.put(numbers[::-1].copy(), priorities[::-1].copy())


@compiled(inline="always")
def _precedes(p: float, stamp: int, other_p: float, other_stamp: int) -> bool:
    return p > other_p or (p == other_p and stamp > other_stamp)


@compiled()
def _block_of(
    priorities: Floats,
    stamps: Numbers,
    sizes: Numbers,
    blocks: Numbers,
    counters: Numbers,
    p: float,
    stamp: int,
) -> int:
    """Return the place of the first block whose last item this one does not follow, or the last."""
    low, high = 0, counters[USED] - 1
    while low < high:
        middle = (low + high) // 2
        block = blocks[middle]
        last = sizes[block] - 1
        if _precedes(priorities[block, last], stamps[block, last], p, stamp):
            low = middle + 1
        else:
            high = middle
    return low


@compiled()
def _place_in(
    priorities: Floats, stamps: Numbers, sizes: Numbers, block: int, p: float, stamp: int
) -> int:
    """Return the place in a block before which all items precede this one."""
    low, high = 0, sizes[block]
    while low < high:
        middle = (low + high) // 2
        if _precedes(priorities[block, middle], stamps[block, middle], p, stamp):
            low = middle + 1
        else:
            high = middle
    return low


@compiled()
def _remove(
    priorities: Floats,
    stamps: Numbers,
    numbers: Numbers,
    sizes: Numbers,
    blocks: Numbers,
    counters: Numbers,
    own_priority: Floats,
    own_stamp: Numbers,
    own_number: Numbers,
    removed: Numbers,
) -> None:
    for number in removed:
        slot = number % len(own_stamp)
        if own_stamp[slot] == 0 or own_number[slot] != number:
            continue
        p, stamp = own_priority[slot], own_stamp[slot]
        own_stamp[slot] = 0
        place = _block_of(priorities, stamps, sizes, blocks, counters, p, stamp)
        block = blocks[place]
        at = _place_in(priorities, stamps, sizes, block, p, stamp)
        sizes[block] -= 1
        for i in range(at, sizes[block]):
            priorities[block, i] = priorities[block, i + 1]
            stamps[block, i] = stamps[block, i + 1]
            numbers[block, i] = numbers[block, i + 1]
        if sizes[block] == 0 and counters[USED] > 1:
            counters[USED] -= 1
            for i in range(place, counters[USED]):
                blocks[i] = blocks[i + 1]
            blocks[counters[USED]] = block


@compiled()
def _split(
    priorities: Floats,
    stamps: Numbers,
    numbers: Numbers,
    sizes: Numbers,
    blocks: Numbers,
    counters: Numbers,
    place: int,
) -> None:
    """Move the second half of a full block to a new one behind it."""
    used = counters[USED]
    old, new = blocks[place], blocks[used]
    for i in range(used, place + 1, -1):
        blocks[i] = blocks[i - 1]
    blocks[place + 1] = new
    counters[USED] = used + 1
    half = BLOCK // 2
    for i in range(BLOCK - half):
        priorities[new, i] = priorities[old, half + i]
        stamps[new, i] = stamps[old, half + i]
        numbers[new, i] = numbers[old, half + i]
    sizes[old], sizes[new] = half, BLOCK - half


@compiled()
def _spread(
    priorities: Floats,
    stamps: Numbers,
    numbers: Numbers,
    sizes: Numbers,
    blocks: Numbers,
    counters: Numbers,
) -> None:
    """Fill as many blocks by half as the items need."""
    total = sizes.sum()
    p, s, n = np.empty(total), np.empty(total, np.int64), np.empty(total, np.int64)
    at = 0
    for place in range(counters[USED]):
        block = blocks[place]
        for i in range(sizes[block]):
            p[at], s[at], n[at] = priorities[block, i], stamps[block, i], numbers[block, i]
            at += 1
    half = BLOCK // 2
    counters[USED] = max(-(-total // half), 1)
    sizes[:] = 0
    for place in range(counters[USED]):
        block = blocks[place]
        begin = place * half
        sizes[block] = min(total - begin, half)
        for i in range(sizes[block]):
            priorities[block, i], stamps[block, i] = p[begin + i], s[begin + i]
            numbers[block, i] = n[begin + i]


@compiled()
def _put(
    priorities: Floats,
    stamps: Numbers,
    numbers: Numbers,
    sizes: Numbers,
    blocks: Numbers,
    counters: Numbers,
    own_priority: Floats,
    own_stamp: Numbers,
    own_number: Numbers,
    moved: Numbers,
    values: Floats,
) -> None:
    _remove(
        priorities,
        stamps,
        numbers,
        sizes,
        blocks,
        counters,
        own_priority,
        own_stamp,
        own_number,
        moved,
    )
    for k in range(len(moved)):
        p, slot = values[k], moved[k] % len(own_stamp)
        counters[STAMP] += 1
        stamp = counters[STAMP]
        place = _block_of(priorities, stamps, sizes, blocks, counters, p, stamp)
        if sizes[blocks[place]] == BLOCK:
            if counters[USED] == len(blocks):
                _spread(priorities, stamps, numbers, sizes, blocks, counters)
            else:
                _split(priorities, stamps, numbers, sizes, blocks, counters, place)
            place = _block_of(priorities, stamps, sizes, blocks, counters, p, stamp)
        block = blocks[place]
        at = _place_in(priorities, stamps, sizes, block, p, stamp)
        for i in range(sizes[block], at, -1):
            priorities[block, i] = priorities[block, i - 1]
            stamps[block, i] = stamps[block, i - 1]
            numbers[block, i] = numbers[block, i - 1]
        priorities[block, at], stamps[block, at], numbers[block, at] = p, stamp, moved[k]
        sizes[block] += 1
        own_priority[slot], own_stamp[slot], own_number[slot] = p, stamp, moved[k]
