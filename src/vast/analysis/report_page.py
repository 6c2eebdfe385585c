"""A report as one self-contained HTML page."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple


class Fact(NamedTuple):
    """A fact about a run."""

    run: str
    name: str
    text: str


class Picture(NamedTuple):
    """A picture and its caption."""

    title: str
    about: str
    file: Path
    """a PNG file, which is embedded in the page"""


def page(
    title: str,
    facts: Sequence[Fact],
    pictures: Sequence[Picture],
    configs: Mapping[str, Any],
) -> str:
    """Return the whole page."""
    body = "\n".join(
        [
            f"<h1>{escape(title)}</h1>",
            _facts(facts),
            *(_picture(picture) for picture in pictures),
            *(_config(name, config) for name, config in configs.items()),
        ]
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _facts(facts: Sequence[Fact]) -> str:
    """Return a table with a column per run."""
    runs = list(dict.fromkeys(fact.run for fact in facts))
    names = list(dict.fromkeys(fact.name for fact in facts))
    texts = {(fact.run, fact.name): fact.text for fact in facts}
    head = "" if len(runs) == 1 else _row("th", ["", *runs])
    rows = (
        _row("td", [name, *(texts.get((run, name), "") for run in runs)], heading=True)
        for name in names
    )
    return f'<div class="wide"><table>{head}{"".join(rows)}</table></div>'


def _picture(picture: Picture) -> str:
    content = base64.b64encode(picture.file.read_bytes()).decode("ascii")
    return (
        f"<section><h2>{escape(picture.title)}</h2>"
        f'<img alt="{escape(picture.title)}" src="data:image/png;base64,{content}">'
        f"<p>{escape(picture.about)}</p></section>"
    )


def _config(name: str, config: Any) -> str:
    rows = "".join(_row("td", pair) for pair in _flat(config))
    return (
        f"<details><summary>Hyperparameters of {escape(name)}</summary>"
        f'<div class="wide"><table>{rows}</table></div></details>'
    )


def _flat(config: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Return nested fields as names with dots, and their values."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", "" if value is None else str(value)


def _row(tag: str, cells: Sequence[str], *, heading: bool = False) -> str:
    tags = ["th" if heading and not number else tag for number in range(len(cells))]
    return (
        "<tr>"
        + "".join(f"<{tag}>{escape(cell)}</{tag}>" for tag, cell in zip(tags, cells, strict=True))
        + "</tr>"
    )


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #202020; background: #fff;
       max-width: 1100px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; }
img { max-width: 100%; height: auto; display: block; }
p { max-width: 46rem; color: #444; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; padding: .15rem 1.2rem .15rem 0; vertical-align: top; }
th { font-weight: 600; }
details { margin: 2rem 0; } summary { cursor: pointer; }
details td { font-family: ui-monospace, monospace; font-size: .8rem; }
.wide { overflow-x: auto; }
"""
