"""The inner loops over a table's memory: finding, adding and deleting transitions, and sweeping.

Q(s, a) is kept as a sum of two numbers, q and a small `carry`, updated without loss (Knuth's
two-sum). Small backups add many small changes to each value, and plain rounding would do harm
twice: the error would grow with the number of operations, and a change that rounding keeps from
dying out could go round a loop of states for ever. This way Q(s, a) stays what counts and U say.

Indices in the innermost loops are unsigned: Numba then need not look for ones that count from the
end of an array, which would keep LLVM from using vector instructions.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.planning.compiled import Float, Int, kernel, part, prefetch
from vast.planning.memory import (
    ACTION_SHIFT,
    BACKUPS,
    COUNT_SHIFT,
    FREE_STATE,
    LENGTH,
    MAX_COUNT,
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
    STATES,
    TRANSITIONS,
    Memory,
)
from vast.planning.queues import forget, set_priority, take

DONE, STATES_FULL, EDGES_FULL, COUNT_FULL, MISSING = range(5)
"""what a kernel says of a transition"""

STRIDE = 256
"""how many edges are compared before looking whether the one sought was among them"""
AHEAD = 4
"""how many states ahead of the current one their predecessors are fetched"""

# --- from key to state: open addressing with linear probing ---------------------------------------


@part
def mix(key: np.uint64) -> np.uint64:
    """Scramble a key, so that keys that differ in few bits fall far apart."""
    factor = np.uint64(0xD6E8FEB86659FD93)
    shift = np.uint64(32)
    key = (key ^ (key >> shift)) * factor
    key = (key ^ (key >> shift)) * factor
    return key ^ (key >> shift)


@part
def find(key: NDArray[Any], slot: NDArray[Any], k: np.uint64) -> Int:
    """Return the state with key k, or NIL."""
    mask = np.uint64(slot.size - 1)
    i = mix(k) & mask
    while slot[i] != NIL:
        if key[slot[i]] == k:
            return np.int64(slot[i])
        i = (i + np.uint64(1)) & mask
    return np.int64(NIL)


@part
def enter(slot: NDArray[Any], k: np.uint64, s: Int) -> None:
    """Write state s under key k, which is not there yet."""
    mask = np.uint64(slot.size - 1)
    i = mix(k) & mask
    while slot[i] != NIL:
        i = (i + np.uint64(1)) & mask
    slot[i] = s


@part
def strike(key: NDArray[Any], slot: NDArray[Any], k: np.uint64) -> None:
    """Remove key k, moving later entries back so that no search is cut short."""
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
def obtain(m: Memory, k: np.uint64) -> Int:
    """Return the state with key k, new if need be."""
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
    enter(m.slot, k, s)
    return s


@kernel
def find_state(key: NDArray[Any], slot: NDArray[Any], k: np.uint64) -> Int:
    """Return the state with key k, or NIL."""
    return find(key, slot, k)


@kernel
def rebuild_index(m: Memory, in_use: NDArray[Any]) -> None:
    """Fill an empty hash table with the states in use."""
    for s in range(m.meta[SLOTS]):
        if in_use[s]:
            enter(m.slot, m.key[s], s)


# --- predecessors: contiguous blocks of 4, 8, 16 ... edges in one pool ----------------------------


@part
def find_edge(m: Memory, t: Int, pair: Int) -> Int:
    """Return where the edge from a (state, action) pair to state t is, or NIL."""
    i = np.uint64(m.block[t, OFFSET])
    end = i + np.uint64(m.block[t, LENGTH])
    # A state can have a hundred thousand predecessors; this finds in which part of them to look.
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
    """Tell whether the pool must grow before state t, NIL if new, can get one more predecessor."""
    size = 0
    if t != NIL:
        size = m.block[t, SIZE_CLASS]
        if size > 0 and m.block[t, LENGTH] < 1 << (size - 1):
            return False
    size = max(size + 1, 3)
    return bool(m.free_block[size] == NIL and m.meta[POOL_USED] + (1 << (size - 1)) > m.edge.size)


@part
def release_block(m: Memory, start: Int, size: Int) -> None:
    """Put a block on the list of free ones of its size."""
    m.edge[start] = m.free_block[size]
    m.free_block[size] = start


@part
def move_to_larger_block(m: Memory, t: Int) -> None:
    """Give the predecessors of t twice the room they have."""
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
def count_edge(m: Memory, t: Int, pair: Int) -> None:
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
def uncount_edge(m: Memory, t: Int, at: Int) -> None:
    """Count one transition less; an edge with none left gives its place to the block's last."""
    m.edge[at] -= ONE_COUNT
    if m.edge[at] < ONE_COUNT:
        last = m.block[t, LENGTH] - 1
        m.edge[at] = m.edge[m.block[t, OFFSET] + last]
        m.block[t, LENGTH] = last


