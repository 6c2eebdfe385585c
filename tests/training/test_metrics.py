"""Rows of metrics are written at once, survive a kill, and are rewound with a checkpoint."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.training.test_checkpoint import full_beyond
from vast.errors import UserError
from vast.training.metrics import MetricsLog, read_metrics

values = st.dictionaries(
    st.text().filter(lambda key: key not in ("step", "wall_seconds")), st.floats()
)


@given(rows=st.lists(values, max_size=5), data=st.data())
def test_going_on_from_an_offset_equals_never_having_stopped(
    rows: list[dict[str, float]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "metrics.jsonl"
    path.unlink(missing_ok=True)
    kept = data.draw(st.integers(0, len(rows)))
    with MetricsLog(path) as log:
        offsets = [log.offset]
        for step, row in enumerate(rows):
            log.write({"step": step, "wall_seconds": step / 2, **row})
            offsets.append(log.offset)
            assert path.stat().st_size == log.offset
    whole = path.read_bytes()
    torn = data.draw(st.integers(offsets[kept], len(whole)))
    path.write_bytes(whole[:torn])
    with MetricsLog(path) as log:
        log.rewind(offsets[kept])
        for step in range(kept, len(rows)):
            log.write({"step": step, "wall_seconds": step / 2, **rows[step]})
        assert log.sync() == log.offset == len(whole)
    assert path.read_bytes() == whole
    assert read_metrics(path) == [
        {
            "step": step,
            "wall_seconds": step / 2,
            **{key: row[key] if math.isfinite(row[key]) else None for key in row},
        }
        for step, row in enumerate(rows)
    ]


def test_numbers_of_numpy_are_written_in_the_order_given(tmp_path: Path) -> None:
    path = tmp_path / "run" / "metrics.jsonl"
    with MetricsLog(path) as log:
        numbers: dict[str, Any] = {"b": np.float32(0.25), "a": np.int64(7), "c": np.float64("nan")}
        log.write({"step": 3, "wall_seconds": 0.5, **numbers})
    assert path.read_text() == '{"step": 3, "wall_seconds": 0.5, "b": 0.25, "a": 7, "c": null}\n'


def test_an_unfinished_row_is_passed_over_and_then_replaced(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2, "a')
    assert read_metrics(path) == [{"step": 1}]
    with MetricsLog(path) as log:
        log.write({"step": 2, "wall_seconds": 1.0})
    assert [row["step"] for row in read_metrics(path)] == [1, 2]


def test_a_file_that_is_not_of_the_checkpoint_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path) as log:
        log.write({"step": 1, "wall_seconds": 0.5})
        before = path.read_bytes()
        with pytest.raises(UserError, match=f"got {len(before)}$"):
            log.rewind(len(before) + 1)
        with pytest.raises(UserError, match="no row ends at byte 5"):
            log.rewind(5)
    assert path.read_bytes() == before


def test_what_is_no_log_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with pytest.raises(UserError, match=r"cannot read .*: No such file"):
        read_metrics(path)
    for wrong in ("{", "[1]", "{}", "\0\0"):
        path.write_text('{"step": 1}\n' + wrong + "\n")
        with pytest.raises(UserError, match="line 2: this is not a row"):
            read_metrics(path)


def test_a_row_that_does_not_fit_on_the_disk_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path) as log:
        log.write({"step": 1, "wall_seconds": 0.5})
        with full_beyond(log.offset + 10), pytest.raises(UserError, match="cannot write"):
            log.write({"step": 2, "wall_seconds": 0.5})
        log.write({"step": 3, "wall_seconds": 0.5})
        assert [row["step"] for row in read_metrics(path)] == [1, 3]
        assert path.stat().st_size == log.offset


def test_tensorboard_shows_the_rows_that_were_not_rewound(tmp_path: Path) -> None:
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with MetricsLog(tmp_path / "metrics.jsonl") as log:
        log.write({"step": 1, "wall_seconds": 0.5, "a": 1.0, "b": math.nan})
        offset = log.offset
        log.write({"step": 2, "wall_seconds": 0.5, "a": 2.0})
    with MetricsLog(tmp_path / "metrics.jsonl") as log:
        log.rewind(offset)
        log.write({"step": 2, "wall_seconds": 0.5, "a": 3.0})
    events = reader.EventAccumulator(str(tmp_path / "events"))
    events.Reload()
    assert events.Tags()["scalars"] == ["a"]
    assert [(one.step, one.value) for one in events.Scalars("a")] == [(1, 1.0), (2, 3.0)]
    assert json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[-1])["a"] == 3.0
