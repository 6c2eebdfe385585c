"""Mathematics as MathML, which browsers draw themselves: no script, no fonts from elsewhere.

The source is GitHub's, so that pages look right there too: a fenced block in the language `math`,
and dollars around backticks within a line.
"""

from typing import Any
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert, convert_to_element
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor

INLINE = r"\$`([^`]+)`\$"
BEFORE_CODE = 200
"""of the priorities of Python-Markdown: the backticks of code have 190"""


def fence(source: str, language: str, css_class: str, options: Any, md: Any, **_: Any) -> str:
    """Return a fenced block of mathematics as HTML."""
    return f'<div class="math">{convert(source, display="block")}</div>'


class _Inline(InlineProcessor):
    def handleMatch(self, m: Any, data: str) -> tuple[Element, int, int]:
        element: Element = convert_to_element(m[1])
        return element, m.start(0), m.end(0)


class MathML(Extension):
    """Mathematics within a line."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Add the pattern to a parser."""
        md.inlinePatterns.register(_Inline(INLINE, md), "mathml", BEFORE_CODE)


def makeExtension(**options: Any) -> MathML:  # Python-Markdown looks for this name
    """Return the extension."""
    return MathML(**options)
