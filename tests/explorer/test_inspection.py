"""What is told of a state adds up: the equation gives Q, and borrowed values have their sources."""

import numpy as np
import pytest

from tests.explorer.worlds import grid_view, key
from vast.explorer.inspection import inspect
from vast.explorer.view import view_of_table
from vast.explorer.what_if import WhatIf
from vast.planning import TransitionTable


def test_the_terms_of_the_equation_give_q() -> None:
    view = grid_view(5, 4)
    what_if = WhatIf(view.table, view.places)
    for row in range(len(view.places)):
        told = inspect(view, what_if, row)
        for action in told["actions"]:
            total = action["rest"] + sum(
                each["count"] * each["value"] for each in action["outcomes"]
            )
            q = action["reward"] + told["discount"] * total / action["count"]
            assert q == pytest.approx(action["q"], abs=1e-10)
        assert told["value"] == max(action["q"] for action in told["actions"])
        assert told["priority"] == pytest.approx(0)


def test_many_outcomes_are_summed_up_beyond_those_listed() -> None:
    table = TransitionTable(1, 0.9, 1e-12)
    for after in range(1, 31):
        for _ in range(after):
            table.add(0, 0, 0.0, after)
        table.add(after, 0, float(after), None)
    table.sweep()
    view = view_of_table(table)
    told = inspect(view, WhatIf(table, view.places), 0)
    (action,) = told["actions"]
    assert action["n_outcomes"] == 30 > len(action["outcomes"])
    assert [each["count"] for each in action["outcomes"]] == list(range(30, 22, -1))
    total = action["rest"] + sum(each["count"] * each["value"] for each in action["outcomes"])
    assert 0.9 * total / action["count"] == pytest.approx(table.q(0)[0])


def test_a_borrowed_value_is_the_weighted_mean_of_its_sources() -> None:
    table = TransitionTable(2, 0.9)
    table.add(0b0000, 0, 0.0, None)  # here action 1 was never taken
    for state, reward, times in ((0b0001, 1.0, 3), (0b0100, 2.0, 1), (0b0111, 9.0, 5)):
        for _ in range(times):
            table.add(state, 1, reward, None)
    view = view_of_table(table)
    row = int(view.places.rows([0])[0])
    told = inspect(view, WhatIf(table, view.places), row)["actions"][1]
    assert told["count"] == 0
    assert told["distance"] == 1
    keys = [int(view.places.keys[each["row"]]) for each in told["sources"]]
    assert keys == [0b0001, 0b0100]  # the most frequent first; the third is 3 bits away
    assert told["q"] == pytest.approx((3 * 1.0 + 1 * 2.0) / 4)


def test_neighbours_are_those_of_the_table() -> None:
    view = grid_view(4, 4)
    row = int(view.places.rows([key(1, 1)])[0])
    told = inspect(view, WhatIf(view.table, view.places), row)
    around = sorted(view.places.rows([key(0, 1), key(2, 1), key(1, 0), key(1, 2)]).tolist())
    for side in ("successors", "predecessors"):
        assert sorted(told[side]["rows"]) == around
        assert told[side]["n"] == 4
        assert told[side]["counts"] == [2] * 4


def test_bits_are_told_from_the_lowest_on() -> None:
    table = TransitionTable(1)
    table.add(0b1011, 0, 0.0, None)
    view = view_of_table(table)
    told = inspect(view, WhatIf(table, view.places), 0)
    assert told["code"][:6] == "110100"
    assert told["key"] == f"{0b1011:016x}"
    assert np.isnan(told["pose"][2])
