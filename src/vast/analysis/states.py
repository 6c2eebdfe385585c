"""What each state of a table holds: frames, poses, values, visits, bits; as flat arrays.

All rows are in the order of `States.keys`. A run opened by `vast.experiments.runs.open_readonly`
has its agent as `run.agent`: `states_of(run.agent)`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vast.agents.core import AgentCore
from vast.agents.encoders import bits_of
from vast.agents.table import TableAgent
from vast.errors import UserError
from vast.model import codes
from vast.planning import TransitionTable
from vast.planning.memory import LENGTH
from vast.replay import Replay

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LEAST_RESULTANT = 1e-9
"""mean length of the sum of headings below which they cancel out: there is no mean heading"""


@dataclass(frozen=True)
class States:
    """The S states of a table; `len(states) == len(table)`."""

    keys: NDArray[np.uint64]
    """[S] ascending"""
    q: Floats
    """[S, A] Q(s, a), nan where a was never taken in s"""
    counts: Integers
    """[S, A] N(s, a)"""
    reward: Floats
    """[S, A] E[r|s,a], nan where a was never taken in s"""
    ends: Integers
    """[S, A] how often a ended the episode in s"""
    value: Floats
    """[S] V(s); 0 where no action was taken yet, as in the table"""
    visits: Integers
    """[S] how often an action was taken in s; 0 if it was only reached"""
    pose: Floats
    """[S, 3] mean x, mean y and circular mean of the heading, in degrees from 0 to 360, of the
    frames stored; nan for what is unknown"""
    frame_offsets: Integers
    """[S + 1] the frames of row i are frame_numbers[frame_offsets[i] : frame_offsets[i + 1]]"""
    frame_numbers: Integers
    """[F] numbers of frames in the replay, ascending within each state"""
    first: Integers
    """[S] number of the oldest frame stored; -1 if there is none"""
    last: Integers
    """[S] number of the newest frame stored; -1 if there is none"""
    n_bits: int
    """d: the lowest bits of a key, which are the encoder's; those above are tags"""
    frames_end: int
    """how many frames were ever stored: a state was seen last `frames_end - last` frames ago"""

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def bits(self) -> NDArray[np.bool_]:
        """[S, d] the bits of each code."""
        return codes.unpack(self.keys, self.n_bits)

    @property
    def frame_counts(self) -> Integers:
        """[S] how many frames each state holds."""
        return np.diff(self.frame_offsets)

    def frames(self, row: int) -> Integers:
        """Return the numbers of the frames that a state holds."""
        return self.frame_numbers[self.frame_offsets[row] : self.frame_offsets[row + 1]]

    def rows(self, keys: ArrayLike) -> Integers:
        """Return the row of each key, -1 where the table has no such state."""
        return find_rows(self.keys, np.asarray(keys, np.uint64))


def states_of(agent: AgentCore) -> States:
    """Return the states of an agent's table, with the frames that its replay holds, if any."""
    if not isinstance(agent, TableAgent):
        raise UserError(f"the agent {agent.name!r} has no table")
    replay = agent.frame_store
    return collect(
        agent.table, replay if isinstance(replay, Replay) else None, bits_of(agent.encoder)
    )


def collect(table: TransitionTable, replay: Replay | None = None, n_bits: int = 64) -> States:
    """Return the states of a table, with the frames of the replay that belong to it."""
    saved = table.state_dict()
    used = (saved["n"] > 0).any(axis=1) | (saved["block"][:, LENGTH] > 0)
    rows = np.flatnonzero(used)
    rows = rows[np.argsort(saved["key"][rows])]
    keys: NDArray[np.uint64] = saved["key"][rows]
    counts = saved["n"][rows].astype(np.int64)
    taken = counts > 0
    q = np.where(taken, saved["q"][rows], np.nan)
    reward = np.full(q.shape, np.nan)
    total = saved["reward"][rows] + saved["reward_carry"][rows]
    np.divide(total, counts, out=reward, where=taken)
    if len(saved["offset"]):
        reward += saved["offset"][rows]
    visits = counts.sum(axis=1)
    value = np.where(visits > 0, np.where(taken, q, -np.inf).max(axis=1), 0.0)
    numbers, of = _assigned(keys, replay)
    order = np.argsort(of, kind="stable")
    offsets = np.zeros(len(keys) + 1, np.int64)
    np.cumsum(np.bincount(of, minlength=len(keys)), out=offsets[1:])
    listed, held = numbers[order], np.diff(offsets) > 0
    first, last = np.full((2, len(keys)), -1)
    first[held], last[held] = listed[offsets[:-1][held]], listed[offsets[1:][held] - 1]
    poses = np.empty((0, 3)) if replay is None else replay.poses(numbers)
    return States(
        keys=keys,
        q=q,
        counts=counts,
        reward=reward,
        ends=saved["terminal"][rows].astype(np.int64),
        value=value,
        visits=visits,
        pose=mean_poses(poses, of, len(keys)),
        frame_offsets=offsets,
        frame_numbers=listed,
        first=first,
        last=last,
        n_bits=n_bits,
        frames_end=0 if replay is None else replay.end,
    )


