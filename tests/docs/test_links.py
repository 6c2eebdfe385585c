"""Links within README and docs lead to a file that is there, and to a heading that it has."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import FENCED, PAGES, ROOT, text

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
MORE = ("CHANGELOG.md",)


def prose(page: str) -> str:
    """Return a page without its code."""
    return re.sub(r"`[^`\n]*`", "", FENCED.sub("", text(page)))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site name them."""
    plain = FENCED.sub("", page.read_text(encoding="utf-8"))
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", plain, re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")
        found.add(slug)
    return found


def dead(page: str) -> list[str]:
    """Return the links of a page that lead nowhere."""
    wrong = []
    for link in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        missing = not target.is_relative_to(ROOT) or not target.exists()
        if missing or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("page", [*PAGES, *MORE])
def test_no_link_is_dead(page: str) -> None:
    assert dead(page) == []


def test_pages_that_the_code_names_are_there() -> None:
    files = [ROOT / "Makefile", *(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    named = {
        page
        for file in files
        for page in re.findall(r"\bdocs/[\w/-]+\.md\b", file.read_text(encoding="utf-8"))
    }
    assert {page for page in named if not (ROOT / page).exists()} == set()
