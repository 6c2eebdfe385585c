"""Mazes that are closed after the test."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from vast.envs.doom.environment import DoomMaze


@pytest.fixture
def world() -> Iterator[Any]:
    """Make environments that are closed after the test."""
    made: list[DoomMaze] = []

    def make(task: Callable[..., DoomMaze], **options: Any) -> DoomMaze:
        made.append(task(**options))
        return made[-1]

    yield make
    for env in made:
        env.close()
