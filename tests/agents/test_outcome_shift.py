"""An action whose outcome shifts: earlier outcomes are forgotten, and the new one believed."""

import numpy as np
import pytest

from vast.agents.vast.config import ExtensionsConfig
from vast.agents.vast.extensions.outcome_shift import KNOWN, OutcomeShift
from vast.errors import UserError
from vast.planning import TransitionTable
from vast.replay import Replay

NOTHING = np.zeros(1, np.float32)
FAR = 4
WALL, BACK, GOAL = 0b0, 0b1, 0b1111_1111
"""before a wall; where one is thrown back to; far away"""
GO = 0


class World:
    """A memory of what happened before the wall, with a table of it."""

    def __init__(self) -> None:
        self.table = TransitionTable(2, discount=0.9)
        self.replay = Replay(100, (1,), 2, dtype=np.float32, table=self.table)
        self.shifts = OutcomeShift(self.table, self.replay, FAR)

    def go(self, reached: int, begin: int = WALL, times: int = 1, action: int = GO) -> int:
        """Take an action in a state so many times; return how many were shifts."""
        shifts = 0
        for _ in range(times):
            self.replay.assign([self.replay.begin(NOTHING)], np.array([begin], np.uint64))
            number = self.replay.append(action, -0.1, NOTHING)
            revision = self.replay.assign([number], np.array([reached], np.uint64))
            self.replay.end_truncated()
            shifts += self.shifts.detect(revision.added)
        return shifts

    def led_to(self, state: int = WALL, action: int = GO) -> dict[int, int]:
        """Return how often each state was reached."""
        found = self.table.successors(state)
        mine = found.actions == action
        return dict(zip(found.next_states[mine].tolist(), found.counts[mine].tolist(), strict=True))


def test_one_passage_through_a_wall_is_worth_as_much_as_what_lies_behind_it() -> None:
    world = World()
    world.table.add(GOAL, 1, 1.0, None)
    assert world.go(BACK, times=10) == 0
    assert world.go(GOAL) == 1
    assert world.led_to() == {GOAL: 1}
    world.table.sweep()
    assert world.table.q(WALL)[GO] == pytest.approx(-0.1 + 0.9 * 1.0)


def test_a_little_tried_action_may_lead_anywhere() -> None:
    world = World()
    assert world.go(BACK, times=KNOWN - 1) == 0
    assert world.go(GOAL) == 0
    assert world.led_to() == {BACK: KNOWN - 1, GOAL: 1}


@pytest.mark.parametrize("bits", [FAR, FAR + 1])
def test_it_is_a_shift_only_if_it_is_far_from_all_it_led_to_before(bits: int) -> None:
    world = World()
    world.go(BACK, times=KNOWN)
    world.go(GOAL ^ BACK, begin=WALL, action=1, times=KNOWN)  # another action, far away
    reached = BACK ^ (2**bits - 1 << 8)
    assert world.go(reached) == (bits > FAR)
    assert world.led_to() == ({reached: 1} if bits > FAR else {BACK: KNOWN, reached: 1})
    assert world.led_to(action=1) == {GOAL ^ BACK: KNOWN}


def test_a_shift_that_was_chance_is_soon_outweighed() -> None:
    world = World()
    world.go(BACK, times=10)
    world.go(GOAL)
    assert world.go(BACK, times=KNOWN - 1) == 0
    assert world.led_to() == {GOAL: 1, BACK: KNOWN - 1}
    assert world.go(BACK, times=7) == 0  # where it led before is no news
    assert world.led_to() == {GOAL: 1, BACK: KNOWN + 6}


def test_what_is_forgotten_stays_so_when_states_are_revised_and_frames_stay() -> None:
    world = World()
    world.go(BACK, times=5)
    world.go(GOAL)
    numbers = np.arange(world.replay.end)
    states, assigned = world.replay.states(numbers)
    assert assigned.all()
    world.replay.reassign(numbers, states ^ np.uint64(1 << 20))
    assert world.led_to(WALL ^ 1 << 20) == {GOAL ^ 1 << 20: 1}
    assert world.table.n_transitions == 1
    assert world.replay.sample(np.random.default_rng(0), 50).valid.any()


def test_shifts_are_detected_in_the_order_in_which_they_happened() -> None:
    """Frames may wait for their states, and get them all at once."""
    world, reached = World(), (*[BACK] * 4, GOAL, GOAL)
    for _ in reached:
        world.replay.begin(NOTHING)
        world.replay.append(GO, 0.0, NOTHING)
        world.replay.end_truncated()
    states = [state for one in reached for state in (WALL, one)]
    revision = world.replay.assign(world.replay.waiting(), np.array(states, np.uint64))
    assert world.shifts.detect(revision.added) == 1
    assert world.led_to() == {GOAL: 2}


def test_a_negative_distance_is_refused() -> None:
    with pytest.raises(UserError, match="outcome_shift must be finite and 0 or more, got -1"):
        ExtensionsConfig(outcome_shift=-1)
