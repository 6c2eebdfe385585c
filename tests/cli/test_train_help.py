"""`vast train --help`: one screen of every day's options; `--help-all`: all of them, in groups."""

import re

import pytest

from vast.agents.registry import AGENTS
from vast.cli import main
from vast.cli.train import parse_train
from vast.cli.train_help import EVERYDAY
from vast.experiments.config import default_run


def said(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    with pytest.raises(SystemExit) as stop:
        main(["train", *words])
    assert stop.value.code in (0, None)
    out, error = capsys.readouterr()
    assert error == ""
    return out.splitlines()


@pytest.mark.parametrize(
    "words", [("--help",), ("-h",), ("plus-maze", "--help"), ("--seed", "3", "-h")]
)
def test_help_shows_every_days_options_on_one_screen(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = said(capsys, *words)
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    shown = [found[1] for line in lines if (found := re.match(r"  --([\w-]+)", line))]
    assert shown == list(EVERYDAY)
    assert "--help-all" in "".join(lines)


def test_values_are_those_of_the_task_and_the_agent(capsys: pytest.CaptureFixture[str]) -> None:
    assert any(line.startswith("  --steps 30000 ") for line in said(capsys, "plus-maze", "--help"))
    lines = said(capsys, "t-maze", "--agent", "nec", "--help-all")
    assert any(line.startswith("  --neighbours 50 ") for line in lines)
    assert not any("extensions" in line for line in lines)


def test_the_papers_hyperparameters_are_apart_from_ours(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(said(capsys, "t-maze", "--help-all"))
    run, paper, ours, extensions = (part.partition("\n")[2] for part in text.split("\n\n")[2:])
    assert "--loop.eval-every" in run
    assert "--model.n-bits" in paper
    assert "--training.segment" in ours
    assert "--extensions.[no-]last-action" in extensions
    assert re.search(r"\bours\b", paper) is None
    assert paper.count("  --extensions") + ours.count("  --extensions") == 0


@pytest.mark.parametrize("agent", list(AGENTS))
def test_every_option_of_the_help_can_be_given_with_the_value_it_shows(
    agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = said(capsys, "t-maze-2d", "--agent", agent, "--help-all")
    given = []
    for line in lines:
        option = re.match(r"  (--\S+)((?: \S+)*)(?:  |$)", line)
        if option is None or option[1].lstrip("-") in (*EVERYDAY, "wad", "map"):
            continue
        name, values = option[1], option[2].split()
        if "[no-]" in name:
            given.append(name.replace("[no-]", "" if values == ["on"] else "no-"))
        else:
            given += [name, *values]
    config = parse_train(["t-maze-2d", "--agent", agent, *given]).config
    assert config == default_run("t-maze-2d", agent, "cpu")
    assert len(given) > 20
