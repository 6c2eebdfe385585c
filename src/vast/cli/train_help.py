"""What `vast train --help` and `--help-all` print: each option with its present value.

Tyro's help takes three hundred lines. Here the options of every day fit on one screen; all of them
are in groups, the paper's apart from ours.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from vast.agents.vast.config import ExtensionsConfig

EVERYDAY = (
    "agent",
    "preset",
    "plain",
    "config",
    "steps",
    "seed",
    "out",
    "interventions",
    "threads",
    "device",
    "wandb",
)
"""options that everybody needs"""
METAVARS = {
    "config": "DIR",
    "out": "DIR",
    "interventions": "STEP:WHAT ...",
    "wad": "FILE",
    "map": "NAME",
    "wandb": "[PROJECT]",
}
"""what an option takes that has no value unless it is given"""
FLAGS = ("plain",)
"""options that can only be turned on"""
INDENT, COLUMN, WIDTH = 2, 26, 80


@dataclass(frozen=True)
class Option:
    """One option as the help shows it."""

    name: str
    """as it is typed, without the leading hyphens"""
    value: Any
    about: str
    is_extension: bool = False

    @property
    def is_ours(self) -> bool:
        """Whether its description says that it is not in the paper."""
        return re.search(r"\bours\b", self.about) is not None

    def words(self) -> str:
        """Return how it is typed, with its present value."""
        *parts, last = self.name.replace("_", "-").split(".")
        if self.name in FLAGS:
            shown = ""
        elif isinstance(self.value, bool):
            last, shown = f"[no-]{last}", "on" if self.value else "off"
        elif isinstance(self.value, tuple):
            shown = " ".join(map(str, self.value)) or METAVARS.get(self.name, "")
        else:
            shown = str(METAVARS.get(self.name) if self.value is None else self.value)
        return f"--{'.'.join([*parts, last])} {shown}".rstrip()

    def lines(self) -> Iterator[str]:
        """Give its lines: how it is typed, then what it is."""
        words, about = self.words(), _wrapped(self.about, WIDTH - COLUMN)
        head = f"{' ' * INDENT}{words:<{COLUMN - INDENT}}"
        if len(words) + INDENT + 2 <= COLUMN and about:
            yield head + about.pop(0)
        else:
            yield head.rstrip()
        yield from (" " * COLUMN + line for line in about)


def everyday(options: Any) -> str:
    """Return the help on the options of every day."""
    chosen = {option.name: option for option in _options(options)}
    return "\n".join(
        [
            *_head(options),
            *(line for name in EVERYDAY for line in chosen[name].lines()),
            "",
            *_wrapped(
                f"`vast train {options.task} --help-all` lists every option: those of the run, the "
                "paper's hyperparameters, and ours."
            ),
        ]
    )


def everything(options: Any) -> str:
    """Return the help on all options, in groups; `settings` are the agent's hyperparameters."""
    run = list(_options(options))
    settings = list(_options(options.settings))
    paper = [each for each in settings if not each.is_ours and not each.is_extension]
    ours = [each for each in settings if each.is_ours and not each.is_extension]
    extensions = [each for each in settings if each.is_extension]
    groups = {
        "The run": run,
        "Hyperparameters of the paper, as this preset has them": paper,
        "Ours: the same algorithm, faster or on other input": ours,
        "Ours: extensions, which change states, table or decisions": extensions,
    }
    lines = list(_head(options))
    for title, group in groups.items():
        if group:
            lines += [title, *(line for each in group for line in each.lines()), ""]
    return "\n".join(lines[:-1])


def _head(options: Any) -> Iterator[str]:
    yield "usage: vast train TASK [OPTIONS]"
    yield ""
    yield from _wrapped(
        f"{type(options).__doc__} TASK is one of `vast tasks`, a .maze file, or gym:ENV_ID for any "
        "registered Gymnasium environment. Options are shown with their values for "
        f"{options.task} and {options.agent}."
    )
    yield ""


def _wrapped(text: str, width: int = WIDTH) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


def _options(config: Any, path: str = "", *, inside: bool = False) -> Iterator[Option]:
    """Give the fields of a config, and of the configs in it, as options."""
    extension = inside or isinstance(config, ExtensionsConfig)
    about = descriptions(type(config))
    for field in fields(config):
        value = getattr(config, field.name)
        name = f"{path}{field.name}"
        if is_dataclass(value):
            if name != "settings":
                yield from _options(value, f"{name}.", inside=extension)
        elif name != "task":
            yield Option(name, value, about[field.name], extension)


def descriptions(kind: type[Any]) -> dict[str, str]:
    """Return the docstring under each field of a config, inherited ones included."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if not is_dataclass(base):
            continue
        try:
            source = inspect.getsource(base)
        except OSError:  # made on the fly, without source
            continue
        body = ast.parse(textwrap.dedent(source)).body[0]
        assert isinstance(body, ast.ClassDef)
        for statement, after in zip(body.body, body.body[1:], strict=False):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                text = after.value if isinstance(after, ast.Expr) else None
                found[statement.target.id] = (
                    str(text.value) if isinstance(text, ast.Constant) else ""
                )
    return found
