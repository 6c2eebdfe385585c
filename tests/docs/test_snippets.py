"""Every block of code in README and docs runs, page by page and in order.

The blocks of a page share their names and a folder of their own. `pages.py` says how a page tells
a test what its code needs; `setups.py` provides it. Agents learn for 300 steps at most.
"""

import ast
import functools
import importlib.util
import io
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.docs import setups
from tests.docs.facts import FACTS
from tests.docs.pages import PAGES, RECIPES, ROOT, Block, blocks, text
from vast.agents.base import Agent
from vast.analysis.figures import FIGURES
from vast.cli import main, parse
from vast.experiments.figures import scales_of

LONGEST = 300
ANSWER = re.compile(r"# -> (.*)$")
"""what a line of Python gives: its value, or what it prints"""
NOT_COMPLETE = ("maze build", "maze show")
PLACEHOLDER = re.compile(r"--help|[A-Z]{2,}|\.\.\.|\[")


def pages_with(*languages: str) -> list[Any]:
    """Return the pages that have blocks in these languages, as parameters of a test."""
    found = [page for page in PAGES if any(block.language in languages for block in blocks(page))]
    return [pytest.param(page, id=page) for page in found]


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Go to an empty folder, where agents learn for a few steps only."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    learn = Agent.learn

    @functools.wraps(learn)
    def short(self: Agent, steps: int, *args: Any, **options: Any) -> Agent:
        return learn(self, min(steps, LONGEST), *args, **options)

    monkeypatch.setattr(Agent, "learn", short)


@pytest.mark.parametrize("page", pages_with("", "sh", "python", "maze", "toml"))
def test_a_page_does_what_it_says(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["page"])
    names: dict[str, Any] = {}
    said = io.StringIO()
    for block in blocks(page):
        if "setup" in block.notes:
            names |= getattr(setups, block.notes["setup"])()
        if "file" in block.notes:
            Path(block.notes["file"]).write_text(block.code, encoding="utf-8")
        runs = page != RECIPES and not {"source", "file"} & block.notes.keys()
        if block.language == "python" and runs:
            with redirect_stdout(said):
                execute(block, names)
        for command in block.commands():
            check_command(command, block, said)
        for command, answer in block.session():
            assert console(command) == answer, f"{page}:{block.line}"
    if page in FACTS:
        FACTS[page](names, said.getvalue())
    for value in names.values():
        if isinstance(value, Agent):
            value.close()


def execute(block: Block, names: dict[str, Any]) -> None:
    """Run Python, statement by statement, and compare what it gives with what the page says."""
    shifted = "\n" * (block.line - 1) + block.code
    lines = shifted.splitlines()
    for statement in ast.parse(shifted).body:
        answer = ANSWER.search(lines[(statement.end_lineno or 1) - 1])
        module = ast.Module([statement], [])
        if answer is None:
            exec(compile(module, block.page, "exec"), names)
            continue
        printed = io.StringIO()
        with redirect_stdout(printed):
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), block.page, "eval"), names)
            else:
                exec(compile(module, block.page, "exec"), names)
                assert isinstance(statement, ast.Assign)
                value = eval(ast.unparse(statement.targets[0]), names)
        given = printed.getvalue() or repr(value)
        where = f"{block.page}:{statement.end_lineno}"
        assert " ".join(given.split()) == " ".join(answer[1].split()), where


def check_command(line: str, block: Block, said: io.StringIO) -> None:
    """Parse a `vast` command, and run it if the block says so; of others, see that they exist."""
    words = shlex.split(line, comments=True)
    if words[:1] == ["vast"]:
        if "run" in block.notes:
            with redirect_stdout(said):
                main([*words[1:], *shlex.split(block.notes["run"])])
        else:
            check_vast(words[1:])
    elif words[:2] == ["python", "-m"]:
        assert importlib.util.find_spec(words[2]) is not None, line
    elif words[:1] == ["make"]:
        makefile = text("Makefile")
        for target in words[1:]:
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), line


def console(command: str) -> str:
    """Run a `vast` command; return what it says on the screen."""
    screen = io.StringIO()
    with redirect_stdout(screen), redirect_stderr(screen), suppress(SystemExit):
        main(shlex.split(command)[1:])
    return screen.getvalue()


def check_vast(arguments: list[str]) -> None:
    """Parse a command; experiments and figures must exist."""
    if any(word.endswith(".maze") and not Path(word).exists() for word in arguments):
        setups.own_files()
    parse(arguments)
    if arguments[0] == "grid" and not re.search(r"/|\.toml$", arguments[1]):
        scales_of(arguments[1])
    if arguments[0] == "figure":
        assert arguments[1] in FIGURES


@pytest.mark.parametrize("page", [page for page in PAGES if page != RECIPES])
def test_commands_within_sentences_exist(page: str) -> None:
    prose = re.sub(r"^```.*?^```$", "", text(page), flags=re.MULTILINE | re.DOTALL)
    for command in re.findall(r"`vast (\w+ [^`]+)`", prose):
        if not PLACEHOLDER.search(command) and command not in NOT_COMPLETE:
            check_vast(shlex.split(command))


@pytest.mark.parametrize("page", PAGES)
def test_excerpts_are_what_the_files_say(page: str) -> None:
    for block in blocks(page):
        if "source" in block.notes:
            source = (ROOT / block.notes["source"]).read_text(encoding="utf-8")
            plain = "\n".join(line.strip() for line in source.splitlines())
            excerpt = "\n".join(line.strip() for line in block.code.splitlines())
            assert excerpt in plain, f"{page}:{block.line}"
