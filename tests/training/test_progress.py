"""Progress is told seldom, in the same words in a terminal and elsewhere."""

import io
import re

import pytest
from rich.console import Console

from tests.agents.worlds import Grid
from vast import LSH
from vast.training.progress import Progress


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def run(console: Console, steps: range, total: int, per_step: float) -> int:
    """Take steps of so many seconds; return how often the facts were asked for."""
    clock, asked = Clock(), 0

    def facts() -> dict[str, float | str]:
        nonlocal asked
        asked += 1
        return {"epsilon": 0.125, "states": 12345, "last evaluation": float("nan"), "map": "[a]"}

    with Progress(console, clock) as progress:
        for step in steps:
            progress.update(step, total, facts)
            if step % 1000 == 0:
                progress.say(f"[b]{step}[/b]")
            clock.now += per_step
    return asked


def test_a_resumed_run_tells_its_own_speed_every_ten_seconds_and_at_the_end() -> None:
    out = io.StringIO()
    asked = run(Console(file=out), range(5001, 6002), 10_000, 0.025)
    facts = "epsilon 0.125 | states 12,345 | last evaluation - | map [a]"
    assert out.getvalue().splitlines() == [
        f"5,401 of 10,000 steps | 40 steps/s | 1:55 left | {facts}",
        f"5,801 of 10,000 steps | 40 steps/s | 1:45 left | {facts}",
        "[b]6000[/b]",
        f"6,001 of 10,000 steps | 40 steps/s | 1:40 left | {facts}",
    ]
    assert asked == 3


def test_speed_is_that_of_recent_steps() -> None:
    out, clock = io.StringIO(), Clock()
    with Progress(Console(file=out), clock) as progress:
        for step in range(1000):
            clock.now += 0.1 if step < 500 else 1.0
            progress.update(step, 7_201_000)
    assert "| 10 steps/s |" in out.getvalue()
    assert out.getvalue().splitlines()[-1] == "999 of 7,201,000 steps | 1 steps/s | 2000:00:01 left"


def test_a_burst_of_training_does_not_count_as_slow_steps() -> None:
    out, clock = io.StringIO(), Clock()
    with Progress(Console(file=out), clock) as progress:
        for step in [*range(300), *[300] * 1000, *range(301, 601)]:
            clock.now += 0.1
            progress.update(step, 1000)
    lines = out.getvalue().splitlines()
    assert len(lines) > 10
    assert all("| 10 steps/s |" in line for line in lines)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_terminal_shows_the_same_at_most_five_times_a_second(width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, color_system=None)
    asked = run(console, range(0, 10_001), 10_000, 0.001)
    assert 45 <= asked <= 52
    text = out.getvalue()
    for words in ("[b]5000[/b]", "epsilon 0.125", "states 12,345", "map [a]"):
        assert words in text
    if width >= 80:
        assert "10,000 of 10,000 steps | 1,000 steps/s" in text
        assert "0:05 left" in text


def test_a_run_goes_on_when_nobody_reads() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    assert run(Console(file=Gone()), range(2000), 3000, 0.1) > 10


def test_a_burst_is_named_and_the_time_left_counts_it() -> None:
    """100 steps, a burst of 200 training steps, then 100 steps more, each of 0.2 s."""
    out, clock = io.StringIO(), Clock()
    with Progress(Console(file=out), clock) as progress:
        for step in range(100):
            clock.now += 0.2
            progress.update(step, 200, burst_left=200)
        for left in reversed(range(200)):
            clock.now += 0.2
            progress.update(100, 200, burst_left=left)
        for step in range(101, 201):
            clock.now += 0.2
            progress.update(step, 200)
    lines = out.getvalue().splitlines()
    assert "then a burst of 200 training steps" in lines[0]
    within = [line for line in lines if "in a burst of training" in line]
    assert len(within) >= 3
    for line in within:
        found = re.search(r"(\d+):(\d+) left .* training, (\d+) steps left of it", line)
        assert found is not None
        minutes, seconds, left = map(int, found.groups())
        # 100 environment steps are still to come.
        assert 60 * minutes + seconds == pytest.approx(0.2 * (100 + left), abs=1.5)
    assert "burst" not in lines[-1]


def test_learn_shows_progress_to_a_person_and_nothing_to_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    LSH(Grid(), preset="debug").learn(30)
    assert capsys.readouterr().out == ""
    monkeypatch.setattr("vast.agents.base.is_watched", lambda: True)
    LSH(Grid(), preset="debug").learn(30)
    assert "30 of 30 steps" in capsys.readouterr().out
    LSH(Grid(), preset="debug").learn(30, progress=False)
    assert capsys.readouterr().out == ""
