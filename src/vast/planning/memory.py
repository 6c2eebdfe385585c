"""The memory of a table: flat arrays and their layout.

A backup reads and writes most fields of one state, which is rarely in the cache. These fields are
therefore stored in one row of bytes per state, aligned to the 64 bytes of a cache line (exactly one
line for up to three actions):

    bytes  8   8 A    4 A    4 A   4      2    2
           u   q      carry  n     place  tag  best

The arrays with these names are strided views into the rows. `f8`, `f4`, `i4` and `i2` are the same
bytes as flat arrays of numbers, for the innermost loop: it computes the position of a row once and
finds the fields by `row_layout`. Fields that only adding and deleting need are stored elsewhere.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

NIL = -1
"""no state, no chunk, no block"""

MAX_ACTIONS = 256
MAX_STATES = 1 << 28
MAX_EDGES = (1 << 31) - 1
MIN_STATES, MIN_EDGES = 1024, 4096
"""the initial capacity of a table"""
MAX_COUNT = (1 << 27) - 1
"""an edge is one word: 28 bits for its state, 8 for its action, 27 for its count"""

ACTION_SHIFT = 28
COUNT_SHIFT = 36
STATE_MASK = (1 << ACTION_SHIFT) - 1
PAIR_MASK = (1 << COUNT_SHIFT) - 1
ONE_COUNT = 1 << COUNT_SHIFT

CHUNK = 16
"""words in a chunk of a bucket: the index of the next chunk, and up to 15 states"""
N_BUCKETS = 255
HEAD, HEAD_AT, TAIL, TAIL_AT = range(4)
"""columns of `ends`"""
OFFSET, LENGTH, SIZE_CLASS, NEXT_FREE = range(4)
"""columns of `block`"""
N_SIZE_CLASSES = 32

(
    SLOTS,  # rows ever used
    FREE_STATE,  # first of the released rows, linked by NEXT_FREE
    N_FREE,  # how many released rows there are
    POOL_USED,  # edges ever used
    TOP,  # no bucket above this one holds a state
    QUEUED,  # states in the queue
    FREE_CHUNK,  # first of the free chunks
    CHUNKS_USED,  # chunks ever used
    POPS,  # states popped from the queue so far
    BACKUPS,  # updates of a Q(s, a) so far
    TRANSITIONS,  # the sum of all counts
    STATES,  # states with outgoing transitions
    N_META,
) = range(13)
"""slots of `meta`"""


class Memory(NamedTuple):
    """The arrays of a table, as the kernels see them; S states, A actions."""

    u: NDArray[np.float64]
    """[S] U(s): the value of s last propagated to its predecessors"""
    q: NDArray[np.float64]
    """[S, A] Q(s, a); -inf where a was never taken in s"""
    carry: NDArray[np.float32]
    """[S, A] the rounding error of Q(s, a): the exact value is q + carry"""
    n: NDArray[np.int32]
    """[S, A] N(s, a): how often a was taken in s"""
    place: NDArray[np.int32]
    """[S] the position of s in the queue, if it is queued"""
    tag: NDArray[np.int16]
    """[S] 0: not queued; otherwise 1 + its bucket (1 with the exact queue)"""
    best: NDArray[np.int16]
    """[S] the action with the highest Q(s, a), so that V(s) = Q(s, best)"""
    block: NDArray[np.int32]
    """[S, 4] the block of predecessors of s: offset and length in `edge`, 1 + log2 of its size"""
    edge: NDArray[np.int64]
    """[P] pool of predecessors (s, a) with their counts, one word each, contiguous per successor"""
    free_block: NDArray[np.int64]
    """[32] first free block of each size in `edge`"""
    key: NDArray[np.uint64]
    """[S] the 64-bit code of each state"""
    slot: NDArray[np.int32]
    """[power of 2] open-addressing hash table from key to state"""
    reward: NDArray[np.float64]
    """[S, A] sum of the rewards"""
    reward_carry: NDArray[np.float64]
    """[S, A] the rounding error of that sum"""
    offset: NDArray[np.float64]
    """[S, A] the offset that `set_reward` adds to E[r|s,a]; [0, A] until it is first called"""
    terminal: NDArray[np.int32]
    """[S, A] how often a ended the episode in s"""
    chunk: NDArray[np.int32]
    """[C, 16] chunks of the bucketed queue"""
    ends: NDArray[np.int32]
    """[buckets, 4] head and tail of each bucket"""
    heap: NDArray[np.int32]
    """[S] the exact queue, a binary heap; [0] with the bucketed queue"""
    priority: NDArray[np.float64]
    """[S] |U - V| of the states in the heap; [0] with the bucketed queue"""
    meta: NDArray[np.int64]
    """[N_META] counters and list heads"""
    f8: NDArray[np.float64]
    f4: NDArray[np.float32]
    i4: NDArray[np.int32]
    i2: NDArray[np.int16]
    """the rows of all states, as flat arrays"""


IN_ROWS = ("u", "q", "carry", "n", "place", "tag", "best")
FLAT = ("f8", "f4", "i4", "i2")
"""the two kinds of views of the rows"""


class Row(NamedTuple):
    """The byte offset of each field in a state's row (U is at 0), and the size of the row."""

    q: int
    carry: int
    n: int
    place: int
    tag: int
    best: int
    size: int