@part
def release_if_unused(m: Memory, s: Int) -> None:
    """Free the row of a state that no transition leaves or enters any more."""
    if m.block[s, LENGTH] > 0:
        return
    for a in range(m.n.shape[1]):
        if m.n[s, a] > 0:
            return
    forget(m, s)
    strike(m.key, m.slot, np.uint64(m.key[s]))
    if m.block[s, SIZE_CLASS] > 0:
        release_block(m, np.int64(m.block[s, OFFSET]), m.block[s, SIZE_CLASS])
        m.block[s, SIZE_CLASS] = 0
    m.block[s, NEXT_FREE] = m.meta[FREE_STATE]
    m.meta[FREE_STATE] = s
    m.meta[N_FREE] += 1


@kernel
def edges_from(m: Memory, s: Int, words: NDArray[Any], targets: NDArray[Any]) -> Int:
    """Write the edges that leave state s, and where they lead; return how many there are."""
    found = 0
    for t in range(m.meta[SLOTS]):
        start = np.int64(m.block[t, OFFSET])
        for i in range(start, start + m.block[t, LENGTH]):
            if (m.edge[i] & STATE_MASK) == s:
                words[found] = m.edge[i]
                targets[found] = t
                found += 1
    return found


# --- values ---------------------------------------------------------------------------------------


@part
def change_q(m: Memory, s: Int, a: Int, change: Float) -> Float:
    """Add `change` to Q(s, a) without losing what rounding cuts off; return the new value."""
    old = m.q[s, a]
    change += np.float64(m.carry[s, a])
    new = old + change
    rounded = new - old
    m.carry[s, a] = (old - (new - rounded)) + (change - rounded)
    m.q[s, a] = new
    return new


@part
def queue_limit(value: Float, min_priority: Float, noise: Float) -> Float:
    """Return the priority up to which a state is not queued: p_min, or what may be rounding."""
    return max(min_priority, noise * abs(value))


@part
def settle(m: Memory, s: Int, min_priority: Float, noise: Float) -> None:
    """Find V(s) among all actions, and queue s accordingly (Algorithm 2, lines 8-9)."""
    best: Int = np.uint64(0)
    for a in range(np.uint64(1), np.uint64(m.q.shape[1])):
        if m.q[s, a] > m.q[s, best]:
            best = a
    m.best[s] = best
    v: Float = m.q[s, best]
    if v == -np.inf:
        v = 0.0
    limit = queue_limit(v, min_priority, noise)
    set_priority(m, s, abs(m.u[s] - v), limit)


@part
def offset_of(m: Memory, s: Int, a: Int) -> Float:
    """Return what `set_reward` adds to E[r|s,a]."""
    return m.offset[s, a] if s < m.offset.shape[0] else 0.0


@part
def add_reward(m: Memory, s: Int, a: Int, reward: Float) -> None:
    """Add to the sum of rewards without losing what rounding cuts off."""
    old = m.reward[s, a]
    new = old + reward
    rounded = new - old
    m.reward[s, a] = new
    m.reward_carry[s, a] += (old - (new - rounded)) + (reward - rounded)


