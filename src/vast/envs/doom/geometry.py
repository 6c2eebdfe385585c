"""Exact plane geometry on integer points: touching, crossing and containment."""

from collections.abc import Sequence
from itertools import pairwise

from vast.envs.doom.maze import Point

Segment = tuple[Point, Point]


def side(a: Point, b: Point, p: Point) -> int:
    """Return the side of the line a -> b on which p lies: 1 left, -1 right, 0 on the line."""
    cross = (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
    return (cross > 0) - (cross < 0)


def on_segment(p: Point, segment: Segment) -> bool:
    """Tell whether p lies on the segment, ends included."""
    a, b = segment
    return (
        side(a, b, p) == 0
        and min(a[0], b[0]) <= p[0] <= max(a[0], b[0])
        and min(a[1], b[1]) <= p[1] <= max(a[1], b[1])
    )


def crossing(first: Segment, second: Segment) -> Point | None:
    """Return where two segments cross, ends excluded, to the nearest 1/65536 unit, or None."""
    (a, b), (c, d) = first, second
    if side(a, b, c) * side(a, b, d) >= 0 or side(c, d, a) * side(c, d, b) >= 0:
        return None
    dx, dy, ex, ey = b[0] - a[0], b[1] - a[1], d[0] - c[0], d[1] - c[1]
    denominator = dx * ey - dy * ex
    along = (c[0] - a[0]) * ey - (c[1] - a[1]) * ex
    return a[0] + _divide(along * dx, denominator), a[1] + _divide(along * dy, denominator)


def cut(segment: Segment, points: set[Point]) -> list[Segment]:
    """Return the pieces of a segment between these points on it, in order."""
    a, b = segment
    ordered = sorted({*points, a, b}, key=lambda p: abs(p[0] - a[0]) + abs(p[1] - a[1]))
    return list(pairwise(ordered))


def meeting_points(segments: Sequence[Segment]) -> list[set[Point]]:
    """Return for each segment the points where another segment ends on it or crosses it."""
    points: list[set[Point]] = [set() for _ in segments]
    for i, first in enumerate(segments):
        for j in range(i):
            second = segments[j]
            if _apart(first, second):
                continue
            points[i].update(p for p in second if on_segment(p, first))
            points[j].update(p for p in first if on_segment(p, second))
            cross = crossing(first, second)
            if cross:
                points[i].add(cross)
                points[j].add(cross)
    return points


def doubled_area(corners: Sequence[Point]) -> int:
    """Return twice the signed area of a polygon, negative if its corners are clockwise."""
    pairs = zip(corners, [*corners[1:], corners[0]], strict=True)
    return sum(a[0] * b[1] - b[0] * a[1] for a, b in pairs)


def inside(p: Point, corners: Sequence[Point]) -> bool:
    """Tell whether p lies strictly inside a polygon (even-odd rule)."""
    odd = False
    for a, b in zip(corners, [*corners[1:], corners[0]], strict=True):
        if on_segment(p, (a, b)):
            return False
        if (a[1] > p[1]) != (b[1] > p[1]) and side(a, b, p) == (1 if b[1] > a[1] else -1):
            odd = not odd
    return odd


def box_meets(low: Point, high: Point, segment: Segment) -> bool:
    """Tell whether a segment enters the interior of an axis-aligned box."""
    a, b = segment
    if (
        max(a[0], b[0]) <= low[0]
        or min(a[0], b[0]) >= high[0]
        or max(a[1], b[1]) <= low[1]
        or min(a[1], b[1]) >= high[1]
    ):
        return False
    sides = {side(a, b, (x, y)) for x in (low[0], high[0]) for y in (low[1], high[1])}
    return {1, -1} <= sides


def midpoint(segment: Segment) -> Point:
    """Return the middle of a segment, to the nearest 1/65536 unit."""
    (ax, ay), (bx, by) = segment
    return (ax + bx) // 2, (ay + by) // 2


def _apart(first: Segment, second: Segment) -> bool:
    return any(
        max(first[0][k], first[1][k]) < min(second[0][k], second[1][k])
        or max(second[0][k], second[1][k]) < min(first[0][k], first[1][k])
        for k in (0, 1)
    )


def _divide(numerator: int, denominator: int) -> int:
    """Divide and round to the nearest integer."""
    if denominator < 0:
        numerator, denominator = -numerator, -denominator
    return (2 * numerator + denominator) // (2 * denominator)