def row_layout(n_actions: int) -> Row:
    """Return the layout of a row; Numba also compiles this for the kernels."""
    q = 8
    carry = q + 8 * n_actions
    n = carry + 4 * n_actions
    place = n + 4 * n_actions
    tag = place + 4
    best = tag + 2
    size = (best + 2 + 63) // 64 * 64
    return Row(q, carry, n, place, tag, best, size)


def allocate(n_actions: int, n_states: int, n_edges: int, *, exact: bool, offsets: bool) -> Memory:
    """Return the memory of an empty table with this capacity for states and edges."""
    row = row_layout(n_actions)
    rows = _aligned_bytes(n_states, row.size)

    def field(dtype: Any, start: int, width: int) -> Any:
        size = np.dtype(dtype).itemsize
        return rows[:, start : start + size * width].view(dtype)

    n_chunks = 2 * (n_states // (CHUNK - 1) + N_BUCKETS + 1)
    n_heap = n_states if exact else 0
    pairs = (n_states, n_actions)
    memory = Memory(
        u=field(np.float64, 0, 1)[:, 0],
        q=field(np.float64, row.q, n_actions),
        carry=field(np.float32, row.carry, n_actions),
        n=field(np.int32, row.n, n_actions),
        place=field(np.int32, row.place, 1)[:, 0],
        tag=field(np.int16, row.tag, 1)[:, 0],
        best=field(np.int16, row.best, 1)[:, 0],
        block=_aligned_bytes(n_states, 16).view(np.int32),
        edge=np.zeros(n_edges, np.int64),
        free_block=np.full(N_SIZE_CLASSES, NIL, np.int64),
        key=np.zeros(n_states, np.uint64),
        slot=np.full(1 << (2 * n_states - 1).bit_length(), NIL, np.int32),
        reward=np.zeros(pairs),
        reward_carry=np.zeros(pairs),
        offset=np.zeros(pairs if offsets else (0, n_actions)),
        terminal=np.zeros(pairs, np.int32),
        chunk=np.zeros((0 if exact else n_chunks, CHUNK), np.int32),
        ends=np.full((N_BUCKETS, 4), NIL, np.int32),
        heap=np.zeros(n_heap, np.int32),
        priority=np.zeros(n_heap),
        meta=np.zeros(N_META, np.int64),
        f8=rows.reshape(-1).view(np.float64),
        f4=rows.reshape(-1).view(np.float32),
        i4=rows.reshape(-1).view(np.int32),
        i2=rows.reshape(-1).view(np.int16),
    )
    memory.meta[[FREE_STATE, TOP, FREE_CHUNK]] = NIL
    return memory


def _aligned_bytes(rows: int, width: int) -> NDArray[np.uint8]:
    """Return zeroed bytes whose rows begin at the start of a cache line of 64 bytes."""
    raw = np.zeros(rows * width + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + rows * width].reshape(rows, width)


def copy_into(new: Memory, old: Memory) -> None:
    """Copy a table's memory into a larger one; the hash table must then be rebuilt."""
    for name, source in old._asdict().items():
        if name not in ("slot", *IN_ROWS, *FLAT[1:]):
            getattr(new, name)[: len(source)] = source


def in_use(m: Memory) -> NDArray[np.bool_]:
    """Tell for each row ever used whether it holds a state now."""
    rows = slice(0, int(m.meta[SLOTS]))
    used: NDArray[np.bool_] = (m.n[rows] > 0).any(axis=1) | (m.block[rows, LENGTH] > 0)
    return used


def nbytes(m: Memory) -> int:
    """Return the total size of all arrays in bytes; rows are counted once."""
    others = (array for name, array in m._asdict().items() if name not in (*IN_ROWS, *FLAT[1:]))
    total: int = sum(array.nbytes for array in others)
    return total