@part
def add_one(
    m: Memory,
    state: np.uint64,
    action: Int,
    reward: Float,
    next_state: np.uint64,
    terminal: bool,
    discount: Float,
    min_priority: Float,
    noise: Float,
) -> Int:
    """Count a transition (Algorithm 2, lines 13-18), unless there is no room for it."""
    if m.meta[SLOTS] - m.meta[N_FREE] + 2 > m.key.size:
        return STATES_FULL
    if not terminal and lacks_room(m, find(m.key, m.slot, next_state)):
        return EDGES_FULL
    a = np.int64(action)
    s = obtain(m, state)
    if m.n[s, a] == MAX_COUNT:
        return COUNT_FULL
    future = 0.0
    if terminal:
        m.terminal[s, a] += 1
    else:
        t = obtain(m, next_state)
        count_edge(m, t, a << ACTION_SHIFT | s)
        future = discount * m.u[t]
    if m.n[s, a] == 0:
        m.q[s, a] = 0.0
        first = True
        for b in range(m.n.shape[1]):
            first = first and m.n[s, b] == 0
        if first:
            m.meta[STATES] += 1
    m.n[s, a] += 1
    m.meta[TRANSITIONS] += 1
    add_reward(m, s, a, reward)
    target = reward + offset_of(m, s, a) + future
    q = m.q[s, a]
    change_q(m, s, a, (target - q - np.float64(m.carry[s, a])) / m.n[s, a])
    settle(m, s, min_priority, noise)
    return DONE


@part
def delete_one(
    m: Memory,
    state: np.uint64,
    action: Int,
    reward: Float,
    next_state: np.uint64,
    terminal: bool,
    discount: Float,
    min_priority: Float,
    noise: Float,
) -> Int:
    """Uncount a transition (Algorithm 2, lines 19-31), unless it is not there."""
    a = np.int64(action)
    s = find(m.key, m.slot, state)
    if s == NIL:
        return MISSING
    t = np.int64(NIL)
    future = 0.0
    if terminal:
        if m.terminal[s, a] == 0:
            return MISSING
        m.terminal[s, a] -= 1
    else:
        t = find(m.key, m.slot, next_state)
        if t == NIL:
            return MISSING
        at = find_edge(m, t, a << ACTION_SHIFT | s)
        if at == NIL:
            return MISSING
        uncount_edge(m, t, at)
        future = discount * m.u[t]
    m.n[s, a] -= 1
    m.meta[TRANSITIONS] -= 1
    if m.n[s, a] > 0:
        add_reward(m, s, a, -reward)
        target = reward + offset_of(m, s, a) + future
        q = m.q[s, a]
        change_q(m, s, a, (q + np.float64(m.carry[s, a]) - target) / m.n[s, a])
    else:
        m.q[s, a] = -np.inf
        m.carry[s, a] = 0.0
        m.reward[s, a] = 0.0
        m.reward_carry[s, a] = 0.0
        if s < m.offset.shape[0]:
            m.offset[s, a] = 0.0
    settle(m, s, min_priority, noise)
    if m.q[s, m.best[s]] == -np.inf:
        m.meta[STATES] -= 1
        release_if_unused(m, s)
    if t != NIL and t != s:
        release_if_unused(m, t)
    return DONE


@kernel
def add(
    m: Memory,
    begin: Int,
    states: NDArray[Any],
    actions: NDArray[Any],
    rewards: NDArray[Any],
    next_states: NDArray[Any],
    terminals: NDArray[Any],
    discount: Float,
    min_priority: Float,
    noise: Float,
) -> tuple[Int, Int]:
    """Add transitions from number `begin` on; return how far it got, and why no further."""
    for i in range(begin, states.size):
        outcome = add_one(
            m,
            states[i],
            actions[i],
            rewards[i],
            next_states[i],
            terminals[i],
            discount,
            min_priority,
            noise,
        )
        if outcome != DONE:
            return i, outcome
    return states.size, DONE


@part
def shift_count(
    m: Memory, state: np.uint64, action: Int, next_state: np.uint64, terminal: bool, by: Int
) -> bool:
    """Change the bare count of a transition, and nothing else; refuse to go below zero."""
    a = np.int64(action)
    s = find(m.key, m.slot, state)
    if s == NIL:
        return False
    if terminal:
        if m.terminal[s, a] + by < 0:
            return False
        m.terminal[s, a] += by
        return True
    t = find(m.key, m.slot, next_state)
    if t == NIL:
        return False
    at = find_edge(m, t, a << ACTION_SHIFT | s)
    if at == NIL or (m.edge[at] >> COUNT_SHIFT) + by < 0:
        return False
    m.edge[at] += by * ONE_COUNT
    return True


