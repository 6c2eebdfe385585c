"""Figures from the results that ship with the package, and what is said while there are none."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from tests.analysis.records import record
from vast.analysis.figures import FIGURES, draw_figure, how_to_run, published_records
from vast.errors import UserError
from vast.experiments import results
from vast.experiments.results import packed


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of published results, at first empty."""
    folder = tmp_path / "results"
    folder.mkdir()
    monkeypatch.setattr(results, "published", lambda: folder)
    return folder


def publish(folder: Path, grid: str) -> None:
    (folder / grid).mkdir()
    for seed in range(3):
        curve = np.linspace(0, 1, 6) + 0.1 * seed
        run = record(curve, arm="nec", seed=seed, interventions=("3000:reverse",))
        (folder / grid / f"nec-{seed}.json.gz").write_bytes(packed(run))


def test_a_figure_is_drawn_from_what_is_published(package: Path, tmp_path: Path) -> None:
    publish(package, "fig6-cpu")
    assert [run.seed for run in published_records("fig6")] == [0, 1, 2]
    files, note = draw_figure("fig6", tmp_path / "out")
    assert [path.name for path in files] == ["fig6.png", "fig6.pdf"]
    assert note is None
    assert imread(files[0]).shape[1] == int(17 / 2.54 * 300), "17 cm at 300 dots per inch"
    again, _ = draw_figure("fig6", tmp_path / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in files]


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_without_results_one_line_says_which_grid_to_run(
    name: str, package: Path, tmp_path: Path
) -> None:
    if FIGURES[name].without_runs:
        note = draw_figure(name, tmp_path).note or ""
    else:
        with pytest.raises(UserError) as error:
            draw_figure(name, tmp_path)
        note = str(error.value)
        assert not list(tmp_path.glob("*.p*"))
    assert note == how_to_run(name)
    assert "\n" not in note
    for grid in FIGURES[name].grids:
        assert f"vast grid {grid} --out grids/{grid}-cpu" in note
