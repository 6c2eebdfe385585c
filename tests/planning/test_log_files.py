"""The log of a sweep as files: nothing is lost, nothing is left half written."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.planning.models import Episode, episodes, play, random_steps
from tests.planning.test_sweep_log import logs_equal, states_equal
from vast.planning import SweepLog, TransitionTable, log_files, log_sweep

POSES = {3: (1.5, -2.0, 90.0), 2**64 - 1: (0.1, 0.2, 0.3)}


@pytest.fixture
def log() -> SweepLog:
    """A log with large and small states."""
    rng = np.random.default_rng(0)
    keys = np.array([0, 3, 2**53 + 1, 2**63, 2**64 - 1, 0x12E4567890123456], np.uint64)
    table = TransitionTable(3, 0.9, 1e-3)
    table.add_many(*random_steps(rng, 40, keys, 3))
    table.set_reward(*next((int(s), 0) for s in keys if table.count(int(s), 0)), 5.0)
    return log_sweep(table)


def poses_of(states: Any) -> list[list[float]]:
    return [list(POSES.get(state, (np.nan,) * 3)) for state in states.tolist()]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(episode=episodes(max_discount=0.9, most=30))
def test_a_loaded_log_is_the_one_saved(episode: Episode, tmp_path: Path) -> None:
    table = TransitionTable(episode.n_actions, episode.discount, 1e-3)
    play(episode, table)
    log = log_sweep(table, 50)
    log.to_npz(tmp_path / "log.npz")
    loaded = SweepLog.load(tmp_path / "log.npz")
    logs_equal(loaded, log)
    states_equal(loaded.after, log.after)
    np.testing.assert_array_equal(loaded.play().q, log.play().q)
    states_equal(loaded.table_after().state_dict(), log.table_after().state_dict())


def test_arrays_have_priorities_changes_and_poses(log: SweepLog, tmp_path: Path) -> None:
    log.to_npz(tmp_path / "log.npz", POSES)
    with np.load(tmp_path / "log.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["poses"], poses_of(log.backups.states))
        np.testing.assert_array_equal(file["pop_poses"], poses_of(log.pops.states))
        np.testing.assert_array_equal(file["popped_states"], log.popped)
        for name in ("priorities", "q_change", "v_change"):
            np.testing.assert_array_equal(file[name], getattr(log, name))
        assert np.isfinite(file["poses"]).any()
        assert np.isnan(file["poses"]).any()
    logs_equal(SweepLog.load(tmp_path / "log.npz"), log)


@pytest.mark.parametrize("rows", [7, log_files.ROWS])
def test_a_table_of_text_has_one_exact_row_per_backup(
    rows: int, log: SweepLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_files, "ROWS", rows)
    log.to_csv(tmp_path / "log.csv", POSES)
    with (tmp_path / "log.csv").open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    column = {name: [row[name] for row in table] for name in table[0]}
    assert list(map(int, column["backup"])) == list(range(len(log)))
    assert list(map(int, column["pop"])) == log.backups.pops.tolist()
    assert list(map(int, column["action"])) == log.backups.actions.tolist()
    for name, states in (("state", log.backups.states), ("popped_state", log.popped)):
        assert [int(text[1:], 16) for text in column[name]] == states.tolist()
    numbers = {"priority": log.priorities, "q_change": log.q_change, "v_change": log.v_change}
    for name in ("q_before", "q_after", "v_before", "v_after", "priority_before", "priority_after"):
        numbers[name] = getattr(log.backups, name)
    for name, wanted in numbers.items():
        assert list(map(float, column[name])) == wanted.tolist(), name
    for prefix, states in (("", log.backups.states), ("popped_", log.popped)):
        cells = [[row[f"{prefix}{name}"] for name in ("x", "y", "heading")] for row in table]
        found = [[float(cell or "nan") for cell in row] for row in cells]
        np.testing.assert_array_equal(found, poses_of(states))
    assert list(column) == [
        *log_files.HEADER,
        *("x", "y", "heading", "popped_x", "popped_y", "popped_heading"),
    ]


def test_no_program_takes_a_state_for_a_number(log: SweepLog, tmp_path: Path) -> None:
    """Text such as 12E45 or 0x12 would be read as a number, and rounded, by some of them."""
    log.to_csv(tmp_path / "log.csv")
    with (tmp_path / "log.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            assert row["state"][0] == row["popped_state"][0] == "s"
            assert len(row["state"]) == 17
            assert "x" not in row


def test_a_log_without_backups_has_a_header_only(tmp_path: Path) -> None:
    log = log_sweep(TransitionTable(2))
    log.to_csv(tmp_path / "log.csv", POSES)
    assert len((tmp_path / "log.csv").read_text(encoding="utf-8").splitlines()) == 1
    log.to_npz(tmp_path / "log.npz", POSES)
    assert len(SweepLog.load(tmp_path / "log.npz")) == 0


@pytest.mark.parametrize("kind", ["csv", "npz"])
def test_a_failed_write_leaves_the_old_file_alone(kind: str, log: SweepLog, tmp_path: Path) -> None:
    path = tmp_path / f"log.{kind}"
    write = log.to_csv if kind == "csv" else log.to_npz
    write(path)
    before = path.read_bytes()
    with pytest.raises(
        ValueError, match=r"pose must be \(x, y, heading in degrees\), got \(1, 2\)"
    ):
        write(path, {3: (1, 2)})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def saved_as(path: Path, log: SweepLog, **changes: Any) -> Path:
    """Write a log with some arrays replaced."""
    log.to_npz(path)
    with np.load(path) as file:
        arrays = dict(file) | changes
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 99}, "not a log of a sweep of version 1"),
        ({"version": None}, "not a log of a sweep of version 1"),
        ({"q_after": None}, "q_after is missing or not an array of float64"),
        ({"states": np.zeros(3)}, "states is missing or not an array of uint64"),
        ({"q_after": np.zeros(3)}, "columns of different lengths"),
        ({"table_n_actions": 2}, "saved table"),
        ({"table_key": None}, "saved table: key is missing"),
        ({"table_queue": None}, "queue"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(
    changes: dict[str, Any], message: str, log: SweepLog, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        SweepLog.load(saved_as(tmp_path / "log.npz", log, **changes))
    assert str(tmp_path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_log_that_contradicts_its_table_is_refused(log: SweepLog, tmp_path: Path) -> None:
    n = len(log)
    for changes in (
        {"pops": np.arange(n)[::-1].astype(np.int64)},
        {"pops": np.full(n, len(log.pops.states))},
        {"actions": np.full(n, 3)},
        {"actions": np.full(n, -1)},
        {"states": np.full(n, 77, np.uint64)},
        {"pop_states": np.full(len(log.pops.states), 77, np.uint64)},
    ):
        with pytest.raises(ValueError, match="contradicts its table"):
            SweepLog.load(saved_as(tmp_path / "log.npz", log, **changes))


def test_what_is_no_log_at_all_is_refused(log: SweepLog, tmp_path: Path) -> None:
    log.to_npz(tmp_path / "log.npz")
    whole = (tmp_path / "log.npz").read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 3] ^= 255
    for content in (b"", b"text", whole[: len(whole) // 2], whole[:-30], bytes(flipped)):
        (tmp_path / "cut.npz").write_bytes(content)
        with pytest.raises(ValueError, match="not a log of a sweep, or damaged"):
            SweepLog.load(tmp_path / "cut.npz")
    np.save(tmp_path / "array.npy", np.zeros(3))
    with pytest.raises(ValueError, match="not a log of a sweep"):
        SweepLog.load(tmp_path / "array.npy")
    log.to_csv(tmp_path / "log.csv")
    with pytest.raises(ValueError, match=r"lacks the table; load the \.npz file"):
        SweepLog.load(tmp_path / "log.csv")
    with pytest.raises(FileNotFoundError):
        SweepLog.load(tmp_path / "nowhere.npz")
