"""The rules of a task: rewards of zones, the living reward, hazards, and how an episode begins.

The WAD knows nothing of rewards. They depend on the player's position after each step, so they can
be reversed while the engine runs, and work in any map.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vast.envs.doom.maze import TERMINAL_KINDS, Maze, units
from vast.errors import UserError

ZONE_LUMP = "VASTZONE"
"""the lump of our WADs that lists the zones; the engine ignores it"""
HAZARD_PROBABILITY = 0.25
"""the probability that a step that ends in a hazard is punished (Fig. 3)"""


@dataclass(frozen=True)
class Area:
    """A zone of a map, of kind "goal", "penalty" or "hazard": a rectangle in map units."""

    kind: str
    low_x: float
    low_y: float
    high_x: float
    high_y: float

    def contains(self, x: float, y: float) -> bool:
        """Tell whether a position lies strictly inside."""
        return self.low_x < x < self.high_x and self.low_y < y < self.high_y


@dataclass(frozen=True)
class Outcome:
    """The outcome of a step: its reward, whether the episode is over, and the event, if any."""

    reward: float
    terminated: bool
    event: str | None


@dataclass(frozen=True)
class Rules:
    """The rewards of a task, and how its episodes begin."""

    living_reward: float
    """the reward of every step that does not end in a zone"""
    hazards: bool = False
    """whether hazard zones are active"""
    teleporter: bool = False
    """whether a step through a teleporter is an event"""
    turn_steps: int = 14
    """an episode begins with a random number of left turns below this ..."""
    random_steps: int = 10
    """... and then this many random actions, before its first step"""

    def outcome(self, kind: str | None, reverse: bool, rng: np.random.Generator) -> Outcome:
        """Return the outcome of a step into a zone of this kind, or None.

        The reward of a zone replaces the living reward.
        """
        if kind in TERMINAL_KINDS:
            good = (kind == "goal") != reverse
            return Outcome(1.0 if good else -1.0, True, "goal" if good else "penalty")
        # One random number per step, wherever the player is, so that chance is independent of it.
        if self.hazards and rng.random() < HAZARD_PROBABILITY and kind == "hazard":
            return Outcome(-1.0, False, "hazard")
        return Outcome(self.living_reward, False, None)


def kind_at(areas: Sequence[Area], x: float, y: float) -> str | None:
    """Return the kind of the zone at a position, None if there is none."""
    for area in areas:
        if area.contains(x, y):
            return area.kind
    return None


def zone_text(maze: Maze) -> str:
    """Return the zones of a maze's maps as lines `MAP kind x y x y`."""
    lines = []
    for name, map_ in maze.maps.items():
        for zone in map_.zones:
            numbers = (units(v) for v in (*zone.low, *zone.high))
            lines.append(f"{name} {zone.kind} " + " ".join(f"{v:.6f}" for v in numbers))
    return "\n".join(lines)


def read_zones(text: str, source: str) -> dict[str, list[Area]]:
    """Return each map's areas from the text of a zone lump."""
    found: dict[str, list[Area]] = {}
    try:
        for line in text.splitlines():
            name, kind, *numbers = line.split()
            low_x, low_y, high_x, high_y = (float(number) for number in numbers)
            found.setdefault(name, []).append(Area(kind, low_x, low_y, high_x, high_y))
    except ValueError as error:
        raise UserError(f"{source} is damaged: lump {ZONE_LUMP}: {error}") from error
    return found
