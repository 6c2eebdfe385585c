"""The priority queue of prioritized sweeping: two implementations behind two functions.

`set_priority` inserts, moves or removes a state; `pop_batch` pops the next states.

The bucketed queue (the default) has four first-in, first-out buckets per octave of priority, and
every operation takes constant time. A bucket is a linked list of chunks, each one cache line, so
that the next states can be prefetched together and moving a state does not touch its neighbours. A
state that moves leaves its old entry behind: an entry is valid only while the state points back to
it. When the chunks run out, `compact` drops the stale entries. There is space for twice as many
entries as states, so this happens rarely.

The exact queue is a binary heap ordered by priority, then by key: the order of the plain-Python
reference, for research on the order of backups.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.planning.compiled import Float, Int, part, prefetch, rare
from vast.planning.memory import (
    CHUNK,
    CHUNKS_USED,
    FREE_CHUNK,
    HEAD,
    HEAD_AT,
    LENGTH,
    N_BUCKETS,
    NIL,
    OFFSET,
    POPS,
    QUEUED,
    TAIL,
    TAIL_AT,
    TOP,
    Memory,
)

BATCH = 16
"""how many entries are popped from the buckets at once"""
OCTAVE_BITS = 2
"""2**2 buckets per octave"""
LOWEST = (1023 - 43) << OCTAVE_BITS
"""buckets range from 2**-43 to about 10**6; priorities outside go into the first or last"""


@part
def bucket(priority: Float) -> Int:
    """Return the bucket of a priority: its exponent and the leading bits of its mantissa."""
    level: Int = (np.float64(priority).view(np.int64) >> (52 - OCTAVE_BITS)) - LOWEST
    return np.uint64(min(max(level, 0), N_BUCKETS - 1))


@part
def set_priority(m: Memory, s: Int, priority: Float, limit: Float) -> None:
    """Set the priority of state s, or remove s from the queue if it is not above the limit."""
    if m.heap.shape[0] > 0:
        heap_set(m, s, priority, limit)
    elif priority > limit:
        b = bucket(priority)
        tag = np.int16(b + np.uint64(1))
        if m.tag[s] != tag:
            if m.tag[s] == 0:
                m.meta[QUEUED] += 1
            m.tag[s] = tag
            append(m, s, b)
    elif m.tag[s] != 0:
        m.tag[s] = 0
        m.meta[QUEUED] -= 1


@part
def dequeue(m: Memory, s: Int) -> None:
    """Remove state s from the queue."""
    set_priority(m, s, 0.0, 0.0)


@part
def pop_batch(m: Memory, batch: NDArray[Any], budget: Int) -> Int:
    """Pop the next states into `batch`; return how many.

    Pops no more states than `budget` backups need; the last state is always backed up completely.
    """
    if m.heap.shape[0] > 0:
        return heap_pop(m, batch)
    taken = 0
    while taken == 0:
        entries = next_entries(m, batch)
        if entries == 0:
            break
        planned = 0
        for i in range(entries):
            s, place = np.uint64(batch[i, 0]), batch[i, 1]
            if m.tag[s] == 0 or m.place[s] != place:
                continue
            if planned < budget:
                m.tag[s] = 0
                batch[taken, 0] = s
                taken += 1
                planned += m.block[s, LENGTH]
                prefetch(m.edge, m.block[s, OFFSET])
            else:
                append(m, s, m.tag[s] - 1)
    m.meta[POPS] += taken
    m.meta[QUEUED] -= taken
    return taken


# --- the bucketed queue ---------------------------------------------------------------------------


@part
def next_entries(m: Memory, batch: NDArray[Any]) -> Int:
    """Take the next entries, stale or not, from the highest buckets; return how many.

    They are taken together, so that all their rows are prefetched before the first is needed.
    """
    entries = 0
    b = m.meta[TOP]
    while b >= 0 and entries < BATCH:
        c = np.int64(m.ends[b, HEAD])
        if c == NIL:
            b -= 1
            continue
        at = np.int64(m.ends[b, HEAD_AT])
        last = c == m.ends[b, TAIL]
        end = np.int64(m.ends[b, TAIL_AT]) if last else np.int64(CHUNK)
        cut = min(end, at + BATCH - entries)
        for i in range(at, cut):
            s = np.uint64(m.chunk[c, i])
            prefetch(m.u, s)
            prefetch(m.block, s)
            batch[entries, 0] = s
            batch[entries, 1] = c * CHUNK + i
            entries += 1
        m.ends[b, HEAD_AT] = cut
        if cut == end:
            m.ends[b, HEAD] = NIL if last else m.chunk[c, 0]
            m.ends[b, HEAD_AT] = 1
            if last:
                m.ends[b, TAIL] = NIL
            release_chunk(m, c)
    m.meta[TOP] = b
    return entries


@part
def append(m: Memory, s: Int, b: Int) -> None:
    """Append state s to bucket b."""
    if m.ends[b, TAIL] == NIL or m.ends[b, TAIL_AT] == CHUNK:
        extend(m, b)
    c, at = np.uint64(m.ends[b, TAIL]), np.uint64(m.ends[b, TAIL_AT])
    m.chunk[c, at] = s
    m.place[s] = c * np.uint64(CHUNK) + at
    m.ends[b, TAIL_AT] = at + np.uint64(1)


@rare
def extend(m: Memory, b: Int) -> None:
    """Make room at the end of bucket b, with a new chunk if necessary."""
    if m.meta[FREE_CHUNK] == NIL and m.meta[CHUNKS_USED] == m.chunk.shape[0]:
        compact(m)
        if m.ends[b, TAIL] != NIL and m.ends[b, TAIL_AT] < CHUNK:
            return
    c = m.meta[FREE_CHUNK]
    if c != NIL:
        m.meta[FREE_CHUNK] = m.chunk[c, 0]
    else:
        c = m.meta[CHUNKS_USED]
        m.meta[CHUNKS_USED] += 1
    m.chunk[c, 0] = NIL
    if m.ends[b, TAIL] == NIL:
        m.ends[b, HEAD] = c
        m.ends[b, HEAD_AT] = 1
        m.meta[TOP] = max(m.meta[TOP], b)
    else:
        m.chunk[m.ends[b, TAIL], 0] = c
    m.ends[b, TAIL] = c
    m.ends[b, TAIL_AT] = 1


@part
def release_chunk(m: Memory, c: Int) -> None:
    """Put a chunk on the free list."""
    m.chunk[c, 0] = m.meta[FREE_CHUNK]
    m.meta[FREE_CHUNK] = c


@rare
def compact(m: Memory) -> None:
    """Drop the stale entries, in place, keeping the order of the others."""
    for b in range(N_BUCKETS):
        c, at = m.ends[b, HEAD], m.ends[b, HEAD_AT]
        if c == NIL:
            continue
        to, to_at = c, 1
        while True:
            end = m.ends[b, TAIL_AT] if c == m.ends[b, TAIL] else CHUNK
            for i in range(at, end):
                s = m.chunk[c, i]
                if m.tag[s] == b + 1 and m.place[s] == c * CHUNK + i:
                    if to_at == CHUNK:
                        to, to_at = m.chunk[to, 0], 1
                    m.chunk[to, to_at] = s
                    m.place[s] = to * CHUNK + to_at
                    to_at += 1
            if c == m.ends[b, TAIL]:
                break
            c, at = m.chunk[c, 0], 1
        c = m.chunk[to, 0]
        while c != NIL:
            following = m.chunk[c, 0]
            release_chunk(m, c)
            c = following
        m.chunk[to, 0] = NIL
        m.ends[b, TAIL], m.ends[b, TAIL_AT] = to, to_at
        m.ends[b, HEAD_AT] = 1
        if to_at == 1:
            m.ends[b, HEAD] = m.ends[b, TAIL] = NIL
            release_chunk(m, to)


# --- the exact queue ------------------------------------------------------------------------------


@part
def before(m: Memory, s: Int, t: Int) -> bool:
    """Tell whether state s is popped before state t."""
    if m.priority[s] == m.priority[t]:
        return bool(m.key[s] < m.key[t])
    return bool(m.priority[s] > m.priority[t])


@part
def heap_put(m: Memory, i: Int, s: Int) -> None:
    """Write state s at position i of the heap."""
    m.heap[i] = s
    m.place[s] = i


@part
def heap_rise(m: Memory, i: Int) -> Int:
    """Sift the entry at i up; return its new position."""
    s = m.heap[i]
    while i > 0 and before(m, s, m.heap[(i - 1) // 2]):
        heap_put(m, i, m.heap[(i - 1) // 2])
        i = (i - 1) // 2
    heap_put(m, i, s)
    return i


@part
def heap_sink(m: Memory, i: Int) -> None:
    """Sift the entry at i down."""
    s = m.heap[i]
    size = m.meta[QUEUED]
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and before(m, m.heap[child + 1], m.heap[child]):
            child += 1
        if not before(m, m.heap[child], s):
            break
        heap_put(m, i, m.heap[child])
        i = child
    heap_put(m, i, s)


@rare
def heap_set(m: Memory, s: Int, priority: Float, limit: Float) -> None:
    """Do what `set_priority` does, on the heap."""
    if priority > limit:
        if m.tag[s] == 0:
            m.tag[s] = 1
            heap_put(m, m.meta[QUEUED], s)
            m.meta[QUEUED] += 1
        m.priority[s] = priority
        heap_sink(m, heap_rise(m, np.int64(m.place[s])))
    elif m.tag[s] != 0:
        heap_remove(m, np.int64(m.place[s]))


@part
def heap_remove(m: Memory, i: Int) -> None:
    """Remove the entry at i from the heap."""
    m.tag[m.heap[i]] = 0
    m.meta[QUEUED] -= 1
    last = m.heap[m.meta[QUEUED]]
    if i < m.meta[QUEUED]:
        heap_put(m, i, last)
        heap_sink(m, heap_rise(m, i))


@rare
def heap_pop(m: Memory, batch: NDArray[Any]) -> Int:
    """Pop the first state of the heap into `batch`; return 1, or 0 if the heap is empty."""
    if m.meta[QUEUED] == 0:
        return 0
    batch[0, 0] = m.heap[0]
    heap_remove(m, 0)
    m.meta[POPS] += 1
    return 1
