"""A table's state as a dictionary of plain arrays, and back.

The kernels trust their memory, and a loaded state may come from anywhere. Every index is therefore
checked before it is used.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.planning.compiled import Int, kernel, part
from vast.planning.memory import (
    ACTION_SHIFT,
    CHUNK,
    CHUNKS_USED,
    COUNT_SHIFT,
    FLAT,
    FREE_CHUNK,
    FREE_STATE,
    HEAD,
    HEAD_AT,
    IN_ROWS,
    LENGTH,
    MAX_COUNT,
    MAX_EDGES,
    MAX_STATES,
    MIN_EDGES,
    MIN_STATES,
    N_BUCKETS,
    N_FREE,
    N_SIZE_CLASSES,
    NEXT_FREE,
    NIL,
    OFFSET,
    ONE_COUNT,
    POOL_USED,
    QUEUED,
    SIZE_CLASS,
    SLOTS,
    STATE_MASK,
    TAIL,
    TAIL_AT,
    TOP,
    Memory,
    allocate,
    in_use,
)

VERSION = 1

SAVED = tuple(name for name in Memory._fields if name not in ("slot", *FLAT))
PER_STATE = (
    *IN_ROWS,
    *("block", "key", "reward", "reward_carry", "terminal", "offset", "heap", "priority"),
)
"""arrays that are saved only up to the last row ever used"""


def pack(m: Memory, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return copies of all arrays of a table, cut to the part in use."""
    used = {name: int(m.meta[SLOTS]) for name in PER_STATE}
    used |= {"edge": int(m.meta[POOL_USED]), "chunk": int(m.meta[CHUNKS_USED])}
    arrays = {name: getattr(m, name)[: used.get(name)].copy() for name in SAVED}
    # The layout of the queue depends on the capacity, so the capacity is part of the state.
    room = {"room_for_states": len(m.key), "room_for_edges": len(m.edge)}
    return {"version": VERSION, **settings, **room, **arrays}


