"""The tasks: one record each, from which registration, presets, runs and figures derive."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium

from vast.env_ids import Env, made
from vast.errors import UserError, unknown
from vast.extras import require

MAZE_FILE = ".maze"
"""what the name of a text maze ends with, which is a task as well"""
OWN_MAZE = "vast/Maze-v0"
"""the environment of such a task; its `wad` is the file"""
GYM = "gym:"
"""before the id of any other registered environment, as a task"""


class Scale(NamedTuple):
    """How long a run is, and when it is tested; in environment steps."""

    steps: int
    eval_every: int = 25_000
    eval_steps: int = 1000
    log_every: int = 1000


def _are_counts(values: Any) -> bool:
    """Tell whether these are whole numbers of 1 or more."""
    return isinstance(values, tuple) and all(type(value) is int and value >= 1 for value in values)


SECONDS = Scale(400, eval_every=200, eval_steps=50, log_every=50)


def minutes(steps: int) -> Scale:
    """Return the scale of the preset `cpu`: short runs are tested more often."""
    if steps < 100_000:
        return Scale(steps, eval_every=2500, log_every=500)
    return Scale(steps, eval_every=10_000)


ANYWHERE = {"paper": Scale(1_000_000), "cpu": minutes(30_000), "debug": SECONDS}
"""the scales of environments that are no tasks of this package"""


@dataclass(frozen=True)
class Task:
    """An environment, what there is to do in it, and for how long."""

    name: str
    """by which the command knows it"""
    env: str
    """its Gymnasium id"""
    entry_point: str
    """where the environment's class is; imported when it is made"""
    about: str
    shape: tuple[int, ...]
    """of an observation"""
    paper: Scale
    """as published"""
    cpu: Scale
    """minutes on two cores, as a rule"""
    debug: Scale = SECONDS
    options: Mapping[str, Any] = field(default_factory=dict)
    """what the class is made with; a Doom maze: which maze, and the rules of the task"""
    best_return: float | None = None
    """of the shortest path, where every episode starts at the same place"""
    extra: str | None = None
    """what it requires beyond a plain installation: the name of an extra of the package"""

    def __post_init__(self) -> None:
        words = ("name", "env", "entry_point", "about")
        lacking = [word for word in words if not getattr(self, word)]
        lacking += [] if _are_counts(self.shape) and len(self.shape) in (1, 3) else ["shape"]
        lacking += [
            preset for preset in ("paper", "cpu", "debug") if not _are_counts(getattr(self, preset))
        ]
        if lacking:
            raise UserError(f"task {self.name!r} must declare {', '.join(lacking)}")

    def scale(self, preset: str) -> Scale:
        """Return the scale of a preset."""
        scales: dict[str, Scale] = {"paper": self.paper, "cpu": self.cpu, "debug": self.debug}
        if preset not in scales:
            raise unknown("preset", preset, scales)
        return scales[preset]

    def require_parts(self) -> None:
        """Raise UserError if it requires an extra that is not installed."""
        require(self.extra, f"the task {self.name}")

    @property
    def is_doom(self) -> bool:
        """Whether it can be played in a map of the user's own."""
        return "maze" in self.options

    @property
    def is_own_maze(self) -> bool:
        """Whether it is made on the fly for a .maze file of the user's own."""
        return self.env == OWN_MAZE

    @property
    def is_filmed(self) -> bool:
        """Whether an episode can be filmed: images can, vectors cannot."""
        return len(self.shape) == 3 or self.name.startswith(GYM)


DOOM = "vast.envs.doom.environment:DoomMaze"
STEP_PENALTY = {"living_reward": -0.01}


def maze_task(
    name: str,
    env: str,
    about: str,
    maze: str,
    rules: Mapping[str, Any],
    *,
    paper: Scale,
    cpu: Scale,
    best_return: float | None = None,
) -> Task:
    """Return a task in one of the package's Doom mazes."""
    options = {"task_name": name, "maze": maze, "rules": dict(rules)}
    return Task(
        name,
        env,
        DOOM,
        about,
        (60, 80, 3),
        paper,
        cpu,
        options=options,
        best_return=best_return,
        extra="doom",
    )


def by_name(tasks: Iterable[Task]) -> dict[str, Task]:
    """Return tasks by name; UserError if two have the same."""
    found: dict[str, Task] = {}
    for task in tasks:
        if task.name in found:
            raise UserError(f"the name of a task must be its own, got {task.name!r} twice")
        found[task.name] = task
    return found


