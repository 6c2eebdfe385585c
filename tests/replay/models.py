"""A model of the replay that evicts nothing, as a plain list, and random experience to fill it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.planning.models import Step
from vast.planning import TransitionTable
from vast.replay import Replay, TransitionBatch

N_ACTIONS = 3
SHAPE = (2,)
STATES = (0, 1, 2, 2**63 + 5)
"""few, so that frames share them; including 0 and one above the signed 64-bit range"""


@dataclass
class Seen:
    """One frame, and what followed it."""

    start: int
    """the first frame of its episode"""
    action: int | None = None
    reward: float = 0.0
    end: str = "open"
    state: int | None = None
    forgotten: bool = False
    pose: tuple[float, float, float] | None = None


class Event(NamedTuple):
    """An operation on a replay; its places select among the frames stored at that time."""

    kind: str
    action: int = 0
    reward: float = 0.0
    states: tuple[int, ...] = ()
    places: tuple[int, ...] = ()


def picture(number: int) -> NDArray[np.uint8]:
    """Return a frame that encodes its number and is never blank."""
    return np.array([number % 256, number // 256 + 1], np.uint8)


def pose_at(number: int) -> tuple[float, float, float] | None:
    """Return the pose of a frame: complete for most, partly unknown or None for some."""
    if number % 4 == 3:
        return None
    return number / 2, -float(number), np.nan if number % 3 == 0 else 10.0 * number


class Life:
    """Applies the same operations to a replay and to a plain list of all frames."""

    def __init__(
        self, replay: Replay, table: TransitionTable | None = None, poses: bool = True
    ) -> None:
        self.replay = replay
        self.table = table
        self.poses = poses
        self.seen: list[Seen] = []
        self.evicted: list[Step] = []

    @property
    def oldest(self) -> int:
        return max(0, len(self.seen) - self.replay.capacity)

    @property
    def is_open(self) -> bool:
        return bool(self.seen) and self.seen[-1].end == "open"

    def following(self, i: int) -> Step | None:
        """Return the transition that leaves frame i, if it should be in the table."""
        one = self.seen[i]
        if one.state is None or one.action is None or one.forgotten:
            return None
        if one.end == "terminal":
            return Step(one.state, one.action, one.reward, None)
        after = self.seen[i + 1].state
        return None if after is None else Step(one.state, one.action, one.reward, after)

    def counted(self) -> list[Step]:
        """Return what the table should hold."""
        stored = [self.following(i) for i in range(self.oldest, len(self.seen))]
        gone = [] if self.replay.delete_evicted else self.evicted
        return [step for step in stored if step is not None] + gone

    def do(self, event: Event) -> None:
        getattr(self, event.kind)(event)

    def step(self, event: Event) -> None:
        number = len(self.seen)
        if number >= self.replay.capacity and (gone := self.following(self.oldest)):
            self.evicted.append(gone)
        pose = pose_at(number) if self.poses else None
        if self.is_open:
            last = self.seen[-1]
            last.action, last.reward, last.end = event.action, event.reward, "continued"
            self.seen.append(Seen(last.start, pose=pose))
            assert self.replay.append(event.action, event.reward, picture(number), pose) == number
        else:
            self.seen.append(Seen(number, pose=pose))
            assert self.replay.begin(picture(number), pose) == number

    def terminal(self, event: Event) -> None:
        if self.is_open:
            last = self.seen[-1]
            last.action, last.reward, last.end = event.action, event.reward, "terminal"
            self.replay.end_terminal(event.action, event.reward)

    def truncate(self, event: Event) -> None:
        if self.is_open:
            self.seen[-1].end = "truncated"
            self.replay.end_truncated()

    def encode(self, event: Event) -> None:
        """Encode the frames that have waited longest."""
        waiting = self.replay.waiting(len(event.states))
        states = event.states[: len(waiting)]
        for i, state in zip(waiting.tolist(), states, strict=True):
            assert self.seen[i].state is None
            self.seen[i].state = state
        revision = self.replay.assign(waiting, np.array(states, np.uint64))
        assert (revision.frames, revision.changed) == (0, 0)

    def reassign(self, event: Event) -> None:
        """Reassign some frames, adjacent ones and repeated ones included."""
        n = len(self.seen) - self.oldest
        pairs = list(zip(event.places, event.states, strict=False)) if n else []
        numbers = [self.oldest + place % n for place, _ in pairs]
        states = [state for _, state in pairs]
        before = [self.following(i) for i in range(self.oldest, len(self.seen))]
        old = {i: self.seen[i].state for i in numbers}
        walked = triples(self.counted())
        for i, state in zip(numbers, states, strict=True):  # Algorithm 1, lines 23 to 29, literally
            if self.seen[i].state != state:
                near = [n for n in (i - 1, i) if n >= self.oldest]
                near = [n for n in near if self.seen[n].start == self.seen[i].start]
                gone = triples([self.following(n) for n in near])
                assert gone <= walked
                walked -= gone
                self.seen[i].state = state
                walked += triples([self.following(n) for n in near])
        assert walked == triples(self.counted())
        revision = self.replay.reassign(np.array(numbers, np.int64), np.array(states, np.uint64))
        had = [i for i, state in old.items() if state is not None]
        assert revision.frames == len(had)
        assert revision.changed == sum(self.seen[i].state != old[i] for i in had)
        after = [self.following(i) for i in range(self.oldest, len(self.seen))]
        moved = [(b, a) for b, a in zip(before, after, strict=True) if b != a]
        assert Counter(as_triples(revision.deleted)) == triples([b for b, _ in moved])
        assert Counter(as_triples(revision.added)) == triples([a for _, a in moved])
        assert len(moved) <= 2 * len(old)

    def retabulate(self, event: Event) -> None:
        """Encode the next frames of the cursor again."""
        numbers = self.replay.next_frames(len(event.states))
        states = event.states[: len(numbers)]
        for i, state in zip(numbers.tolist(), states, strict=True):
            self.seen[i].state = state
        self.replay.reassign(numbers, np.array(states, np.uint64))

    def forget(self, event: Event) -> None:
        """Forget the transitions of a state and action, or of some frames."""
        stored = range(self.oldest, len(self.seen))
        if event.places[0] % 2:
            state, action = event.states[0], event.action
            taken = [i for i in stored if (one := self.following(i)) and one[:2] == (state, action)]
            assert self.replay.taken(state, action).numbers.tolist() == taken
        else:
            taken = [self.oldest + place % len(stored) for place in event.places if stored]
        gone = {i: step for i in sorted(taken) if (step := self.following(i)) is not None}
        assert as_triples(self.replay.forget(taken)) == [(s, a, t) for s, a, _, t in gone.values()]
        for i in gone:
            self.seen[i].forgotten = True

    # --- what should be read ----------------------------------------------------------------------

    def expected_poses(self) -> NDArray[np.float64]:
        """Return the poses of the stored frames, [n, 3], nan where none was given."""
        unknown = (np.nan, np.nan, np.nan)
        stored = self.seen[self.oldest :]
        return np.array([one.pose or unknown for one in stored], float).reshape(-1, 3)

    def window(self, i: int, back: int) -> NDArray[np.uint8]:
        """Return frame i and the `back` frames before it, blank before its episode."""
        start = self.seen[i].start
        blank = np.zeros(SHAPE, np.uint8)
        return np.stack([picture(n) if n >= start else blank for n in range(i - back, i + 1)])

    def readable(self, back: int) -> list[int]:
        """Return the stored frames whose `back` previous frames, within the episode, are stored."""
        stored = range(self.oldest, len(self.seen))
        return [i for i in stored if max(self.seen[i].start, i - back) >= self.oldest]


def as_triples(transitions: TransitionBatch) -> list[tuple[int, int, int | None]]:
    columns = (transitions.states, transitions.actions, transitions.next_states)
    rows = zip(*(column.tolist() for column in (*columns, transitions.terminals)), strict=True)
    return [(s, a, None if end else t) for s, a, t, end in rows]


def triples(steps: Sequence[Step | None]) -> Counter[tuple[int, int, int | None]]:
    return Counter((step[0], step[1], step[3]) for step in steps if step is not None)


REVISING = ("encode", "retabulate", "reassign", "forget")
KINDS = ["step"] * 9 + ["terminal", "truncate", "encode", *REVISING]


def as_events(data: bytes) -> list[Event]:
    """Read events from bytes, which hypothesis generates much faster than nested lists."""
    events, rest = [], iter(data)
    for byte in rest:
        kind, spare = KINDS[byte % len(KINDS)], byte // len(KINDS)
        n = 1 + spare % 6 if kind in REVISING else 0
        drawn = [next(rest, 0) for _ in range(n)]
        events.append(
            Event(
                kind,
                action=spare % N_ACTIONS,
                reward=(0.0, 1.0, -0.5)[spare // N_ACTIONS % 3],
                states=tuple(STATES[one % len(STATES)] for one in drawn),
                places=tuple(one // len(STATES) for one in drawn),
            )
        )
    return events


lives = st.binary(min_size=10, max_size=120).map(as_events)
"""experience, encoded immediately or later, and reassigned"""


def make(
    capacity: int = 12, history: int = 0, table: TransitionTable | None = None, **options: Any
) -> Replay:
    return Replay(capacity, SHAPE, N_ACTIONS, history=history, table=table, **options)


def lived(life: Life, events: Sequence[Event]) -> Life:
    for event in events:
        life.do(event)
    return life


def random_life(rng: np.random.Generator, replay: Replay, n_steps: int, ends: float) -> Life:
    """Return a life of many steps; an episode ends with this probability after each step."""
    life = Life(replay)
    for _ in range(n_steps):
        life.do(Event("step", int(rng.integers(N_ACTIONS)), float(rng.normal())))
        if rng.random() < ends:
            life.do(Event(["terminal", "truncate"][rng.integers(2)], int(rng.integers(N_ACTIONS))))
    return life
