"""The inner loops over a table's memory: adding and deleting transitions, and sweeping.

Q(s, a) is stored as the sum of two numbers, q and a small `carry`, updated without rounding error
(Knuth's two-sum). Small backups add many small changes to each value. Plain rounding would do harm
twice: the error would grow with the number of operations, and a change that rounding keeps from
dying out could circle in a loop of states forever. With the carry, Q(s, a) remains the exact
function of the counts and U.

Indices in the innermost loops are unsigned: Numba then does not check for negative indices, which
would keep LLVM from vectorizing.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vast.planning.arguments import Columns
from vast.planning.compiled import Float, Int, kernel, part, prefetch
from vast.planning.edges import (
    decrement_edge,
    find_edge,
    increment_edge,
    lacks_room,
    release_if_unused,
)
from vast.planning.index import find, find_or_insert
from vast.planning.memory import (
    ACTION_SHIFT,
    BACKUPS,
    COUNT_SHIFT,
    LENGTH,
    MAX_COUNT,
    N_FREE,
    NIL,
    OFFSET,
    ONE_COUNT,
    SLOTS,
    STATE_MASK,
    STATES,
    TRANSITIONS,
    Memory,
    row_layout,
)
from vast.planning.queues import dequeue, pop_batch, set_priority

DONE, STATES_FULL, EDGES_FULL, COUNT_FULL, MISSING = range(5)
"""outcome of adding or deleting a transition"""

AHEAD = 4
"""how many states ahead the predecessors are prefetched"""


# Python passes the fields of these to a kernel one by one: Numba unpacks tuples slowly.


class Constants(NamedTuple):
    """The hyperparameters of a table, which never change."""

    discount: Float
    min_priority: Float
    noise: Float
    """the fraction of a value that may be rounding error"""


class Transition(NamedTuple):
    """One transition, as Algorithm 2 counts it."""

    state: Int
    action: Int
    reward: Float
    next_state: Int
    terminal: bool


@part
def transition_at(columns: Columns, i: Int) -> Transition:
    """Return one of several transitions."""
    states, actions, rewards, next_states, terminals = columns
    return Transition(
        states[i], np.int64(actions[i]), rewards[i], next_states[i], bool(terminals[i])
    )


# --- values ---------------------------------------------------------------------------------------


@part
def change_q(m: Memory, s: Int, a: Int, change: Float) -> Float:
    """Add `change` to Q(s, a), keeping the rounding error in the carry; return the new value."""
    old = m.q[s, a]
    change += np.float64(m.carry[s, a])
    new = old + change
    rounded = new - old
    m.carry[s, a] = (old - (new - rounded)) + (change - rounded)
    m.q[s, a] = new
    return new


@part
def queue_limit(value: Float, constants: Constants) -> Float:
    """Return the priority up to which a state is not queued: p_min, or the rounding error."""
    return max(constants.min_priority, constants.noise * abs(value))


layout_of = part(row_layout)


@part
def refresh_value(m: Memory, s: Int, constants: Constants) -> None:
    """Recompute V(s), the maximum over all actions, and s's priority (Algorithm 2, lines 8-9)."""
    n_actions = np.uint64(m.q.shape[1])
    layout = layout_of(m.q.shape[1])
    row = np.uint64(s) * np.uint64(layout.size >> 3)
    q_at = row + np.uint64(layout.q >> 3)
    best: Int = np.uint64(0)
    v: Float = m.f8[q_at]
    for a in range(np.uint64(1), n_actions):
        # Selected without a branch: which action is best is hard to predict.
        q = m.f8[q_at + a]
        better = q > v
        v = q if better else v
        best = a if better else best
    m.best[s] = best
    v = 0.0 if v == -np.inf else v
    limit = queue_limit(v, constants)
    set_priority(m, s, abs(m.f8[row] - v), limit)


@part
def offset_of(m: Memory, s: Int, a: Int) -> Float:
    """Return the offset that `set_reward` adds to E[r|s,a]."""
    return m.offset[s, a] if s < m.offset.shape[0] else 0.0


@part
def add_reward(m: Memory, s: Int, a: Int, reward: Float) -> None:
    """Add to the sum of rewards, keeping the rounding error in the carry."""
    old = m.reward[s, a]
    new = old + reward
    rounded = new - old
    m.reward[s, a] = new
    m.reward_carry[s, a] += (old - (new - rounded)) + (reward - rounded)


@part
def add_one(m: Memory, transition: Transition, constants: Constants) -> Int:
    """Add a transition (Algorithm 2, lines 13-16), unless there is no room for it."""
    state, a, reward, next_state, terminal = transition
    if m.meta[SLOTS] - m.meta[N_FREE] + 2 > m.key.size:
        return STATES_FULL
    if not terminal and lacks_room(m, find(m.key, m.slot, next_state)):
        return EDGES_FULL
    s = find_or_insert(m, state)
    if m.n[s, a] == MAX_COUNT:
        return COUNT_FULL
    future = 0.0
    if terminal:
        m.terminal[s, a] += 1
    else:
        t = find_or_insert(m, next_state)
        increment_edge(m, t, a << ACTION_SHIFT | s)
        future = constants.discount * m.u[t]
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
    refresh_value(m, s, constants)
    return DONE


