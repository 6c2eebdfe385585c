"""A Doom maze as a Gymnasium environment: pixels, three actions, rewards by position."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from math import dist, hypot, isfinite, nan
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vast.envs.doom.camera import Camera
from vast.envs.doom.engine import (
    FILMING,
    OBSERVING,
    Engine,
    EngineConfig,
    EngineDied,
    EngineHung,
    Episode,
    Pose,
)
from vast.envs.doom.frames import HEIGHT, WIDTH, shrink
from vast.envs.doom.maze import TERMINAL_KINDS
from vast.envs.doom.maze_words import MAX_COORDINATE
from vast.envs.doom.rules import Outcome, Rules, kind_at
from vast.envs.doom.world import FloorPlan, open_world
from vast.errors import UserError, unknown

log = logging.getLogger(__name__)

Observation = NDArray[np.uint8]
Info = dict[str, Any]

FORWARD, LEFT, RIGHT = ACTIONS = range(3)
"""the actions"""
TRIES = 1000
"""how often an episode that starts in a terminal zone is started again"""
LOST, DEATH = "engine lost", "death"
"""the events of the step in which the engine or (in a user's map) the player died"""
TELEPORTED = "teleporter"
"""the event of a step through a teleporter"""
JUMP = 100.0
"""map units; nobody walks as far in one step"""


class DoomMaze(gymnasium.Env[Observation, np.int64]):
    """A task in a Doom maze. The engine starts at the first reset.

    Args:
        maze: the maze of this package in which it takes place; None: that of `wad`.
        rules: the fields of `Rules`: what the task rewards, and how its episodes begin.
        task_name: by which presets know the task, if it is one of this package's.
        wad: a WAD or .maze file of the user's own instead of the maze.
        map_name: the map in it; the first by default.
        render_mode: None or "rgb_array".
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (declared so by gymnasium)
        "render_modes": ["rgb_array"],
        "render_fps": 35 / 4,
    }
    action_names: ClassVar[tuple[str, ...]] = ("forward", "left", "right")
    mutable_settings: ClassVar[tuple[str, ...]] = ("map_name", "reversed")
    """attributes that an experiment may set between episodes, and that a run saves"""

    def __init__(
        self,
        maze: str | None,
        rules: Mapping[str, Any],
        task_name: str | None = None,
        wad: str | Path | None = None,
        map_name: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise unknown("render mode", render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self.observation_space = spaces.Box(0, 255, (HEIGHT, WIDTH, 3), np.uint8)
        self.action_space = spaces.Discrete(3)
        self.rules = Rules(**rules)
        self.task_name = task_name
        self._world = open_world(maze, wad)
        self._map = self._world.facts(map_name)
        self.reversed = False
        """whether the rewards of goals and penalties are swapped; may be changed at any time"""
        self.engine_restarts = 0
        """how many engines died and were replaced"""
        self._engine: Engine | None = None
        self._camera: Camera | None = None
        self._episode: Episode | None = None
        self._observation = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        self._info: Info = {}

    @property
    def counted_events(self) -> tuple[str, ...]:
        """The events of which metrics say in how many episodes they happened."""
        return (TELEPORTED,) if self.rules.teleporter else ()

    @property
    def map_name(self) -> str:
        """The map of the next episode; set it to another map of the same WAD."""
        return self._map.name

    @map_name.setter
    def map_name(self, map_name: str) -> None:
        facts = self._world.facts(map_name)
        if facts.deathmatch != self._map.deathmatch:
            self._close_engine()
        self._map = facts

    def set_map(self, map_name: str) -> None:
        """Set `map_name`, the map of the next episode."""
        self.map_name = map_name

    def floor_plan(self) -> FloorPlan:
        """Return the walls of the next episode's map and its active zones, for drawing."""
        plan = self._world.floor_plan(self.map_name)
        areas = [area for area in plan.areas if self.rules.hazards or area.kind != "hazard"]
        return replace(plan, areas=areas)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Start an episode.

        `options={"start": (x, y, angle)}` starts it at this pose, at rest; with `"frozen": True`
        the player has just spawned there, and the first seven tics of input are lost.
        """
        super().reset(seed=seed)
        pose, settled = self._read_options(options or {})
        chance = self.np_random.bit_generator.state
        try:
            return self._begin(pose, settled)
        except EngineDied as error:
            self._lose_engine(error, "at the start of an episode")
            self.np_random.bit_generator.state = chance
        try:
            return self._begin(pose, settled)
        except EngineDied as error:
            self._lose_engine(error, "at the start of an episode")
            raise UserError(f"two Doom engines in a row could not begin: {error}") from error

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, Info]:
        """Hold a key for four tics: 0 forward, 1 turn left, 2 turn right."""
        if action not in ACTIONS:
            raise UserError(f"action must be 0 forward, 1 left or 2 right, got {action!r}")
        if self._engine is None or self._episode is None:
            raise UserError("no episode is in progress: call reset before step")
        before = self._info["x"], self._info["y"]
        try:
            self._act(int(action))
            alive = self._see()
        except EngineDied as error:
            self._lose_engine(error, f"in step {len(self._episode.actions)} of an episode")
            self._episode = None
            self._info = {**self._info, "event": LOST, "lost_step": True}
            return self._observation.copy(), 0.0, False, True, self._info
        if alive:
            outcome = self.rules.outcome(self._zone(), self.reversed, self.np_random)
        else:
            outcome = Outcome(self.rules.living_reward, True, DEATH)
        self._info["event"] = outcome.event
        place = self._info["x"], self._info["y"]
        if self.rules.teleporter and outcome.event is None and dist(before, place) > JUMP:
            self._info["event"] = TELEPORTED
        return self._observation, outcome.reward, outcome.terminated, False, self._info

    def render(self) -> NDArray[np.uint8] | None:
        """Return an image of 480 x 640 pixels for videos; observations are not affected."""
        if self.render_mode is None or self._episode is None:
            return None
        try:
            return self._running_camera().picture(self._episode)
        except EngineDied:
            self._camera = None
            return self._running_camera().picture(self._episode)

    def close(self) -> None:
        """Close the engine; another reset starts a new one."""
        self._close_engine()
        self._episode = None

    def state_dict(self) -> dict[str, Any]:
        """Return the complete state; the engine's part is the history of the episode."""
        episode = self._episode
        return {
            "map": self.map_name,
            "reversed": self.reversed,
            "np_random": self.np_random.bit_generator.state,
            "episode": None
            if episode is None
            else {
                "map": episode.map_name,
                "seed": episode.seed,
                "pose": episode.pose,
                "settled": episode.settled,
                "actions": bytes(episode.actions),
            },
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state, by replaying the actions of its episode."""
        self.map_name = state["map"]
        self.reversed = bool(state["reversed"])
        self.np_random.bit_generator.state = state["np_random"]
        self._episode = None
        saved = state["episode"]
        if saved is not None:
            pose = None if saved["pose"] is None else tuple(saved["pose"])
            self._episode = Episode(
                saved["map"], saved["seed"], pose, saved["settled"], bytearray(saved["actions"])
            )
            self._running_engine().begin(self._episode)
            self._see()

    def _begin(self, pose: Pose | None, settled: bool) -> tuple[Observation, Info]:
        engine = self._running_engine()
        for _ in range(TRIES):
            seed = int(self.np_random.integers(2**32, dtype=np.uint32))
            self._episode = Episode(self.map_name, seed, pose, settled)
            engine.begin(self._episode)
            if pose is None:
                self._act_randomly()
            if self._see() and self._zone() not in TERMINAL_KINDS:
                self._check_pose(pose)
                return self._observation, self._info
            if pose is not None:
                break
        self._episode = None
        outside = "outside of zones that end the episode"
        if pose is not None:
            raise UserError(f"start must be {outside}, got {pose}")
        raise UserError(f"map {self.map_name} must have a start {outside}")

    def _check_pose(self, pose: Pose | None) -> None:
        """Refuse a pose inside a wall, where the engine does not put the player."""
        if pose and hypot(self._info["x"] - pose[0], self._info["y"] - pose[1]) > 0.01:
            self._episode = None
            raise UserError(f"start must have room for the player, got {pose}: it is in a wall")

    def _act_randomly(self) -> None:
        """Turn and move randomly before the first step, as in the paper's tasks."""
        rules = self.rules
        turns = int(self.np_random.integers(rules.turn_steps)) if rules.turn_steps else 0
        walk = self.np_random.integers(3, size=rules.random_steps)
        for action in [LEFT] * turns + walk.tolist():
            self._act(action)

    def _act(self, action: int) -> None:
        assert self._engine is not None
        assert self._episode is not None
        self._engine.act(action)
        self._episode.actions.append(action)

    def _see(self) -> bool:
        """Update the observation and info from the engine; return False if the player died."""
        assert self._engine is not None
        assert self._episode is not None
        seen = self._engine.look()
        if seen is None:
            return False
        screen, (x, y, angle, vx, vy) = seen[0], seen[1].tolist()
        self._observation = shrink(screen)
        self._info = {
            "x": x,
            "y": y,
            "angle": angle,
            "vx": vx,
            "vy": vy,
            "tic": self._engine.tic,
            "map": self._episode.map_name,
            "event": None,
        }
        return True

    def _zone(self) -> str | None:
        assert self._episode is not None
        areas = self._world.areas(self._episode.map_name)
        return kind_at(areas, self._info["x"], self._info["y"])

    def _read_options(self, options: Mapping[str, Any]) -> tuple[Pose | None, bool]:
        for name in options:
            if name not in ("start", "frozen"):
                raise unknown("reset option", name, ("start", "frozen"))
        start = options.get("start")
        if start is None:
            return None, False
        try:
            x, y, angle = (float(number) for number in start)
        except (TypeError, ValueError):
            x = y = angle = nan
        if not (isfinite(x + y + angle) and max(abs(x), abs(y)) <= MAX_COORDINATE):
            raise UserError(f"start must be (x, y, angle in degrees), got {start!r}")
        if not self._world.contains(self.map_name, x, y):
            raise UserError(f"start must be inside the map {self.map_name}, got {start!r}")
        return (x, y, angle), not options.get("frozen", False)

    def _running_engine(self) -> Engine:
        if self._engine is None:
            self._engine = Engine(self._engine_config(OBSERVING))
        return self._engine

    def _running_camera(self) -> Camera:
        if self._camera is None:
            self._camera = Camera(self._engine_config(FILMING))
        return self._camera

    def _engine_config(self, resolution: Any) -> EngineConfig:
        return EngineConfig(self._world.source, self.map_name, self._map.deathmatch, resolution)

    def _lose_engine(self, error: EngineDied, when: str) -> None:
        self._close_engine()
        self.engine_restarts += 1
        log.warning(
            "the Doom engine %s %s and is replaced (%d replaced so far in this environment)",
            "did not answer" if isinstance(error, EngineHung) else "died",
            when,
            self.engine_restarts,
        )

    def _close_engine(self) -> None:
        for part in (self._engine, self._camera):
            if part is not None:
                part.close()
        self._engine = self._camera = None
