"""The predecessors of each state: contiguous blocks of 4, 8, 16 ... edges in one pool.

An edge is one 64-bit word: a predecessor state, its action, and the count of this transition.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.planning.compiled import Int, kernel, part
from vast.planning.index import remove
from vast.planning.memory import (
    FREE_STATE,
    LENGTH,
    N_FREE,
    NEXT_FREE,
    NIL,
    OFFSET,
    ONE_COUNT,
    PAIR_MASK,
    POOL_USED,
    SIZE_CLASS,
    SLOTS,
    STATE_MASK,
    Memory,
)
from vast.planning.queues import dequeue

STRIDE = 256
"""how many edges are compared between two checks for a match"""


@part
def find_edge(m: Memory, t: Int, pair: Int) -> Int:
    """Return the position of the edge from a (state, action) pair to state t, or NIL."""
    i = np.uint64(m.block[t, OFFSET])
    end = i + np.uint64(m.block[t, LENGTH])
    # A state can have a hundred thousand predecessors: find the stride with the match first.
    while i < end:
        part_end = min(i + np.uint64(STRIDE), end)
        difference = np.int64(PAIR_MASK)
        for j in range(i, part_end):
            difference = min(difference, (m.edge[j] ^ pair) & PAIR_MASK)
        if difference == 0:
            break
        i = part_end
    while i < end and (m.edge[i] & PAIR_MASK) != pair:
        i += np.uint64(1)
    return np.int64(i) if i < end else np.int64(NIL)


@part
def lacks_room(m: Memory, t: Int) -> bool:
    """Tell whether the pool must grow before state t (NIL if new) can get another predecessor."""
    size = 0
    if t != NIL:
        size = m.block[t, SIZE_CLASS]
        if size > 0 and m.block[t, LENGTH] < 1 << (size - 1):
            return False
    size = max(size + 1, 3)
    return bool(m.free_block[size] == NIL and m.meta[POOL_USED] + (1 << (size - 1)) > m.edge.size)


@part
def release_block(m: Memory, start: Int, size: Int) -> None:
    """Put a block on the free list of its size."""
    m.edge[start] = m.free_block[size]
    m.free_block[size] = start


@part
def move_to_larger_block(m: Memory, t: Int) -> None:
    """Move the predecessors of t to a block of twice the size."""
    old, size = np.int64(m.block[t, OFFSET]), m.block[t, SIZE_CLASS]
    larger = max(size + 1, 3)
    start = m.free_block[larger]
    if start != NIL:
        m.free_block[larger] = m.edge[start]
    else:
        start = m.meta[POOL_USED]
        m.meta[POOL_USED] += 1 << (larger - 1)
    if size > 0:
        for i in range(m.block[t, LENGTH]):
            m.edge[start + i] = m.edge[old + i]
        release_block(m, old, size)
    m.block[t, OFFSET] = start
    m.block[t, SIZE_CLASS] = larger


@part
def increment_edge(m: Memory, t: Int, pair: Int) -> None:
    """Count one more transition from a (state, action) pair to state t."""
    at = find_edge(m, t, pair)
    if at != NIL:
        m.edge[at] += ONE_COUNT
        return
    length, size = m.block[t, LENGTH], m.block[t, SIZE_CLASS]
    if size == 0 or length == 1 << (size - 1):
        move_to_larger_block(m, t)
    m.edge[m.block[t, OFFSET] + length] = ONE_COUNT | pair
    m.block[t, LENGTH] = length + 1


@part
def decrement_edge(m: Memory, t: Int, at: Int) -> None:
    """Decrement an edge's count; an edge at zero is replaced by the last one of the block."""
    m.edge[at] -= ONE_COUNT
    if m.edge[at] < ONE_COUNT:
        last = m.block[t, LENGTH] - 1
        m.edge[at] = m.edge[m.block[t, OFFSET] + last]
        m.block[t, LENGTH] = last


@part
def release_if_unused(m: Memory, s: Int) -> None:
    """Free the row of a state without incoming and outgoing transitions."""
    if m.block[s, LENGTH] > 0:
        return
    for a in range(m.n.shape[1]):
        if m.n[s, a] > 0:
            return
    dequeue(m, s)
    remove(m.key, m.slot, np.uint64(m.key[s]))
    if m.block[s, SIZE_CLASS] > 0:
        release_block(m, np.int64(m.block[s, OFFSET]), m.block[s, SIZE_CLASS])
        m.block[s, SIZE_CLASS] = 0
    m.block[s, NEXT_FREE] = m.meta[FREE_STATE]
    m.meta[FREE_STATE] = s
    m.meta[N_FREE] += 1


@kernel
def edges_from(m: Memory, s: Int, words: NDArray[Any], targets: NDArray[Any]) -> Int:
    """Write the edges that leave state s and their target states; return their number."""
    found = 0
    for t in range(m.meta[SLOTS]):
        start = np.int64(m.block[t, OFFSET])
        for i in range(start, start + m.block[t, LENGTH]):
            if (m.edge[i] & STATE_MASK) == s:
                words[found] = m.edge[i]
                targets[found] = t
                found += 1
    return found
