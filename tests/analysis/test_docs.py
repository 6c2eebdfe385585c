"""The examples of docs/analysis.md run as they are written."""

import re
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tests.experiments.sameness import vast

DOCS = Path(__file__).parents[2] / "docs" / "analysis.md"


def test_every_example_runs_on_the_run_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    vast("train", "t-maze-2d", "--preset", "debug", "--out", "runs/demo")
    examples = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example, str(DOCS), "exec"), names)
        for line in re.findall(r"^draw_\w+\(.*\)$", example, re.MULTILINE):
            assert isinstance(eval(line, names), Figure), line
    assert len(examples) == 3
