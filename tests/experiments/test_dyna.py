"""The backups that planning needs are counted right, and sweeping needs fewer where it should."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from tests.planning.models import (
    CountedModel,
    Episode,
    Step,
    as_steps,
    episodes,
    play,
    random_steps,
)
from vast.errors import UserError
from vast.experiments import dyna
from vast.experiments.dyna import (
    Count,
    compare,
    counted_model,
    from_scratch,
    grid,
    solve,
    t_maze_walk,
    with_new_goal,
)
from vast.planning import TransitionTable, log_sweep

TOLERANCE = 1e-3


def track(n: int) -> TransitionTable:
    """A line of n places; leaving the last one is rewarded and ends the episode."""
    table = TransitionTable(1, 0.9, 1e-9)
    for place in range(n):
        last = place == n - 1
        table.add(place, 0, float(last), None if last else place + 1)
    return table


def noisy(seed: int = 0) -> tuple[TransitionTable, CountedModel]:
    """A random world, partly planned."""
    rng = np.random.default_rng(seed)
    columns = random_steps(rng, 150, np.arange(12, dtype=np.uint64), 3)
    table = TransitionTable(3, 0.9, 1e-9)
    table.add_many(*columns)
    table.sweep(40)
    model = CountedModel(3, 0.9)
    model.steps = as_steps(columns)
    return table, model


@given(episode=episodes(max_discount=0.9, most=25))
def test_the_solution_is_that_of_the_counted_model(episode: Episode) -> None:
    table = TransitionTable(episode.n_actions, episode.discount, 1e-9)
    wanted = play(episode, table).solve()
    if len(table):
        model = counted_model(table)
        found = solve(model, 1e-10)
        assert model.pairs == sorted(wanted)
        np.testing.assert_allclose(found, [wanted[pair] for pair in model.pairs], atol=1e-9)


def test_on_a_track_every_backup_of_sweeping_counts() -> None:
    """One backup per place but the last; value iteration backs up all places each time."""
    n = 30
    found = compare(track(n), TOLERANCE, range(20))
    assert found.sweeping == Count(n - 1, n - 1)
    assert found.value_iteration == Count(n * (n - 1), (n - 1) ** 2)
    assert len({count.backups for count in found.dyna}) > 1
    for count in found.dyna:
        assert count.backups > n - 1
    # A random pair is the one that helps once in n draws, and n - 1 of them must help in turn.
    mean = np.mean([count.backups for count in found.dyna])
    assert mean == pytest.approx(n * (n - 1), rel=0.15)


def test_sweeping_is_counted_to_the_first_backup_within_the_tolerance() -> None:
    table, model = noisy()
    before = table.state_dict()
    found = compare(table, TOLERANCE, []).sweeping
    after = table.state_dict()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    wanted = model.solve()

    def error(backups: int) -> float:
        film = log_sweep(table).play()
        film.seek(backups)
        q = dict(zip(film.states.tolist(), film.q, strict=True))
        return max(abs(float(q[s][a]) - value) for (s, a), value in wanted.items())

    assert found.backups > 10
    assert error(found.backups) <= TOLERANCE < error(found.backups - 1)


@pytest.mark.parametrize("seed", range(3))
def test_dyna_is_counted_to_the_first_backup_within_the_tolerance(seed: int) -> None:
    """Against the same draws, backed up from a dictionary of all steps."""
    table, model = noisy(seed)
    wanted = model.solve()
    pairs = sorted(wanted)
    ends: dict[tuple[int, int], list[Step]] = {}
    for step in model.steps:
        ends.setdefault(step[:2], []).append(step)
    q = {(state, action): float(table.q(state)[action]) for state, action in pairs}

    def value(state: int | None) -> float:
        return max((q[s, a] for s, a in pairs if s == state), default=0.0)

    (found,) = compare(table, TOLERANCE, [seed]).dyna
    rng = np.random.default_rng(seed)
    draws = iter(np.concatenate([rng.integers(len(pairs), size=1024) for _ in range(20)]).tolist())
    done = 0
    while max(abs(q[pair] - wanted[pair]) for pair in pairs) > TOLERANCE:
        pair = pairs[next(draws)]
        q[pair] = float(
            np.mean([step.reward + 0.9 * value(step.next_state) for step in ends[pair]])
        )
        done += 1
    assert found.backups == done
    assert found.successors > found.backups


def test_what_is_solved_already_takes_no_backup() -> None:
    table = track(5)
    table.sweep()
    found = compare(table, TOLERANCE, [0])
    assert found.sweeping == found.value_iteration == found.dyna[0] == Count(0, 0)


def test_sweeping_needs_fewer_backups_than_dyna_q_in_a_grid_and_after_a_change() -> None:
    for table in (grid(8), with_new_goal(grid(8)), with_new_goal(t_maze_walk(3000))):
        found = compare(table, TOLERANCE, range(3))
        for count in found.dyna:
            assert 3 * found.sweeping.backups < count.backups


def test_a_table_from_scratch_has_the_same_solution_and_nothing_planned() -> None:
    table, model = noisy()
    fresh = from_scratch(table)
    found = counted_model(fresh)
    np.testing.assert_allclose(
        solve(found, 1e-10), [model.solve()[pair] for pair in found.pairs], atol=1e-8
    )
    np.testing.assert_allclose(found.q, found.rewards, atol=1e-12)
    assert fresh.total_backups == 0
    assert fresh.n_transitions == table.n_transitions


def test_a_table_too_coarse_for_the_tolerance_is_refused() -> None:
    with pytest.raises(UserError, match=r"min_priority must be at most 1e-05 for tolerance 0\.001"):
        compare(TransitionTable(1, 0.99), TOLERANCE, [])
    with pytest.raises(UserError, match="must hold at least one transition"):
        compare(TransitionTable(1, 0.99, 1e-9), TOLERANCE, [])
    with pytest.raises(UserError, match="tolerance must be finite and above 0, got 0"):
        compare(track(3), 0.0, [])


def test_the_command_prints_a_table_and_writes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dyna.main(tolerance=0.05, seeds=2, json=tmp_path / "dyna.json")
    shown = capsys.readouterr().out
    assert "Dyna-Q: mean and range of 2 seeds" in shown
    report = json.loads((tmp_path / "dyna.json").read_text(encoding="utf-8"))
    assert [row["task"] for row in report["rows"]] == ["from scratch", "one new goal"] * 2
    assert all(f"{row['sweeping']['backups']:,}" in shown for row in report["rows"])
