"""Links that leave the docs, to a file of the repository, which is not part of the site.

They lead to the repository that `pyproject.toml` names. As long as it names none, only their text
stays.
"""

import tomllib
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

ROOT = Path(__file__).parents[1]
LAST = -10
"""of the priorities of Python-Markdown: after everything else"""


def repository() -> str | None:
    """Return the address of the repository."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address: str | None = project.get("urls", {}).get("Homepage")
    return address


class _Rewrite(Treeprocessor):
    def __init__(self, md: Markdown, address: str | None) -> None:
        super().__init__(md)
        self._address = address

    def run(self, root: Element) -> None:
        for link in root.iter("a"):
            path = link.get("href", "").partition("#")[0]
            inside = path.lstrip("./")
            if not path.startswith("../") or (ROOT / "docs" / inside).exists():
                continue
            if self._address is None:
                link.tag = "span"
                del link.attrib["href"]
            else:
                link.set("href", f"{self._address}/blob/main/{inside}")


class SourceLinks(Extension):
    """Links to files of the repository."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Add the rule to a parser."""
        md.treeprocessors.register(_Rewrite(md, repository()), "source_links", LAST)


def makeExtension(**options: Any) -> SourceLinks:  # Python-Markdown looks for this name
    """Return the extension."""
    return SourceLinks(**options)
