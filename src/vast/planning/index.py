"""Hash table from a 64-bit key to the row of its state: open addressing, linear probing."""

import numpy as np
from numpy.typing import NDArray

from vast.planning.compiled import Int, kernel, part
from vast.planning.memory import FREE_STATE, N_FREE, NEXT_FREE, NIL, SLOTS, Memory


@part
def mix(key: np.uint64) -> np.uint64:
    """Hash a key, so that keys that differ in few bits fall far apart."""
    factor = np.uint64(0xD6E8FEB86659FD93)
    shift = np.uint64(32)
    key = (key ^ (key >> shift)) * factor
    key = (key ^ (key >> shift)) * factor
    return key ^ (key >> shift)


@part
def find(key: NDArray[np.uint64], slot: NDArray[np.int32], k: np.uint64) -> Int:
    """Return the state with key k, or NIL."""
    mask = np.uint64(slot.size - 1)
    i = mix(k) & mask
    while slot[i] != NIL:
        if key[slot[i]] == k:
            return np.int64(slot[i])
        i = (i + np.uint64(1)) & mask
    return np.int64(NIL)


@part
def insert(slot: NDArray[np.int32], k: np.uint64, s: Int) -> None:
    """Insert state s under key k, which must not be present."""
    mask = np.uint64(slot.size - 1)
    i = mix(k) & mask
    while slot[i] != NIL:
        i = (i + np.uint64(1)) & mask
    slot[i] = s


@part
def remove(key: NDArray[np.uint64], slot: NDArray[np.int32], k: np.uint64) -> None:
    """Remove key k, and move later entries back so that no probe sequence is broken."""
    mask = np.uint64(slot.size - 1)
    one = np.uint64(1)
    i = mix(k) & mask
    while key[slot[i]] != k:
        i = (i + one) & mask
    j = (i + one) & mask
    while slot[j] != NIL:
        home = mix(key[slot[j]]) & mask
        if ((j - home) & mask) >= ((j - i) & mask):
            slot[i] = slot[j]
            i = j
        j = (j + one) & mask
    slot[i] = NIL


@part
def find_or_insert(m: Memory, k: np.uint64) -> Int:
    """Return the state with key k; create it if there is none."""
    s = find(m.key, m.slot, k)
    if s != NIL:
        return s
    s = m.meta[FREE_STATE]
    if s != NIL:
        m.meta[FREE_STATE] = m.block[s, NEXT_FREE]
        m.meta[N_FREE] -= 1
    else:
        s = m.meta[SLOTS]
        m.meta[SLOTS] += 1
    m.key[s] = k
    m.u[s] = 0.0
    m.q[s, :] = -np.inf
    insert(m.slot, k, s)
    return s


@kernel
def find_state(key: NDArray[np.uint64], slot: NDArray[np.int32], k: np.uint64) -> Int:
    """Return the state with key k, or NIL."""
    return find(key, slot, k)


@kernel
def rebuild_index(m: Memory, in_use: NDArray[np.bool_]) -> None:
    """Fill an empty hash table with the states in use."""
    for s in range(m.meta[SLOTS]):
        if in_use[s]:
            insert(m.slot, m.key[s], s)
