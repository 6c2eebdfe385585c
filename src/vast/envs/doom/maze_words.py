"""The words of a line of a maze file, taken from left to right, with their line and column."""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from vast.envs.doom.maze import UNIT, Place, Point

MAX_COORDINATE = 16384
"""the largest coordinate; the engine's own limit is 32767"""


@dataclass(frozen=True)
class Word:
    """A word of a line and where it begins."""

    text: str
    place: Place


class Line:
    """The words of one statement, taken from left to right."""

    def __init__(self, words: list[Word], end: Place) -> None:
        self._words = words
        self._end = end
        self._next = 0

    @property
    def place(self) -> Place:
        """The place of the next word."""
        return self._words[self._next].place if self.more() else self._end

    def more(self) -> bool:
        """Tell whether a word is left."""
        return self._next < len(self._words)

    def take(self, what: str) -> Word:
        """Return the next word; `what` says what it must be if it is missing."""
        if not self.more():
            raise self._end.error(f"the next word must be {what}, got the end of the line")
        self._next += 1
        return self._words[self._next - 1]

    def keyword(self, *allowed: str) -> str | None:
        """Take the next word if it is one of the allowed ones."""
        if self.more() and self._words[self._next].text.lower() in allowed:
            return self.take("a keyword").text.lower()
        return None

    def expect(self, keyword: str) -> None:
        """Take a word that must be `keyword`."""
        word = self.take(repr(keyword))
        if word.text.lower() != keyword:
            raise word.place.error(f"the next word must be {keyword!r}, got {word.text!r}")

    def number(self, what: str) -> Decimal:
        """Take a decimal number."""
        word = self.take(what)
        return _decimal(word.text, what, word.place)

    def whole(self, what: str, low: int, high: int) -> int:
        """Take an integer in [low, high]."""
        word = self.take(what)
        value = _decimal(word.text, what, word.place)
        if value != int(value) or not low <= value <= high:
            raise word.place.error(
                f"{what} must be an integer between {low} and {high}, got {word.text}"
            )
        return int(value)

    def point(self) -> Point:
        """Take a point, written x,y without a space."""
        word = self.take("a point such as -64,128")
        parts = word.text.split(",")
        if len(parts) != 2:
            raise word.place.error(
                f"a point must be x,y without a space, such as -64,128, got {word.text!r}"
            )
        x, y = (_coordinate(part, word.place) for part in parts)
        return x, y

    def points(self) -> list[Point]:
        """Take all points that follow."""
        found = []
        while self.more() and "," in self._words[self._next].text:
            found.append(self.point())
        return found

    def segment(self) -> tuple[Point, Point]:
        """Take two different points."""
        place = self.place
        start, end = self.point(), self.point()
        if start == end:
            raise place.error("the two points of a line must be different")
        return start, end

    def finish(self) -> None:
        """Refuse words after the end of the statement."""
        if self.more():
            word = self._words[self._next]
            raise word.place.error(f"the statement must end here, got {word.text!r}")


def _decimal(text: str, what: str, place: Place) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        raise place.error(f"{what} must be a number, got {text!r}")
    return value


def _coordinate(text: str, place: Place) -> int:
    value = _decimal(text, "a coordinate", place)
    if abs(value) > MAX_COORDINATE:
        raise place.error(
            f"a coordinate must be between -{MAX_COORDINATE} and {MAX_COORDINATE}, got {text}"
        )
    return int((value * UNIT).to_integral_value())