def with_exact_queue(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return a saved table with its states queued in the exact queue, in the same rows."""
    if saved["queue"] == "exact":
        return dict(saved)
    rows = np.arange(len(saved["key"]))
    v = saved["q"][rows, saved["best"]]
    priority = np.abs(saved["u"] - np.where(v == -np.inf, 0.0, v))
    queued = np.flatnonzero(saved["tag"])
    # Sorted from first to last, they are a heap.
    queued = queued[np.lexsort((saved["key"][queued], -priority[queued]))]
    heap, place = np.zeros(len(rows), np.int32), saved["place"].copy()
    heap[: len(queued)] = queued
    place[queued] = np.arange(len(queued))
    meta = saved["meta"].copy()
    meta[[TOP, FREE_CHUNK, CHUNKS_USED]] = NIL, NIL, 0
    return {
        **saved,
        "queue": "exact",
        "heap": heap,
        "priority": priority,
        "place": place,
        "tag": (saved["tag"] != 0).astype(np.int16),
        "chunk": saved["chunk"][:0],
        "ends": np.full_like(saved["ends"], NIL),
        "meta": meta,
    }


def unpack(saved: Mapping[str, Any], settings: Mapping[str, Any]) -> Memory:
    """Return the memory of a saved table without its hash table; ValueError if it is unsound."""
    for name, mine in {"version": VERSION, **settings}.items():
        theirs = _scalar(saved, name)
        if not isinstance(theirs, int | float | str) or theirs != mine:
            raise ValueError(f"saved table: {name} must be {mine!r}, got {theirs!r}")
    room_for_states = _room(saved, "room_for_states", MIN_STATES, MAX_STATES)
    room_for_edges = _room(saved, "room_for_edges", MIN_EDGES, MAX_EDGES)
    arrays = {name: _array(saved, name) for name in SAVED}
    slots, edges = len(arrays["key"]), len(arrays["edge"])
    _require(slots <= room_for_states, "room_for_states")
    _require(edges <= room_for_edges, "room_for_edges")
    m = allocate(
        settings["n_actions"],
        room_for_states,
        room_for_edges,
        exact=settings["queue"] == "exact",
        offsets=len(arrays["offset"]) > 0,
    )
    for name, array in arrays.items():
        room = getattr(m, name)
        _require(array.dtype == room.dtype and array.shape[1:] == room.shape[1:], name)
        _require(len(array) <= len(room), name)
        room[: len(array)] = array
    _check(m, slots, edges, len(arrays["chunk"]))
    return m


def _scalar(saved: Mapping[str, Any], name: str) -> Any:
    """Return a number or string; np.savez turns them into arrays without dimensions."""
    if name not in saved:
        raise ValueError(f"saved table: {name} is missing")
    value = saved[name]
    single = isinstance(value, np.ndarray | np.generic) and value.size == 1
    return value.item() if single else value


def _room(saved: Mapping[str, Any], name: str, least: int, most: int) -> int:
    room = _scalar(saved, name)
    _require(isinstance(room, int) and least <= room <= most, name)
    return int(room)


def _array(saved: Mapping[str, Any], name: str) -> NDArray[Any]:
    if not isinstance(saved.get(name), np.ndarray) or saved[name].ndim == 0:
        raise ValueError(f"saved table: {name} is missing or not an array")
    array: NDArray[Any] = saved[name]
    return array


def _require(sound: bool | np.bool_, name: str) -> None:
    if not sound:
        raise ValueError(f"saved table: {name} contradicts the rest; the file is damaged")


def _within(values: NDArray[Any], low: int, below: int) -> bool:
    return bool(values.size == 0 or (values.min() >= low and values.max() < below))


def _check(m: Memory, slots: int, edges: int, chunks: int) -> None:
    """Raise ValueError unless every index is valid."""
    rows = slice(0, slots)
    meta = m.meta
    _require(meta[SLOTS] == slots and meta[POOL_USED] == edges, "meta")
    _require(meta[CHUNKS_USED] == chunks and NIL <= meta[TOP] < N_BUCKETS, "meta")
    _require(0 <= meta[N_FREE] <= slots and 0 <= meta[QUEUED] <= slots, "meta")
    _require(_within(m.best[rows], 0, m.q.shape[1]), "best")
    _require(_within(m.n[rows], 0, MAX_COUNT + 1), "n")
    _require(_within(m.terminal[rows], 0, MAX_COUNT + 1), "terminal")
    _require(blocks_are_sound(m, np.zeros(edges, np.bool_)), "block")
    _require(free_states_are_sound(m, in_use(m)), "block")
    keys = np.sort(m.key[rows][in_use(m)])
    _require((keys[1:] != keys[:-1]).all(), "key")
    waiting = m.tag[rows] != 0
    _require(np.count_nonzero(waiting) == meta[QUEUED], "tag")
    if len(m.heap):
        heap = m.heap[: meta[QUEUED]]
        _require(_within(heap, 0, slots), "heap")
        _require((m.place[heap] == np.arange(len(heap))).all() and m.tag[heap].all(), "heap")
    else:
        _require(_within(m.tag[rows], 0, N_BUCKETS + 1), "tag")
        _require(_within(m.chunk[:chunks, 1:], 0, max(slots, 1)), "chunk")
        _require(chunks_are_sound(m, np.zeros(chunks, np.bool_)), "chunk")


@kernel
def blocks_are_sound(m: Memory, seen: NDArray[np.bool_]) -> bool:
    """Tell whether all blocks lie in the pool, do not overlap, and hold valid edges."""
    for s in range(m.meta[SLOTS]):
        size, length = m.block[s, SIZE_CLASS], m.block[s, LENGTH]
        if not 0 <= size < N_SIZE_CLASSES or not 0 <= length <= (1 << size) >> 1:
            return False
        if size > 0 and not claim_block(seen, m.block[s, OFFSET], size):
            return False
        for i in range(length):
            word = m.edge[m.block[s, OFFSET] + i]
            action = word >> ACTION_SHIFT & 255
            if word < ONE_COUNT or word & STATE_MASK >= m.meta[SLOTS] or action >= m.n.shape[1]:
                return False
            if m.n[word & STATE_MASK, action] < word >> COUNT_SHIFT:
                return False
    for size in range(N_SIZE_CLASSES):
        start = m.free_block[size]
        while start != NIL:
            if size == 0 or not claim_block(seen, start, size):
                return False
            start = m.edge[start]
    return True


@part
def claim_block(seen: NDArray[np.bool_], start: Int, size: Int) -> bool:
    """Mark a block as seen, unless it leaves the pool or overlaps a block already seen."""
    end = start + (1 << (size - 1))
    if start < 0 or end > seen.size:
        return False
    for i in range(start, end):
        if seen[i]:
            return False
        seen[i] = True
    return True


@kernel
def free_states_are_sound(m: Memory, seen: NDArray[np.bool_]) -> bool:
    """Tell whether the free list holds exactly the rows that are not in use."""
    s = m.meta[FREE_STATE]
    free = 0
    while s != NIL:
        if not 0 <= s < m.meta[SLOTS] or seen[s] or m.block[s, SIZE_CLASS] != 0 or m.tag[s] != 0:
            return False
        seen[s] = True
        free += 1
        s = np.int64(m.block[s, NEXT_FREE])
    return bool(free == m.meta[N_FREE] and seen.all())


@kernel
def chunks_are_sound(m: Memory, seen: NDArray[np.bool_]) -> bool:
    """Tell whether the lists of chunks end, and every queued state has its entry in one."""
    waiting = 0
    for b in range(N_BUCKETS):
        c, at = np.int64(m.ends[b, HEAD]), np.int64(m.ends[b, HEAD_AT])
        if c == NIL:
            if m.ends[b, TAIL] != NIL:
                return False
            continue
        if b > m.meta[TOP]:
            return False
        while True:
            last = c == m.ends[b, TAIL]
            end = np.int64(m.ends[b, TAIL_AT]) if last else np.int64(CHUNK)
            if not 0 <= c < seen.size or seen[c] or not 1 <= at <= end <= CHUNK:
                return False
            seen[c] = True
            for i in range(at, end):
                s = m.chunk[c, i]
                waiting += m.tag[s] == b + 1 and m.place[s] == c * CHUNK + i
            if last:
                break
            c, at = np.int64(m.chunk[c, 0]), np.int64(1)
    c = m.meta[FREE_CHUNK]
    while c != NIL:
        if not 0 <= c < seen.size or seen[c]:
            return False
        seen[c] = True
        c = np.int64(m.chunk[c, 0])
    return bool(waiting == m.meta[QUEUED] and seen.all())
