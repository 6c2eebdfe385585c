"""The numbers of docs/results.md, written into the page anew as runs come in.

    python -m vast.analysis.results_page docs/results.md                      # what is published
    python -m vast.analysis.results_page page.md --from grids/fig6-cpu        # a grid of one's own

Between `<!-- claim NAME -->` and `<!-- end -->` stands the table of a claim, and between
`<!-- claims -->` and `<!-- end -->` the list of all. Everything else is written by people, the
verdicts above all, and stays as it is.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro

from vast.analysis.claim_rows import Records
from vast.analysis.claims import CLAIMS, Claim
from vast.analysis.figures import SCALE
from vast.errors import UserError, unknown
from vast.experiments.grids.directory import read_grid
from vast.experiments.results import load_grid, load_published, published_names
from vast.files import atomic_write

BLOCK = re.compile(r"(<!-- claim ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
LIST = re.compile(r"(<!-- claims -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str, records: Records) -> str:
    """Return the page with the tables of these records; UserError if it names an unknown claim."""
    claims = {claim.name: claim for claim in CLAIMS}

    def table(found: re.Match[str]) -> str:
        if found[2] not in claims:
            raise unknown("claim", found[2], claims)
        return f"{found[1]}{claim_table(claims[found[2]], records)}\n{found[3]}"

    listed = "\n".join(f"- [{claim.text}](#{claim.name})" for claim in CLAIMS)
    return BLOCK.sub(table, LIST.sub(lambda found: f"{found[1]}{listed}\n{found[2]}", page))


def claim_table(claim: Claim, records: Records) -> str:
    """Return the table of a claim, or which runs are missing."""
    rows = claim.rows(records)
    if not rows:
        runs = " and ".join(f"`vast grid {grid}`" for grid in claim.grids)
        return f"No published runs yet: {runs}."
    lines = ["| | statistic | result |", "|---|---|---|"]
    last = ""
    for row in rows:
        lines.append(f"| {'' if row.what == last else row.what} | {row.statistic} | {row.result} |")
        last = row.what
    return "\n".join(lines)


def published() -> Records:
    """Return what is published, by the name of its grid."""
    suffix = f"-{SCALE}"
    return {
        name.removesuffix(suffix): load_published(name)
        for name in published_names()
        if name.endswith(suffix)
    }


def of_grids(directories: Sequence[Path]) -> Records:
    """Return the records of grids, by their names."""
    return {read_grid(directory).name: load_grid(directory) for directory in directories}


def main(
    page: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(help="the Markdown file")],
    source: Annotated[
        tuple[Path, ...], tyro.conf.arg(name="from", help="grids; by default what is published")
    ] = (),
) -> None:
    """Write the tables of the claims into a page."""
    try:
        before = page.read_text(encoding="utf-8")
        after = filled(before, of_grids(source) if source else published())
        with atomic_write(page) as unfinished:
            unfinished.write_text(after, encoding="utf-8")
    except (UserError, OSError) as error:
        raise SystemExit(f"{page}: {error}") from error
    print(f"wrote {page}" if after != before else f"{page} is up to date")


if __name__ == "__main__":
    tyro.cli(main)
