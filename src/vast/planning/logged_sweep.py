"""The inner loop of a sweep that writes down every pop and every backup.

It pops from the exact queue and does what `kernels.sweep` does, without its shortcuts and
prefetching. Only `sweep_log.log_sweep` calls it: an ordinary sweep logs nothing and pays nothing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vast.planning.compiled import Float, Int, kernel, part
from vast.planning.kernels import Constants, change_q, refresh_value
from vast.planning.memory import (
    ACTION_SHIFT,
    BACKUPS,
    COUNT_SHIFT,
    LENGTH,
    OFFSET,
    POPS,
    QUEUED,
    STATE_MASK,
    Memory,
)
from vast.planning.queues import heap_remove


class Pops(NamedTuple):
    """The states popped from the queue, in order, in columns."""

    states: NDArray[np.uint64]
    priorities: NDArray[np.float64]
    """|U - V| of the state when it was popped"""
    u_before: NDArray[np.float64]
    """U, the value that its predecessors knew"""
    u_after: NDArray[np.float64]
    """V, the value that they are told: its new U"""


class Backups(NamedTuple):
    """The backups of a sweep, in order, in columns; each updates one Q(s, a)."""

    pops: NDArray[np.int64]
    """the number of the pop that caused it, from 0"""
    states: NDArray[np.uint64]
    """s, a predecessor of the popped state"""
    actions: NDArray[np.int64]
    """a, which led from s to the popped state"""
    q_before: NDArray[np.float64]
    q_after: NDArray[np.float64]
    """Q(s, a)"""
    v_before: NDArray[np.float64]
    v_after: NDArray[np.float64]
    """V(s)"""
    priority_before: NDArray[np.float64]
    priority_after: NDArray[np.float64]
    """|U(s) - V(s)| if s is queued, otherwise 0"""


def empty_pops(rows: int) -> Pops:
    """Return room for this many pops."""
    return Pops(np.zeros(rows, np.uint64), *(np.zeros(rows) for _ in Pops._fields[1:]))


def empty_backups(rows: int) -> Backups:
    """Return room for this many backups."""
    whole = np.zeros(rows, np.int64), np.zeros(rows, np.uint64), np.zeros(rows, np.int64)
    return Backups(*whole, *(np.zeros(rows) for _ in Backups._fields[3:]))


@part
def value_of(m: Memory, s: Int) -> Float:
    """Return V(s), 0 if no action was taken in s."""
    v = m.q[s, np.uint64(m.best[s])]
    return 0.0 if v == -np.inf else v


@part
def priority_of(m: Memory, s: Int) -> Float:
    """Return the priority of state s, 0 if it is not queued."""
    return m.priority[s] if m.tag[s] != 0 else 0.0


@part
def log_pop(m: Memory, pops: Pops, k: Int) -> Int:
    """Pop the first state of the queue (Algorithm 2, lines 3-5) into row k of the log."""
    t = np.int64(m.heap[0])
    pops.states[k] = m.key[t]
    pops.priorities[k] = m.priority[t]
    pops.u_before[k] = m.u[t]
    pops.u_after[k] = value_of(m, t)
    heap_remove(m, 0)
    m.u[t] = pops.u_after[k]
    m.meta[POPS] += 1
    return t


@part
def log_backup(
    m: Memory, edge: Int, change: Float, backups: Backups, i: Int, constants: Constants
) -> None:
    """Do one backup (Algorithm 2, lines 7-9), and write it into row i of the log."""
    s, a = edge & STATE_MASK, edge >> ACTION_SHIFT & 255
    backups.states[i] = m.key[s]
    backups.actions[i] = a
    backups.q_before[i] = m.q[s, a]
    backups.v_before[i] = value_of(m, s)
    backups.priority_before[i] = priority_of(m, s)
    backups.q_after[i] = change_q(m, s, a, change * (edge >> COUNT_SHIFT) / m.n[s, a])
    refresh_value(m, s, constants)
    backups.v_after[i] = value_of(m, s)
    backups.priority_after[i] = priority_of(m, s)


@kernel
def logged_sweep(
    m: Memory,
    pops: Pops,
    backups: Backups,
    first_pop: Int,
    budget: Int,
    discount: Float,
    min_priority: Float,
    noise: Float,
) -> tuple[Int, Int]:
    """Sweep until the budget is spent, the queue empty or the log full; return its rows in use.

    Pops are numbered from `first_pop`. A state is popped only if all its backups fit into the log.
    """
    constants = Constants(discount, min_priority, noise)
    k = i = 0
    while i < budget and m.meta[QUEUED] > 0 and k < pops.states.size:
        length = np.int64(m.block[m.heap[0], LENGTH])
        if i + length > backups.states.size:
            break
        t = log_pop(m, pops, k)
        change = discount * (pops.u_after[k] - pops.u_before[k])
        start = np.int64(m.block[t, OFFSET])
        for at in range(start, start + length):
            backups.pops[i] = first_pop + k
            log_backup(m, m.edge[at], change, backups, i, constants)
            i += 1
        k += 1
    m.meta[BACKUPS] += i
    return k, i
