"""Forward and reverse pairs and sequences, on hand-made orders and on logged sweeps."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planning.models import Episode, episodes, play
from vast.analysis.replay_sequences import (
    BOTH,
    FORWARD,
    NEITHER,
    REVERSE,
    Sequence,
    Successor,
    backups_of,
    directions,
    ordered,
    sequence_p_value,
    sequences,
    statistics,
)
from vast.planning import SweepLog, TransitionTable, log_sweep

Row = tuple[int, int, int | None]
ALONG: list[Row] = [(i, 0, i + 1) for i in range(6)]
"""a walk along a line"""


def test_a_walk_is_one_forward_sequence_and_backward_one_reverse_sequence() -> None:
    assert sequences(ordered(ALONG)) == [Sequence(0, 6, "forward")]
    assert sequences(ordered(ALONG[::-1])) == [Sequence(0, 6, "reverse")]
    assert sequences(ordered(ALONG), least=7) == []


def test_pairs_have_one_direction_or_none_or_both() -> None:
    rows: list[Row] = [(1, 0, 2), (2, 0, 3), (8, 0, 7), (9, 0, 8), (8, 1, 9), (5, 0, None)]
    assert directions(ordered(rows)).tolist() == [FORWARD, NEITHER, REVERSE, BOTH, NEITHER]


def test_where_the_direction_turns_one_sequence_ends_and_another_begins() -> None:
    turn = [*ALONG, *((i, 1, i + 1) for i in range(4, -1, -1))]
    assert sequences(ordered(turn)) == [Sequence(0, 6, "forward"), Sequence(5, 6, "reverse")]


def test_an_end_of_an_episode_leads_nowhere() -> None:
    assert directions(ordered([(1, 0, None), (0, 0, 1), (0, 0, None)])).tolist() == [
        REVERSE,
        NEITHER,
    ]


def brute_force(rows: list[Row], least: int) -> list[Sequence]:
    """Extend each sequence pair by pair."""
    found = []
    for i in range(len(rows)):
        for direction in ("forward", "reverse"):

            def joined(k: int, direction: str = direction) -> bool:
                if not 0 <= k < len(rows) - 1:
                    return False
                (s, _, t), (s2, _, t2) = rows[k], rows[k + 1]
                forward, reverse = s2 == t, t2 == s
                return forward != reverse and forward == (direction == "forward")

            length = 1
            while joined(i + length - 1):
                length += 1
            if length >= least and not joined(i - 1):
                found.append(Sequence(i, length, direction))
    return sorted(found)


places = st.integers(0, 4)


@given(st.lists(st.tuples(places, st.just(0), st.none() | places), max_size=30), st.integers(2, 5))
def test_sequences_equal_those_found_pair_by_pair(rows: list[Row], least: int) -> None:
    assert sequences(ordered(rows), least) == brute_force(rows, least)


# --- chance ---------------------------------------------------------------------------------------


def test_the_chance_level_is_that_of_random_orders() -> None:
    """Of n backups along a line, n - 1 of the n (n - 1) ordered pairs are forward pairs."""
    rows: list[Row] = [(i, 0, i + 1) for i in range(40)]
    found = statistics(ordered(rows), np.random.default_rng(0), shuffles=4000)
    assert (found.n_pairs, found.share("forward"), found.share("reverse")) == (39, 1.0, 0.0)
    assert found.chance("forward") == pytest.approx(1 / 40, abs=0.002)
    assert found.chance("reverse") == pytest.approx(1 / 40, abs=0.002)
    assert found.counts.longest_forward == 40
    assert found.p_value("forward") == found.p_value("forward_sequences") == 1 / 4001
    assert found.p_value("reverse") == 1.0
    assert set(found.summary()) >= {"pairs", "forward_share", "reverse_share_by_chance"}


def test_a_random_order_is_not_significant() -> None:
    rng = np.random.default_rng(1)
    rows = [ALONG[i % 6] for i in rng.permutation(300)]
    p_values = [
        statistics(ordered([rows[i] for i in rng.permutation(300)]), rng, shuffles=99).p_value(
            "forward"
        )
        for _ in range(40)
    ]
    assert 0.3 < np.mean(p_values) < 0.7
    assert np.mean(np.array(p_values) <= 0.05) < 0.2


def test_the_same_generator_gives_the_same_chance_level() -> None:
    one, two = (statistics(ordered(ALONG), np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one.shuffled, two.shuffled)


def test_the_order_within_a_sequence_is_significant_by_itself() -> None:
    backups = ordered(ALONG)
    (whole,) = sequences(backups)
    # All 720 orders: only the walk and its reverse have five pairs of one direction.
    assert sequence_p_value(backups, whole, np.random.default_rng(0), 5000) < 0.01
    assert sequence_p_value(backups, Sequence(0, 2, "forward"), np.random.default_rng(0)) == 1.0


def test_fewer_than_two_backups_have_no_pairs() -> None:
    for rows in ([], ALONG[:1]):
        found = statistics(ordered(rows), np.random.default_rng(0), shuffles=3)
        assert (found.n_pairs, found.sequences) == (0, [])
        assert math.isnan(found.share("forward"))
        assert found.p_value("reverse") == 1.0


# --- logged sweeps --------------------------------------------------------------------------------


def track(n: int, *, both_ways: bool) -> TransitionTable:
    """A line of n places; action 0 leads on, 1 back; leaving the last place ends the episode."""
    table = TransitionTable(2, 0.9, 1e-9)
    for place in range(n):
        table.add(place, 0, 0.0, place + 1 if place < n - 1 else None)
        if both_ways and 0 < place < n - 1:
            table.add(place, 1, 0.0, place - 1)
    table.sweep()
    return table


@pytest.mark.parametrize("successor", ["popped", "most frequent", "any"])
@pytest.mark.parametrize("both_ways", [False, True])
def test_a_reward_at_the_end_of_a_track_is_replayed_backward_to_the_start(
    both_ways: bool, successor: Successor
) -> None:
    table = track(20, both_ways=both_ways)
    table.set_reward(19, 0, 1.0)
    log = log_sweep(table)
    backups = backups_of(log, successor)
    # Place 19 itself has changed by `set_reward`, before the sweep.
    assert log.backups.states[np.abs(log.v_change) > 0].tolist() == list(range(18, -1, -1))
    assert sequences(backups) == [Sequence(0, 19, "reverse")]
    found = statistics(backups, np.random.default_rng(0), shuffles=200)
    assert (found.share("reverse"), found.share("forward")) == (1.0, 0.0)
    assert found.p_value("reverse") == found.p_value("longest_reverse") == 1 / 201


def test_backups_of_actions_that_are_not_the_best_are_left_out_unless_asked_for() -> None:
    table = track(20, both_ways=True)
    table.set_reward(19, 0, 1.0)
    log = log_sweep(table)
    assert len(backups_of(log, min_change=None)) == len(log) == 19 + 18
    assert len(backups_of(log)) == 19
    assert len(backups_of(log, min_change=0.9**4.5)) == 4
    # Going back is updated between two steps of the wave, which cuts the sequence.
    assert sequences(backups_of(log, min_change=None)) == []


def test_a_successor_can_be_the_popped_the_most_frequent_or_any() -> None:
    """Action 0 in state 2 leads to 3 twice and to 4 three times, and 3 changes."""
    table = TransitionTable(1, 0.5, 1e-9)
    for end, times in ((3, 2), (4, 3)):
        for _ in range(times):
            table.add(2, 0, 0.0, end)
    table.add(1, 0, 0.0, 2)
    table.add(3, 0, 0.0, None)
    table.add(4, 0, 0.0, 3)
    table.set_reward(3, 0, 1.0)
    log = log_sweep(table)
    # 3 is popped: 2 and 4 change; 4 is popped: 2 changes again; 2: 1 changes.
    assert log.popped.tolist() == [3, 3, 4, 2]
    assert log.backups.states.tolist() == [2, 4, 2, 1]
    assert directions(backups_of(log)).tolist() == [NEITHER, REVERSE, REVERSE]
    # (2, 0) ends in 4: its first backup leads on to that of 4.
    assert directions(backups_of(log, "most frequent")).tolist() == [FORWARD, REVERSE, REVERSE]
    assert directions(backups_of(log, "any")).tolist() == [FORWARD, REVERSE, REVERSE]


def names(log: SweepLog) -> list[tuple[int, int]]:
    return list(zip(log.backups.states.tolist(), log.backups.actions.tolist(), strict=True))


@given(episode=episodes(max_discount=0.9, most=50))
def test_directions_in_any_table_equal_a_search_through_its_transitions(episode: Episode) -> None:
    table = TransitionTable(episode.n_actions, episode.discount, 1e-3)
    model = play(episode, table)
    log = log_sweep(table, 60)
    follow: dict[tuple[int, int], Counter[int | None]] = {}
    for state, action, _, end in model.steps:
        follow.setdefault((state, action), Counter())[end] += 1
    pairs = names(log)
    popped = log.popped.tolist()
    likely = {
        pair: min(ends, key=lambda t, ends=ends: (-ends[t], t is None, t or 0))  # type: ignore[misc]
        for pair, ends in follow.items()
    }
    ways: dict[Successor, list[set[int | None]]] = {
        "popped": [{t} for t in popped],
        "most frequent": [{likely[pair]} for pair in pairs],
        "any": [set(follow[pair]) for pair in pairs],
    }
    for successor, ends in ways.items():
        wanted = [
            FORWARD * (next_pair[0] in end) + REVERSE * (pair[0] in next_end)
            for (pair, end), (next_pair, next_end) in pairwise(zip(pairs, ends, strict=True))
        ]
        assert directions(backups_of(log, successor, None)).tolist() == wanted


def test_wrong_arguments_are_refused_by_name() -> None:
    log = log_sweep(TransitionTable(1))
    with pytest.raises(ValueError, match=r"unknown successor 'poped'.* did you mean 'popped'"):
        backups_of(log, "poped")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="least must be at least 2, got 1"):
        sequences(ordered(ALONG), least=1)
    with pytest.raises(ValueError, match="shuffles must be at least 1, got 0"):
        statistics(ordered(ALONG), np.random.default_rng(0), shuffles=0)
    with pytest.raises(ValueError, match="state must be between 0"):
        ordered([(-1, 0, 2)])