@part
def delete_one(m: Memory, transition: Transition, constants: Constants) -> Int:
    """Delete a transition (Algorithm 2, lines 19-30), unless it is not in the table."""
    state, a, reward, next_state, terminal = transition
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
        decrement_edge(m, t, at)
        future = constants.discount * m.u[t]
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
    refresh_value(m, s, constants)
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
    """Add the transitions from index `begin` on; return the index reached and the outcome there."""
    columns = (states, actions, rewards, next_states, terminals)
    constants = Constants(discount, min_priority, noise)
    for i in range(begin, states.size):
        outcome = add_one(m, transition_at(columns, i), constants)
        if outcome != DONE:
            return i, outcome
    return states.size, DONE


@part
def shift_count(m: Memory, transition: Transition, by: Int) -> bool:
    """Change only the count of a transition; return False if it would become negative."""
    state, a, _, next_state, terminal = transition
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
def first_missing(m: Memory, columns: Columns) -> Int:
    """Return the index of the first transition that could not be deleted after those before it."""
    found = columns[0].size
    for i in range(columns[0].size):
        if not shift_count(m, transition_at(columns, i), -1):
            found = i
            break
    for i in range(found):
        shift_count(m, transition_at(columns, i), 1)
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
    """Delete all these transitions or none; return the index of the first one missing."""
    columns = (states, actions, rewards, next_states, terminals)
    constants = Constants(discount, min_priority, noise)
    if states.size > 1:
        missing = first_missing(m, columns)
        if missing < states.size:
            return missing
    for i in range(states.size):
        outcome = delete_one(m, transition_at(columns, i), constants)
        if outcome != DONE:
            return i
    return states.size


@kernel
def shift_reward(
    m: Memory, s: Int, a: Int, change: Float, discount: Float, min_priority: Float, noise: Float
) -> None:
    """Change the offset of E[r|s,a], and Q(s, a) with it."""
    constants = Constants(discount, min_priority, noise)
    m.offset[s, a] += change
    change_q(m, s, a, change)
    refresh_value(m, s, constants)


# --- sweeping -------------------------------------------------------------------------------------


@part
def backup_predecessors(m: Memory, t: Int, constants: Constants) -> Int:
    """Propagate the change of V(t) to every Q(s, a) that leads to t (Algorithm 2, lines 4-10).

    This is the hot loop, so `change_q` and `refresh_value` are written out here: one product gives
    the position of all fields of a row (see memory.py), and V(s) needs a maximum over all actions
    only if the best action has become worse.
    """
    dequeue(m, t)
    v = m.q[t, np.uint64(m.best[t])]
    if v == -np.inf:
        v = 0.0
    change = constants.discount * (v - m.u[t])
    m.u[t] = v
    two, four = np.uint64(2), np.uint64(4)
    layout = layout_of(m.q.shape[1])
    words = np.uint64(layout.size >> 3)
    q_in_row = np.uint64(layout.q >> 3)
    carry_in_row = np.uint64(layout.carry >> 2)
    carry_to_n = np.uint64((layout.n - layout.carry) >> 2)
    best_in_row = np.uint64(layout.best >> 1)
    start = np.uint64(m.block[t, OFFSET])
    length = np.uint64(m.block[t, LENGTH])
    for i in range(start, start + length):
        edge = np.uint64(m.edge[i])
        s = edge & np.uint64(STATE_MASK)
        a = (edge >> np.uint64(ACTION_SHIFT)) & np.uint64(255)
        count = np.float64(edge >> np.uint64(COUNT_SHIFT))
        row = s * words
        q_at = row + q_in_row
        carry_at = two * row + carry_in_row + a
        best_at = four * row + best_in_row
        old = m.f8[q_at + a]
        add = change * count / m.i4[carry_at + carry_to_n] + np.float64(m.f4[carry_at])
        new = old + add
        rounded = new - old
        m.f4[carry_at] = (old - (new - rounded)) + (add - rounded)
        m.f8[q_at + a] = new
        best = np.uint64(m.i2[best_at])
        if a == best:
            if new < old:
                refresh_value(m, s, constants)
                continue
        elif new > m.f8[q_at + best]:
            m.i2[best_at] = a
        else:
            continue
        limit = queue_limit(new, constants)
        set_priority(m, s, abs(m.f8[row] - new), limit)
    return np.int64(length)


@part
def sweep_batch(m: Memory, batch: NDArray[Any], budget: Int, constants: Constants) -> Int:
    """Back up the next few states of the queue; return the backups done, NIL if it is empty."""
    taken = pop_batch(m, batch, budget)
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
            backups += backup_predecessors(m, np.uint64(batch[j - AHEAD, 0]), constants)
    m.meta[BACKUPS] += backups
    return backups


@kernel
def sweep(
    m: Memory, batch: NDArray[Any], budget: Int, discount: Float, min_priority: Float, noise: Float
) -> Int:
    """Do backups in the queue's order until the budget is spent or the queue is empty."""
    constants = Constants(discount, min_priority, noise)
    done = 0
    while done < budget:
        backups = sweep_batch(m, batch, budget - done, constants)
        if backups == NIL:
            break
        done += backups
    return done
