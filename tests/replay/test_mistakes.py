"""A mistake gets one line that names the value and what it must be, and changes nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.replay.models import make, picture
from tests.replay.test_saving import snapshot
from vast.replay import Replay

ONE = np.array([1], np.uint64)
rng = np.random.default_rng(0)

MISTAKES: list[tuple[Callable[[Replay], Any], str]] = [
    (lambda r: r.begin(picture(0)), "an episode is in progress: call end_terminal or end_trunc"),
    (lambda r: r.append(0, 0.0, np.zeros(3, np.uint8)), r"observation must .*, got shape \(3,\)"),
    (lambda r: r.append(0, 0.0, np.zeros(2)), "observation must .* type uint8, got .* float64"),
    (lambda r: r.append(0, 0.0, picture(0), (1.0, 2.0)), r"pose must be .*, got \(1.0, 2.0\)"),
    (lambda r: r.append(0, 0.0, picture(0), (1.0, 2.0, "x")), "pose must be .*, got .*'x'"),  # type: ignore[arg-type]
    (lambda r: r.append(0, 0.0, picture(0), 5), "pose must be .*, got 5"),  # type: ignore[arg-type]
    (lambda r: r.append(3, 0.0, picture(0)), "action must be between 0 and 2, got 3"),
    (lambda r: r.append(-1, 0.0, picture(0)), "action must be between 0 and 2, got -1"),
    (lambda r: r.append(0.5, 0.0, picture(0)), "action must be an integer, got 0.5"),  # type: ignore[arg-type]
    (lambda r: r.append(0, np.nan, picture(0)), "reward must be a finite number, got nan"),
    (lambda r: r.end_terminal(7, 0.0), "action must be between 0 and 2, got 7"),
    (lambda r: r.end_terminal(0, np.inf), "reward must be a finite number, got inf"),
    (lambda r: r.assign([2], ONE), "frame must be stored, between 3 and 6, got 2"),
    (lambda r: r.assign([7], ONE), "frame must be stored, between 3 and 6, got 7"),
    (lambda r: r.assign([4], ONE), "frame 4 already has a state: use reassign"),
    (lambda r: r.assign([6, 6], np.array([1, 1], np.uint64)), "frame 6 already has a state"),
    (lambda r: r.reassign([-1], ONE), "frame must be stored, between 3 and 6, got -1"),
    (lambda r: r.reassign([5, 6], ONE), r"states must be .* 2 frames, got shape \(1,\)"),
    (lambda r: r.reassign([5], [1]), "states must be one uint64 .*, got .* type int64"),
    (lambda r: r.reassign([[5]], ONE), r"frame numbers must be .*, got shape \(1, 1\)"),
    (lambda r: r.reassign([5.0], ONE), "must be a list of integers, got .* type float64"),
    (lambda r: r.states([99]), "frame must be stored, between 3 and 6, got 99"),
    (lambda r: r.frames([99]), "frame must be stored, between 3 and 6, got 99"),
    (lambda r: r.poses([99]), "frame must be stored, between 3 and 6, got 99"),
    (lambda r: r.histories([0]), "frame must be stored, between 3 and 6, got 0"),
    (lambda r: r.histories([3]), "frame must be 4 or more, got 3: .* history of 1 were evicted"),
    (lambda r: r.sample_segments(rng, 4, 0), "length must be 1 or more, got 0"),
    (lambda r: r.next_frames(-1), "count must be 0 or more, got -1"),
    (lambda r: r.waiting(-1), "limit must be 0 or more, got -1"),
    (lambda r: r.sample(rng, -1), "size must be 0 or more, got -1"),
    (lambda r: r.sample_segments(rng, -1), "count must be 0 or more, got -1"),
    (lambda r: r.frames_since(8), "frame must be between 0 and 7, got 8"),
    (lambda r: r.frames_since(0, -1), "limit must be 0 or more, got -1"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_a_mistake_is_named_in_one_line(mistake: Callable[[Replay], Any], message: str) -> None:
    replay = make(4, history=1)
    replay.begin(picture(0))
    for number in range(1, 7):
        replay.append(0, 0.0, picture(number), (number, 0.0, np.nan))
    replay.assign([4], ONE)
    before = snapshot(replay)
    with pytest.raises(ValueError, match=message) as error:
        mistake(replay)
    assert "\n" not in str(error.value)
    assert snapshot(replay) == before


def test_only_begin_can_follow_an_end() -> None:
    replay = make()
    actions: list[Callable[[], Any]] = [
        lambda: replay.append(0, 0.0, picture(0)),
        lambda: replay.end_terminal(0, 0.0),
        replay.end_truncated,
    ]
    for end in (None, lambda: replay.end_terminal(0, 0.0), replay.end_truncated):
        if end is not None:
            replay.begin(picture(0))
            end()
        for action in actions:
            with pytest.raises(ValueError, match="no episode is in progress: call begin"):
                action()


def test_an_empty_replay_has_nothing_to_sample() -> None:
    for sample in (make().sample, make().sample_segments):
        with pytest.raises(ValueError, match="the replay is empty"):
            sample(rng, 4)
    assert len(make().waiting()) == len(make().next_frames(5)) == 0
    with pytest.raises(ValueError, match="frame must be stored, got 0: the replay is empty"):
        make().frames([0])


SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"capacity": 4, "history": 3}, "capacity must be 5 or more with a history of 3, got 4"),
    ({"capacity": 1}, "capacity must be 2 or more with a history of 0, got 1"),
    ({"history": -1}, "history must be 0 or more, got -1"),
    ({"n_actions": 0}, "n_actions must be between 1 and 256, got 0"),
    ({"n_actions": 257}, "n_actions must be between 1 and 256, got 257"),
    ({"shape": (3, 0)}, r"shape must have sizes of 1 or more, got \(3, 0\)"),
    ({"dtype": "complex64"}, "dtype must be boolean, integer or float, got complex64"),
]


@pytest.mark.parametrize(("settings", "message"), SETTINGS)
def test_invalid_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {"capacity": 9, "shape": (2,), "n_actions": 2}
    with pytest.raises(ValueError, match=message):
        Replay(**{**usual, **settings})
