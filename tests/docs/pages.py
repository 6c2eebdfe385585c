"""The pages of the documentation, and the fenced blocks in them.

HTML comments right above a block, which no reader sees, say what a test does with it:

    <!-- setup: NAME -->     first call this function of `setups.py`; the code sees what it returns
    <!-- file: NAME -->      write the block to this file; Python may import it
    <!-- run: OPTIONS -->    run its `vast` commands, with these options in addition
    <!-- source: FILE -->    an excerpt of that file, to the letter

Shell commands are parsed. Those of a `console` block are run, and must say what stands below them.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = tuple(
    str(path.relative_to(ROOT))
    for path in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    )
)

RECIPES = "docs/recipes.md"
"""its code becomes part of the package: `test_recipes.py` runs it there"""

FENCED = re.compile(
    r"(?P<notes>(?:^<!-- [a-z]+:[^\n]*-->\n)*)^```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
NOTE = re.compile(r"<!-- ([a-z]+):\s*(.*?)\s*-->")
NOTES = {"setup", "file", "run", "source"}


@dataclass(frozen=True)
class Block:
    """A fenced block: its code, the line and the heading where it begins, and its notes."""

    page: str
    line: int
    heading: str
    language: str
    code: str
    notes: dict[str, str]

    def commands(self) -> list[str]:
        """Return the lines of a shell block."""
        return self.code.splitlines() if self.language in ("", "sh") else []

    def session(self) -> list[tuple[str, str]]:
        """Return the commands after each `$` of a console block, and what each one says."""
        if self.language != "console":
            return []
        said = re.split(r"^\$ (.*)\n", self.code, flags=re.MULTILINE)[1:]
        return list(zip(said[::2], said[1::2], strict=True))


def text(page: str) -> str:
    """Return a page, given by its path from the root."""
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    whole = text(page)
    found = []
    for match in FENCED.finditer(whole):
        above = whole[: match.start("code")]
        line = above.count("\n") + 1
        heading = re.findall(r"^#+ (.*)$", FENCED.sub("", above), re.MULTILINE)[-1]
        notes = dict(NOTE.findall(match["notes"]))
        assert notes.keys() <= NOTES, f"{page}:{line}: unknown note in {notes}"
        found.append(Block(page, line, heading, match["language"], match["code"], notes))
    return found
