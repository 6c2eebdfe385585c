"""The recorded studies as pictures, and the declarations by which they can be run again."""

from pathlib import Path

import pytest
from matplotlib.image import imread

from vast.analysis import estimators, studies
from vast.errors import UserError
from vast.experiments.config import default_run
from vast.experiments.figures import experiment_named
from vast.experiments.results import load_study, study_names
from vast.training.plain import with_changes


def test_a_recorded_study_is_drawn(tmp_path: Path) -> None:
    studies.main("recency", tmp_path / "study.png")
    assert imread(tmp_path / "study.png").shape[1] > 1000


def test_the_estimators_are_drawn_and_tabulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    estimators.main(tmp_path / "estimators.png")
    assert imread(tmp_path / "estimators.png").shape[1] > 1000
    assert capsys.readouterr().out.count("\n| `") == 3


def test_records_of_before_are_read_by_name() -> None:
    assert {"plus-maze", "oracle", "places-h-maze", "hazards"} <= {*study_names()}
    with pytest.raises(UserError, match="did you mean 'leaps'"):
        load_study("leap")


def test_each_study_differs_from_the_preset_where_it_says() -> None:
    usual = default_run("plus-maze", "vast", "cpu").settings
    remedies = {c.arm: c.config for c in experiment_named("study-remedies").conditions()}
    assert remedies["vast"].settings == usual
    without = remedies["not-smoothed"].settings
    assert without == with_changes(usual, {"extensions.smoothing": 0.0})