TASKS = by_name(
    (
        maze_task(
            "t-maze",
            "vast/TMaze-v0",
            "from the left arm to the bottom of the stem (Fig. 1C)",
            "t-maze",
            # Episodes start exactly at the start: nothing is random in this task.
            {**STEP_PENALTY, "turn_steps": 0, "random_steps": 0},
            paper=Scale(50_000),  # until the forced run
            cpu=minutes(10_000),
            best_return=0.80,  # 6 steps forward, 4 to the right and 11 forward
        ),
        Task(
            "t-maze-2d",
            "vast/TMaze2D-v0",
            "vast.envs.tmaze2d:TMaze2D",
            "the same from (x, y), continuous (Fig. 1A, B)",
            shape=(2,),
            paper=Scale(300_000),
            cpu=minutes(10_000),
        ),
        maze_task(
            "large-maze",
            "vast/LargeMaze-v0",
            "from anywhere in the outer rim to the centre (Fig. 3B)",
            "large-maze",
            STEP_PENALTY,
            paper=Scale(2_000_000),
            cpu=minutes(600_000),
        ),
        maze_task(
            "large-maze-hazards",
            "vast/LargeMazeHazards-v0",
            "the same with six hazards, which penalise some of the steps in them (Fig. 3C)",
            "large-maze",
            {**STEP_PENALTY, "hazards": True},
            paper=Scale(2_000_000),
            cpu=minutes(600_000),
        ),
        maze_task(
            "h-maze",
            "vast/HMaze-v0",
            "through the H to its far top; map HON has a teleporter (Fig. 5)",
            "h-maze",
            {**STEP_PENALTY, "teleporter": True},
            paper=Scale(1_000_000),
            cpu=minutes(150_000),
        ),
        maze_task(
            "plus-maze",
            "vast/PlusMaze-v0",
            "to the end of any arm: horizontal ones reward, vertical ones punish (Fig. 6)",
            "plus-maze",
            {"living_reward": 0.0},
            paper=Scale(500_000),
            cpu=minutes(30_000),
        ),
        Task(
            "pong",
            "vast/Pong-v0",
            "vast.envs.pong:Pong",
            "Pong, from grey frames (Fig. 7)",
            shape=(84, 84, 1),
            paper=Scale(5_000_000, eval_every=50_000, eval_steps=10_000),
            # A game takes some 1000 to 4000 steps, and a test epoch several games.
            cpu=Scale(2_000_000, eval_every=100_000, eval_steps=10_000),
            extra="atari",
        ),
    )
)


OWN_MAZE_OPTIONS = {"maze": None, "rules": {**STEP_PENALTY, "hazards": True}}
"""the rules of the paper's mazes; hazards where the file has them"""


def register_all() -> None:
    """Make every environment known to `gymnasium.make`; importing `vast` does this."""
    for task in TASKS.values():
        gymnasium.register(id=task.env, entry_point=task.entry_point, kwargs=dict(task.options))
    gymnasium.register(id=OWN_MAZE, entry_point=DOOM, kwargs=dict(OWN_MAZE_OPTIONS))
    gymnasium.register(id="vast/Atari-v0", entry_point="vast.envs.atari:Atari")
    gymnasium.register(id="vast/PongRAM-v0", entry_point="vast.envs.pong:PongRAM")


def task_named(name: str) -> Task:
    """Return a task, or the one that `gym:ENV_ID` or the path of a .maze file stands for.

    UserError if there is none.
    """
    if name.startswith(GYM):
        return _gym_task(name)
    if name.endswith(MAZE_FILE):
        return _maze_file_task(Path(name).name)
    if name not in TASKS:
        raise unknown("task", name, [*TASKS, f"FILE{MAZE_FILE}", f"{GYM}ENV_ID"])
    return TASKS[name]


def _maze_file_task(name: str) -> Task:
    """Return a task for a text maze, named after the file; it is as long as the H-maze's."""
    return Task(
        name,
        OWN_MAZE,
        DOOM,
        about="a maze of the user's own",
        shape=(60, 80, 3),
        paper=Scale(1_000_000),
        cpu=minutes(150_000),
        options=OWN_MAZE_OPTIONS,
        extra="doom",
    )


@lru_cache
def _gym_task(name: str) -> Task:
    """Return a task for any registered environment; its shape is read off the environment."""
    env_id = name.removeprefix(GYM)
    own = [task.name for task in TASKS.values() if task.env == env_id]
    if own:
        raise UserError(f"task must be {own[0]!r}, which has its own presets, got {name!r}")
    env = made(env_id)
    seen = env.observation_space
    env.close()
    if len(seen.shape or ()) not in (1, 3):
        raise UserError(f"observations of {env_id} must be images or vectors, got {seen}")
    return Task(
        name,
        env_id,
        entry_point="registered",
        about="any registered Gymnasium environment",
        shape=tuple(seen.shape or ()),
        paper=ANYWHERE["paper"],
        cpu=ANYWHERE["cpu"],
    )


def make_env(
    name: str, wad: str | None = None, map_name: str | None = None, *, film: bool = False
) -> Env:
    """Return a task's environment, on the user's own map file if one is given."""
    task = task_named(name)
    task.require_parts()
    options: dict[str, Any] = {}
    if film:
        if not task.is_filmed:
            filmed = ", ".join(other.name for other in TASKS.values() if other.is_filmed)
            raise UserError(f"a task to film must be one of {filmed}, got {name!r}")
        options["render_mode"] = "rgb_array"
    if task.is_own_maze:
        wad = wad or name
    if wad is not None or map_name is not None:
        if not task.is_doom:
            doom = ", ".join(other.name for other in TASKS.values() if other.is_doom)
            raise UserError(f"a task with --wad or --map must be one of {doom}, got {name!r}")
        options |= {"wad": wad, "map_name": map_name}
    return made(task.env, **options)
