"""A report as one self-contained HTML page: no script, nothing loaded from anywhere."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from matplotlib.figure import Figure

from vast.analysis.arms import flat
from vast.analysis.drawing import themed_svg

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""what a browser may load for the page: nothing but what is in it"""
STYLE = files("vast.analysis") / "report.css"


@dataclass(frozen=True)
class Picture:
    """A figure, and what it shows."""

    source: str
    """its SVG as the address of an image"""
    alt: str
    caption: str = ""

    @classmethod
    def of(cls, figure: Figure, alt: str, caption: str = "") -> "Picture":
        """Return a picture of a figure."""
        # Quoted rather than base64: the images within are base64 already.
        quoted = quote(themed_svg(figure), safe=" !$'()*+,-./:;=?@[]_{|}~\n")
        return cls(f"data:image/svg+xml;charset=utf-8,{quoted}", alt, caption)


@dataclass
class Section:
    """A heading, what is to be said, and pictures; each may be missing."""

    title: str
    about: str = ""
    pictures: list[Picture] = field(default_factory=list)
    note: str = ""
    """why there is nothing to show"""
    inside: str = ""
    """HTML after the pictures"""
    parts: list["Section"] = field(default_factory=list)
    """smaller sections within it"""

    @property
    def anchor(self) -> str:
        """Return the name by which links find it."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")

    @property
    def size(self) -> int:
        """Return how many bytes its pictures take."""
        own = sum(len(picture.source) for picture in self.pictures)
        return own + sum(part.size for part in self.parts)


def page(title: str, subtitle: str, sections: Sequence[Section], foot: str) -> str:
    """Return the whole page."""
    links = "".join(
        f'<a href="#{section.anchor}">{escape(section.title)}</a>' for section in sections
    )
    body = "\n".join(_section(section) for section in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE.read_text(encoding='utf-8')}</style>\n"
        f"</head>\n<body>\n<header><h1>{escape(title)}</h1><p>{escape(subtitle)}</p>"
        f"<nav>{links}</nav></header>\n<main>\n{body}\n</main>\n"
        f"<footer>{escape(foot)}</footer>\n</body>\n</html>\n"
    )


def _section(section: Section, level: int = 2, within: str = "") -> str:
    tag, anchor = f"h{level}", within + section.anchor
    about = f"<p>{escape(section.about)}</p>" if section.about else ""
    note = f'<p class="note">{escape(section.note)}</p>' if section.note else ""
    pictures = "".join(map(_picture, section.pictures))
    grid = f'<div class="pictures">{pictures}</div>' if pictures else ""
    parts = "\n".join(_section(part, level + 1, f"{anchor}-") for part in section.parts)
    return (
        f'<section id="{anchor}"><{tag}>{escape(section.title)}</{tag}>'
        f"{about}{note}{grid}{section.inside}{parts}</section>"
    )


def _picture(picture: Picture) -> str:
    caption = f"<figcaption>{escape(picture.caption)}</figcaption>" if picture.caption else ""
    alt = escape(picture.alt, quote=True)
    return f'<figure><img alt="{alt}" src="{picture.source}">{caption}</figure>'


def facts(pairs: Mapping[str, str]) -> str:
    """Return names and values, side by side."""
    rows = (
        f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in pairs.items()
    )
    return f"<dl>{''.join(rows)}</dl>"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; on a narrow screen each row becomes a card."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td data-label="{escape(column, quote=True)}">{escape(cell)}</td>'
            for column, cell in zip(columns, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    whole = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{whole}</div>'


def details(summary: str, inside: str) -> str:
    """Return HTML that is folded away under a summary."""
    return f"<details><summary>{escape(summary)}</summary>{inside}</details>"


def fields(config: Mapping[str, Any]) -> str:
    """Return nested fields by their names with dots."""
    return facts({name: as_text(value) for name, value in flat(config)})


def as_text(value: Any) -> str:
    """Return the value of a hyperparameter in words."""
    return "none" if value in (None, []) else str(value)