@part
def first_missing(
    m: Memory,
    states: NDArray[Any],
    actions: NDArray[Any],
    next_states: NDArray[Any],
    terminals: NDArray[Any],
) -> Int:
    """Return the number of the first transition that could not be deleted after those before it."""
    found = states.size
    for i in range(states.size):
        if not shift_count(m, states[i], actions[i], next_states[i], terminals[i], -1):
            found = i
            break
    for i in range(found):
        shift_count(m, states[i], actions[i], next_states[i], terminals[i], 1)
    return found


@kernel
def delete(
    m: Memory,
    states: NDArray[Any],
    actions: NDArray[Any],
    rewards: NDArray[Any],
    next_states: NDArray[Any],
    terminals: NDArray[Any],
    discount: Float,
    min_priority: Float,
    noise: Float,
) -> Int:
    """Delete all these transitions, or none: return the number of the first that is not there."""
    if states.size > 1:
        missing = first_missing(m, states, actions, next_states, terminals)
        if missing < states.size:
            return missing
    for i in range(states.size):
        outcome = delete_one(
            m,
            states[i],
            actions[i],
            rewards[i],
            next_states[i],
            terminals[i],
            discount,
            min_priority,
            noise,
        )
        if outcome != DONE:
            return i
    return states.size


@kernel
def shift_reward(
    m: Memory, s: Int, a: Int, change: Float, min_priority: Float, noise: Float
) -> None:
    """Change the offset of E[r|s,a], and Q(s, a) with it."""
    m.offset[s, a] += change
    change_q(m, s, a, change)
    settle(m, s, min_priority, noise)


# --- sweeping -------------------------------------------------------------------------------------


@part
def tell_predecessors(m: Memory, t: Int, discount: Float, min_priority: Float, noise: Float) -> Int:
    """Pass the change of V(t) on to every Q(s, a) that leads to t (Algorithm 2, lines 4-10)."""
    forget(m, t)
    v = m.q[t, np.uint64(m.best[t])]
    if v == -np.inf:
        v = 0.0
    change = discount * (v - m.u[t])
    m.u[t] = v
    start = np.uint64(m.block[t, OFFSET])
    length = np.uint64(m.block[t, LENGTH])
    for i in range(start, start + length):
        edge = np.uint64(m.edge[i])
        s = edge & np.uint64(STATE_MASK)
        a = (edge >> np.uint64(ACTION_SHIFT)) & np.uint64(255)
        count = np.float64(edge >> np.uint64(COUNT_SHIFT))
        old = m.q[s, a]
        new = change_q(m, s, a, change * count / m.n[s, a])
        best = np.uint64(m.best[s])
        if a == best:
            if new < old:
                settle(m, s, min_priority, noise)
                continue
        elif new > m.q[s, best]:
            m.best[s] = a
        else:
            continue
        limit = queue_limit(new, min_priority, noise)
        set_priority(m, s, abs(m.u[s] - new), limit)
    return np.int64(length)


@part
def sweep_batch(
    m: Memory, batch: NDArray[Any], budget: Int, discount: Float, min_priority: Float, noise: Float
) -> Int:
    """Finish the next few states of the queue; return the number of backups, or NIL if none."""
    taken = take(m, batch, budget)
    if taken == 0:
        return np.int64(NIL)
    backups = 0
    for j in range(np.uint64(taken + AHEAD)):
        if j < taken:
            t = np.uint64(batch[j, 0])
            start = np.uint64(m.block[t, OFFSET])
            for i in range(start, start + np.uint64(m.block[t, LENGTH])):
                prefetch(m.u, np.uint64(m.edge[i]) & np.uint64(STATE_MASK))
        if j >= AHEAD:
            backups += tell_predecessors(
                m, np.uint64(batch[j - AHEAD, 0]), discount, min_priority, noise
            )
    m.meta[BACKUPS] += backups
    return backups


@kernel
def sweep(
    m: Memory, batch: NDArray[Any], budget: Int, discount: Float, min_priority: Float, noise: Float
) -> Int:
    """Do backups in the order of the queue until the budget is spent or the queue is empty."""
    done = 0
    while done < budget:
        backups = sweep_batch(m, batch, budget - done, discount, min_priority, noise)
        if backups == NIL:
            break
        done += backups
    return done
