"""Each edit changes the counted model as it says, and planning solves the changed model."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.explorer.worlds import (
    DISCOUNT,
    grid_places,
    key,
    solved,
    steps_in_grid,
    table_of,
)
from tests.planning.models import Step, assert_solved
from vast.errors import UserError
from vast.explorer.edits import (
    Block,
    Discount,
    Edit,
    Paint,
    Reverse,
    Shortcut,
    Shown,
    Steps,
    crosses,
    rebuilt,
)
from vast.explorer.places import Places
from vast.planning import TransitionTable

WIDTH, HEIGHT = 7, 4
CELLS = {key(x, y): (x, y) for x in range(WIDTH) for y in range(HEIGHT)}
Change = Callable[[list[Step]], list[Step]]


def painted(steps: list[Step]) -> list[Step]:
    return [
        Step(s, a, 3.0, None) if CELLS[s] == (2, 1) else Step(s, a, r, t) for s, a, r, t in steps
    ]


def paid(steps: list[Step]) -> list[Step]:
    row = [(x, 2) for x in range(1, 4)]
    return [step._replace(reward=0.5) if CELLS[step.state] in row else step for step in steps]


def walled(steps: list[Step]) -> list[Step]:
    """Without moves between the columns 3 and 4, except in the topmost row."""

    def passes(step: Step) -> bool:
        if step.next_state is None:
            return False
        (x, y), (to, _) = CELLS[step.state], CELLS[step.next_state]
        return {x, to} == {3, 4} and y < HEIGHT - 1

    return [step for step in steps if not passes(step)]


def connected(steps: list[Step]) -> list[Step]:
    return [
        step._replace(next_state=key(5, 3)) if step[:2] == (key(0, 0), 2) else step
        for step in steps
    ]


def negated(steps: list[Step]) -> list[Step]:
    return [step._replace(reward=-step.reward) for step in steps]


EDITS: list[tuple[Edit, Change]] = [
    (Paint(((2.0, 1.0),), 0.3, 3.0), painted),
    (Paint(((1.0, 2.0), (3.0, 2.0)), 0.3, 0.5, ends=False), paid),
    (Block((3.5, -1.0), (3.5, 2.5)), walled),
    (Shortcut((0.0, 0.0), (5.0, 3.0), 0.3, action=2), connected),
    (Reverse(), negated),
]


@pytest.fixture
def world() -> tuple[TransitionTable, Places]:
    return table_of(steps_in_grid(WIDTH, HEIGHT)), grid_places(WIDTH, HEIGHT)


@pytest.mark.parametrize(("edit", "change"), EDITS, ids=lambda part: type(part).__name__)
def test_an_edit_and_a_sweep_solve_the_changed_model(
    edit: Edit, change: Change, world: tuple[TransitionTable, Places]
) -> None:
    steps = steps_in_grid(WIDTH, HEIGHT)
    changed = change(steps)
    assert changed != steps
    table = edit.apply(*world)
    table.sweep()
    assert_solved(table, solved(changed))


def test_edits_add_up(world: tuple[TransitionTable, Places]) -> None:
    table, places = world
    steps = steps_in_grid(WIDTH, HEIGHT)
    for edit, change in EDITS:
        table, steps = edit.apply(table, places), change(steps)
    table.sweep()
    assert_solved(table, solved(steps))


def test_another_discount_solves_the_same_transitions_anew(
    world: tuple[TransitionTable, Places],
) -> None:
    table = Discount(0.5).apply(*world)
    table.sweep()
    assert_solved(table, solved(steps_in_grid(WIDTH, HEIGHT), 0.5))
    assert world[0].discount == DISCOUNT


def test_a_reward_reaches_a_state_twenty_steps_away_with_the_twentieth_power_of_the_discount() -> (
    None
):
    steps = steps_in_grid(24, 1, living=0.0)
    table = Paint(((0.0, 0.0),), 0.1, 10.0).apply(table_of(steps), grid_places(24, 1))
    table.sweep()
    assert table.value(key(20, 0)) == pytest.approx(10 * DISCOUNT**20, rel=1e-9)


def test_a_shown_run_is_added_as_experience(world: tuple[TransitionTable, Places]) -> None:
    table, places = world
    new = 77  # a state that nobody has seen
    run = Steps(
        np.array([new], np.uint64),
        np.array([1]),
        np.array([0.0]),
        np.array([key(WIDTH - 1, HEIGHT - 1)], np.uint64),
        np.array([False]),
    )
    table = Shown("a run", run).apply(table, places)
    table.sweep()
    assert table.value(new) == pytest.approx(DISCOUNT)


def test_a_rebuilt_table_is_the_same_model_before_any_planning(
    world: tuple[TransitionTable, Places],
) -> None:
    table, _ = world
    table.set_reward(key(1, 1), 0, 0.25)  # the offset is part of the mean
    again = rebuilt(table)
    assert again.queue_length > 0
    again.sweep()
    table.sweep()
    for state in CELLS:
        assert again.value(state) == pytest.approx(table.value(state), abs=1e-9)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (Paint(((50.0, 50.0),), 1.0, 1.0), "nothing is painted"),
        (Paint(((2.0, 1.0),), 0.3, 1e9), "a reward must be between"),
        (Block((50.0, 0.0), (60.0, 1.0)), "nothing is blocked"),
        (Shortcut((50.0, 50.0), (0.0, 0.0), 0.3, 0), "a shortcut must begin"),
        (Shortcut((0.0, 0.0), (5.0, 3.0), 0.3, 4), "action must be between 0 and 3"),
        (Discount(1.0), "discount must be between"),
    ],
)
def test_an_edit_that_cannot_be_done_says_so_and_changes_nothing(
    edit: Edit, message: str, world: tuple[TransitionTable, Places]
) -> None:
    table, places = world
    before = table.state_dict()
    with pytest.raises(UserError, match=message):
        edit.apply(table, places)
    after = table.state_dict()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)


def test_segments_cross_if_each_has_its_ends_on_both_sides_of_the_other() -> None:
    c, d = np.array([0.0, 0.0]), np.array([0.0, 2.0])
    a = np.array([[-1.0, 1.0], [-1.0, 3.0], [1.0, 1.0], [-1.0, 0.5]])
    b = np.array([[1.0, 1.0], [1.0, 3.0], [2.0, 1.0], [1.0, 1.5]])
    assert crosses(a, b, c, d).tolist() == [True, False, False, True]


def test_a_shortcut_keeps_the_heading_of_who_takes_it() -> None:
    """Four headings at each of two places: east leads to east, and so on."""
    headings = np.array([0.0, 90.0, 180.0, 270.0])
    keys = np.arange(8, dtype=np.uint64)
    places = Places(
        keys, np.repeat([[0.0, 0.0], [9.0, 0.0]], 4, axis=0), np.tile(headings, 2), measured=True
    )
    table = TransitionTable(2)
    for state in range(8):
        table.add(state, 0, 0.0, state)
    table = Shortcut((0.0, 0.0), (9.0, 0.0), 1.0, action=1).apply(table, places)
    for state in range(4):
        found = table.successors(state)
        assert found.next_states[found.actions == 1].tolist() == [state + 4]
