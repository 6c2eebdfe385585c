"""A what-if: undo, redo and replays are exact, and the learned table never changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explorer.worlds import grid_view, key
from vast.errors import UserError
from vast.explorer.edits import Block, Discount, Edit, Paint, Reverse, Shortcut
from vast.explorer.what_if import WhatIf, slices

WIDTH, HEIGHT = 9, 5
VIEW = grid_view(WIDTH, HEIGHT, p_min=1e-4)


def near(x: float, y: float) -> tuple[float, float]:
    return (x, y)


places = st.builds(near, st.integers(0, WIDTH - 1), st.integers(0, HEIGHT - 1))
edits: st.SearchStrategy[Edit] = st.one_of(
    st.builds(
        lambda at, reward, ends: Paint((at,), 0.6, reward, ends),
        places,
        st.sampled_from([-1.0, 0.5, 2.0]),
        st.booleans(),
    ),
    st.builds(lambda x: Block((x + 0.5, -1.0), (x + 0.5, HEIGHT - 1.5)), st.integers(0, WIDTH - 2)),
    st.builds(lambda a, b, action: Shortcut(a, b, 0.6, action), places, places, st.integers(0, 3)),
    st.just(Reverse()),
    st.builds(Discount, st.sampled_from([0.5, 0.9, 0.95])),
)


def do(what_if: WhatIf, edit: Edit) -> bool:
    """Do an edit, as the page would; return False if there was nothing to change."""
    try:
        what_if.do(edit)
    except UserError:
        return False
    what_if.finish()
    return True


def same(one: WhatIf, other: WhatIf) -> bool:
    return np.array_equal(one.values(), other.values(), equal_nan=True)


@given(st.lists(edits, min_size=1, max_size=5), st.data())
def test_undo_and_redo_give_the_same_values_to_the_last_bit(
    asked: list[Edit], data: st.DataObject
) -> None:
    what_if = WhatIf(VIEW.table, VIEW.places)
    seen = [what_if.values()]
    for edit in asked:
        if do(what_if, edit):
            seen.append(what_if.values())
            if data.draw(st.booleans()):
                what_if.keep_snapshot()
    at = len(seen) - 1
    for _ in range(8):
        undo = data.draw(st.booleans())
        if undo and at > 0:
            what_if.undo()
            at -= 1
        elif not undo and at < len(seen) - 1:
            what_if.redo()
            what_if.finish()
            at += 1
        np.testing.assert_array_equal(what_if.values(), seen[at])


@given(st.lists(edits, min_size=1, max_size=4))
def test_the_slices_of_a_sweep_make_no_difference(asked: list[Edit]) -> None:
    seen, unseen = WhatIf(VIEW.table, VIEW.places), WhatIf(VIEW.table, VIEW.places)
    for edit in asked:
        if do(unseen, edit):
            seen.do(edit)
            while not seen.is_settled:
                seen.sweep(visible=True)
    assert same(seen, unseen)
    assert seen.progress.backups == unseen.progress.backups


@given(st.lists(edits, min_size=1, max_size=3))
def test_the_learned_table_never_changes(asked: list[Edit]) -> None:
    before = VIEW.table.state_dict()
    what_if = WhatIf(VIEW.table, VIEW.places)
    for edit in asked:
        do(what_if, edit)
    after = VIEW.table.state_dict()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)


def test_reset_returns_to_what_was_learned_and_redo_brings_the_edits_back() -> None:
    what_if = WhatIf(VIEW.table, VIEW.places)
    learned = what_if.values()
    do(what_if, Paint(((0.0, 0.0),), 0.5, 2.0))
    do(what_if, Reverse())
    edited, asked = what_if.values(), list(what_if.edits)
    what_if.reset()
    np.testing.assert_array_equal(what_if.values(), learned)
    what_if.redo()
    what_if.redo()
    what_if.finish()
    assert what_if.edits == asked
    np.testing.assert_array_equal(what_if.values(), edited)


def test_a_new_edit_forgets_what_was_undone() -> None:
    what_if = WhatIf(VIEW.table, VIEW.places)
    do(what_if, Reverse())
    what_if.undo()
    do(what_if, Paint(((0.0, 0.0),), 0.5, 2.0))
    with pytest.raises(UserError, match="nothing to redo"):
        what_if.redo()


def row(x: int, y: int) -> int:
    return int(VIEW.places.rows([key(x, y)])[0])


def cells(rows: list[int]) -> list[tuple[int, int]]:
    return [(int(x), int(y)) for x, y in VIEW.places.at[rows]]


def test_the_greedy_path_is_a_shortest_path_and_a_wall_turns_it_to_the_gap() -> None:
    what_if = WhatIf(VIEW.table, VIEW.places)
    start = row(0, 0)
    path = what_if.path(start)
    assert path.end == "terminal"
    assert len(path.rows) - 1 == (WIDTH - 1) + (HEIGHT - 1)
    do(what_if, Block((3.5, -1.0), (3.5, HEIGHT - 1.5)))  # open in the topmost row only
    path = what_if.path(start)
    assert path.end == "terminal"
    assert (3, HEIGHT - 1) in cells(path.rows)
    assert (4, HEIGHT - 1) in cells(path.rows)
    assert what_if.path(start, what_if.learned) == WhatIf(VIEW.table, VIEW.places).path(start)


def test_a_path_ends_where_it_returns_to_itself_or_nothing_is_known() -> None:
    what_if = WhatIf(VIEW.table, VIEW.places)
    do(what_if, Reverse())  # steps are paid now, and the goal is punished
    assert what_if.path(row(0, 0)).end == "loop"
    what_if.reset()
    do(what_if, Paint(((0.0, 0.0),), 0.5, 5.0))
    assert what_if.path(row(1, 0)).rows == [row(1, 0), row(0, 0)]


def test_slices_grow_so_that_any_sweep_is_a_short_film() -> None:
    sizes = slices()
    done, pictures = 0, 0
    while done < 10_000_000:
        done += next(sizes)
        pictures += 1
    assert pictures <= 60
