"""A mistake gets one line that names the value and what is allowed, and changes nothing."""

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
    (lambda r: r.begin(picture(0)), "an episode is going on: call end_terminal or end_truncated"),
    (lambda r: r.append(0, 0.0, np.zeros(3, np.uint8)), r"observation of shape \(3,\) and type"),
    (lambda r: r.append(0, 0.0, np.zeros(2)), "type float64: allowed is shape .* and type uint8"),
    (lambda r: r.append(3, 0.0, picture(0)), "action 3: allowed is 0 to 2"),
    (lambda r: r.append(-1, 0.0, picture(0)), "action -1: allowed is 0 to 2"),
    (lambda r: r.append(0.5, 0.0, picture(0)), "action 0.5: allowed are integers"),  # type: ignore[arg-type]
    (lambda r: r.append(0, np.nan, picture(0)), "reward nan: allowed are finite numbers"),
    (lambda r: r.end_terminal(7, 0.0), "action 7: allowed is 0 to 2"),
    (lambda r: r.end_terminal(0, np.inf), "reward inf: allowed are finite numbers"),
    (lambda r: r.assign([2], ONE), "frame 2: stored are 3 to 6"),
    (lambda r: r.assign([7], ONE), "frame 7: stored are 3 to 6"),
    (lambda r: r.assign([4], ONE), "frame 4 is assigned a second time: use reassign"),
    (lambda r: r.assign([6, 6], np.array([1, 1], np.uint64)), "frame 6 is assigned a second time"),
    (lambda r: r.reassign([-1], ONE), "frame -1: stored are 3 to 6"),
    (lambda r: r.reassign([5, 6], ONE), r"states of shape \(1,\) and type uint64: .* 2 frames"),
    (lambda r: r.reassign([5], [1]), "states of .* type int64: allowed is one uint64"),
    (lambda r: r.reassign([[5]], ONE), r"frame numbers of shape \(1, 1\)"),
    (lambda r: r.reassign([5.0], ONE), "type float64: allowed is a list of integers"),
    (lambda r: r.states([99]), "frame 99: stored are 3 to 6"),
    (lambda r: r.frames([99]), "frame 99: stored are 3 to 6"),
    (lambda r: r.histories([0]), "frame 0: stored are 3 to 6"),
    (lambda r: r.histories([3]), "frame 3: frames before it, .* allowed is 4 or more"),
    (lambda r: r.sample_segments(rng, 4, 0), "length 0: allowed is 1 or more"),
    (lambda r: r.next_frames(-1), "count -1: allowed is 0 or more"),
    (lambda r: r.waiting(-1), "limit -1: allowed is 0 or more"),
    (lambda r: r.sample(rng, -1), "size -1: allowed is 0 or more"),
    (lambda r: r.sample_segments(rng, -1), "count -1: allowed is 0 or more"),
    (lambda r: r.frames_since(8), "frame 8: allowed is 0 to 7"),
    (lambda r: r.frames_since(0, -1), "limit -1: allowed is 0 or more"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_a_mistake_is_named_in_one_line(mistake: Callable[[Replay], Any], message: str) -> None:
    replay = make(4, history=1)
    replay.begin(picture(0))
    for number in range(1, 7):
        replay.append(0, 0.0, picture(number))
    replay.assign([4], ONE)
    before = snapshot(replay)
    with pytest.raises(ValueError, match=message) as error:
        mistake(replay)
    assert "\n" not in str(error.value)
    assert snapshot(replay) == before


def test_nothing_but_a_beginning_can_follow_an_end() -> None:
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
            with pytest.raises(ValueError, match="no episode is going on: call begin"):
                action()


def test_an_empty_replay_has_nothing_to_sample() -> None:
    for sample in (make().sample, make().sample_segments):
        with pytest.raises(ValueError, match="the replay is empty"):
            sample(rng, 4)
    assert len(make().waiting()) == len(make().next_frames(5)) == 0
    with pytest.raises(ValueError, match="frame 0: stored are none"):
        make().frames([0])


SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"capacity": 4, "history": 3}, "capacity 4: allowed is 5 or more with a history of 3"),
    ({"capacity": 1}, "capacity 1: allowed is 2 or more"),
    ({"history": -1}, "history -1: allowed is 0 or more"),
    ({"n_actions": 0}, "n_actions 0: allowed is 1 to 256"),
    ({"n_actions": 257}, "n_actions 257: allowed is 1 to 256"),
    ({"shape": (3, 0)}, r"shape \(3, 0\): allowed are sizes of 1 or more"),
    ({"dtype": "complex64"}, "dtype complex64: allowed are truth values, integers and floats"),
]


@pytest.mark.parametrize(("settings", "message"), SETTINGS)
def test_impossible_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {"capacity": 9, "shape": (2,), "n_actions": 2}
    with pytest.raises(ValueError, match=message):
        Replay(**{**usual, **settings})
