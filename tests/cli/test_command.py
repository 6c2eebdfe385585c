"""The `vast` command: what it writes, and what it says of a mistake."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import vast
from vast.cli import main


@pytest.mark.slow
def test_figure_draws_into_the_directory_named_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["figure", "fig1", "--out", str(tmp_path / "here")])
    file = tmp_path / "here" / "fig1.png"
    wrote = f"wrote {file} and {file.with_suffix('.pdf')}\n"
    assert capsys.readouterr().out.startswith(wrote)
    assert sorted(path.name for path in file.parent.iterdir()) == ["fig1.pdf", "fig1.png"]
    picture = imread(file)
    assert picture.shape[1] > 1000
    assert len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["figur", "fig1"],
            "unknown command 'figur': must be one of compare, eval, ",
        ),
        (["figure", "fgi1"], "unknown figure 'fgi1': must be one of fig1, fig2, fig3, fig4, fig5"),
        (
            ["figure", "fig31"],
            "unknown figure 'fig31': must be one of fig1, fig2, fig3, fig4, fig5",
        ),
        (
            ["figure", "fig1", "--ou", "x"],
            "Unrecognized options: --ou, x; Perhaps you meant: --out",
        ),
        (["figure"], "Missing from vast figure"),
        (["figure", "fig1", "--out"], "Missing value for argument '--out'"),
        ([], "a command is missing: `vast --help` lists them\n"),
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith(f"vast: {message}")
    assert error.count("\n") == 1


def test_help_lists_the_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert "Draw a figure of the paper" in capsys.readouterr().out


def test_version_names_the_program_and_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--version"])
    assert capsys.readouterr() == (f"vast {vast.__version__}\n", "")


def test_the_package_run_as_a_module_is_the_command() -> None:
    program = [sys.executable, "-m", "vast", "tsks"]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("vast: unknown command 'tsks'")


def test_importing_vast_loads_nothing_heavy() -> None:
    heavy = ("numba", "matplotlib", "torch", "vizdoom", "ale_py", "scipy")
    code = f"import sys, vast; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_output_that_nobody_reads_to_its_end_is_no_error() -> None:
    program = [sys.executable, "-c", "from vast.cli import main; main()", "train", "--help"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
