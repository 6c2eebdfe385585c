"""Lines of runs that differ in the number of bits d of a state (Figs. 4 and S1)."""

from collections.abc import Sequence
from dataclasses import replace

from vast.analysis.paper.lines import Line, by_arm, labelled_apart, line
from vast.experiments.results import RunRecord

COLOURS = {64: "#440154", 32: "#31688e", 24: "#35b779", 16: "#7ad151", 8: "#d4c120"}
"""from dark, many bits, to light, few: in order also without colours"""
OTHER = "#777777"
DEFAULT_BITS = 32


def n_bits(record: RunRecord) -> int:
    """Return the number of bits of a run's states."""
    model = record.config["settings"].get("model", {})
    return int(model.get("n_bits", DEFAULT_BITS))


def bit_lines(records: Sequence[RunRecord], metric: str, scale: float = 1.0) -> list[Line]:
    """Return a line for each arm of VaST, the most bits first, of the values times a scale."""
    arms = by_arm(record for record in records if record.agent == "vast")
    found = []
    for arm in sorted(arms, key=lambda arm: -n_bits(arm[0])):
        d = n_bits(arm[0])
        one = line(arm, metric, label=f"d = {d}", colour=COLOURS.get(d, OTHER))
        if one is not None:
            runs = {seed: (steps, scale * values) for seed, (steps, values) in one.runs.items()}
            found.append(replace(one, runs=runs))
    return labelled_apart(found)


def in_order(one: Line) -> int:
    """Return a key that sorts lines by their number of bits, the largest first."""
    return -int(one.label.removeprefix("d = ").partition(",")[0])
