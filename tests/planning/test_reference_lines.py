"""The plain-Python table cites every line of the supplement's Algorithm 2, in order."""

import re
import tokenize
from pathlib import Path

from vast.planning import reference

N_LINES = 32
"""numbered lines of the algorithm: every statement, and every end of a loop or condition"""


def test_every_line_of_algorithm_2_is_cited_exactly_once_and_in_order() -> None:
    with Path(reference.__file__).open("rb") as file:
        tokens = list(tokenize.tokenize(file.readline))
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    cited: list[int] = []
    for comment in comments:
        for first, last in re.findall(r"\blines? (\d+)(?:-(\d+))?", comment):
            cited += range(int(first), int(last or first) + 1)
    assert cited == list(range(1, N_LINES + 1))