def _assigned(keys: NDArray[np.uint64], replay: Replay | None) -> tuple[Integers, Integers]:
    """Return the frames whose states are among these keys, and the row of each."""
    if replay is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    numbers = np.arange(replay.oldest, replay.end)
    states, assigned = replay.states(numbers)
    of = np.where(assigned, find_rows(keys, states), -1)
    return numbers[of >= 0], of[of >= 0]


def find_rows(keys: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> Integers:
    """Return where each wanted key is among ascending keys, -1 where it is not."""
    if not len(keys):
        return np.full(wanted.shape, -1)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)


def mean_poses(poses: Floats, groups: Integers, n_groups: int) -> Floats:
    """Return the mean pose of each group of poses, [n_groups, 3]; nan for what is unknown."""
    means = np.full((n_groups, 3), np.nan)
    x, y, angle = poses.T
    for column, known in ((0, x), (1, y)):
        there = np.isfinite(known)
        count = np.bincount(groups[there], minlength=n_groups)
        total = np.bincount(groups[there], known[there], n_groups)
        np.divide(total, count, out=means[:, column], where=count > 0)
    there = np.isfinite(angle)
    heading, of = np.radians(angle[there]), groups[there]
    east, north = (np.bincount(of, part(heading), n_groups) for part in (np.cos, np.sin))
    clear = np.hypot(east, north) > LEAST_RESULTANT * np.bincount(of, minlength=n_groups)
    means[clear, 2] = np.degrees(np.arctan2(north, east)[clear]) % 360
    return means


# --- receptive fields ---------------------------------------------------------------------------


@dataclass(frozen=True)
class ReceptiveFields:
    """For each bit of the codes, where in the world it is set.

    Over a grid of places, and ranges of headings: range i is centred at i * 360 / H degrees. If no
    heading is known, H is 1.
    """

    share: Floats
    """[d, H, rows, columns] of the frames seen there, those whose state has the bit; nan: none"""
    seen: Integers
    """[H, rows, columns] frames seen there"""
    x: Floats
    """[columns + 1] the edges of the grid"""
    y: Floats
    """[rows + 1] the edges of the grid"""


def receptive_fields(
    states: States, replay: Replay, cells: int = 16, headings: int = 4
) -> ReceptiveFields | None:
    """Return where each bit is set, over `cells` places along the longer side of the world.

    None if no frame that a state holds has a position.
    """
    poses = replay.poses(states.frame_numbers)
    there = np.isfinite(poses[:, :2]).all(axis=1)
    turned = there & np.isfinite(poses[:, 2])
    headings = headings if turned.any() else 1
    if headings > 1:
        there = turned
    if not there.any():
        return None
    poses, of = poses[there], np.repeat(np.arange(len(states)), states.frame_counts)[there]
    low, high = poses[:, :2].min(axis=0), poses[:, :2].max(axis=0)
    size = float((high - low).max()) / cells or 1.0
    grid = np.maximum(np.ceil((high - low) / size).astype(np.int64), 1)
    column, row = np.minimum(((poses[:, :2] - low) / size).astype(np.int64), grid - 1).T
    columns, rows = grid.tolist()
    shape = (headings, rows, columns)
    turn = np.zeros(len(poses)) if headings == 1 else np.rint(poses[:, 2] / (360 / headings))
    heading = turn.astype(np.int64) % headings
    # Frames of one state in one cell count together: far fewer than all frames.
    cell = np.ravel_multi_index((heading, row, column), shape)
    n_cells = headings * rows * columns
    pairs, counts = np.unique(of * n_cells + cell, return_counts=True)
    of, cell = np.divmod(pairs, n_cells)
    seen = np.bincount(cell, counts, n_cells)
    share = np.full((states.n_bits, n_cells), np.nan)
    for bit, set_in in enumerate(states.bits.T):
        marked = np.bincount(cell, counts * set_in[of], n_cells)
        np.divide(marked, seen, out=share[bit], where=seen > 0)
    return ReceptiveFields(
        share=share.reshape(states.n_bits, *shape),
        seen=seen.astype(np.int64).reshape(shape),
        x=low[0] + size * np.arange(columns + 1),
        y=low[1] + size * np.arange(rows + 1),
    )
