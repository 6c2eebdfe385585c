"""The Doom engine, a separate process: started, controlled, and always cleaned up."""

import contextlib
import os
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.envs.doom.guard import Pulse, new_folder, note_instance, remove_folder
from vast.envs.doom.pose import pose_commands, pose_wad
from vast.envs.doom.textures import game_folder
from vast.extras import importing

with importing("doom", "a Doom environment"):
    import vizdoom as vzd

ACTION_REPEAT = 4
"""tics per action"""
SPAWN_FREEZE = 7
"""tics after a spawn during which the engine ignores all input"""
BUTTONS = (vzd.Button.MOVE_FORWARD, vzd.Button.TURN_LEFT, vzd.Button.TURN_RIGHT)
"""action -> key"""
PRESSED = [[float(i == action) for i in range(len(BUTTONS))] for action in range(len(BUTTONS))]
IDLE = [0.0] * len(BUTTONS)
VARIABLES = (
    vzd.GameVariable.POSITION_X,
    vzd.GameVariable.POSITION_Y,
    vzd.GameVariable.ANGLE,
    vzd.GameVariable.VELOCITY_X,
    vzd.GameVariable.VELOCITY_Y,
)
OBSERVING = vzd.ScreenResolution.RES_160X120
"""the smallest screen of the engine; observations have half its size in each direction"""
FILMING = vzd.ScreenResolution.RES_640X480
"""for images and videos"""
HIDDEN = (
    "hud",
    "minimal_hud",
    "weapon",
    "crosshair",
    "decals",
    "particles",
    "effects_sprites",
    "messages",
    "corpses",
    "screen_flashes",
)
"""parts of the game's display that are not drawn"""
START_LIMIT = 120.0
"""seconds that an engine may take to start, usually half of one; see `Watched.look`"""
ANSWER_LIMIT = 20.0
"""seconds after which an engine that does not answer is killed"""
CLOSE_LIMIT = 5.0
"""the same for an engine that is being closed, which has nothing to lose"""
ENGINE_ERRORS = (
    vzd.ViZDoomErrorException,
    vzd.ViZDoomUnexpectedExitException,
    vzd.ViZDoomIsNotRunningException,
    vzd.MessageQueueException,
    vzd.SharedMemoryException,
)

Pose = tuple[float, float, float]
"""x, y, and the heading in degrees"""

_starting = threading.Lock()


class EngineDied(RuntimeError):
    """The engine's process ended without being closed."""


class EngineHung(EngineDied):
    """The engine did not answer in time, and was killed."""


@dataclass
class Episode:
    """Everything needed to replay an episode: the engine is deterministic."""

    map_name: str
    seed: int
    pose: Pose | None = None
    """where it begins, if not at one of the map's starts"""
    settled: bool = False
    """whether the first action waits until the freeze after a spawn is over"""
    actions: bytearray = field(default_factory=bytearray)
    """the actions so far"""


@dataclass(frozen=True)
class EngineConfig:
    """The options with which an engine is started."""

    wad: bytes | str
    """a WAD, or the path of one"""
    map_name: str
    deathmatch: bool
    resolution: vzd.ScreenResolution


class Engine:
    """One running engine. All of its methods may raise `EngineDied`."""

    def __init__(self, config: EngineConfig) -> None:
        self._folder = new_folder()
        self._game = vzd.DoomGame()
        self._pulse = Pulse(self._folder, START_LIMIT)
        self.close = weakref.finalize(
            self, _close, self._game, self._folder, self._pulse, os.getpid()
        )
        try:
            self._start(config)
        except BaseException:
            self.close()
            raise
        self._map_name = config.map_name

    def _start(self, config: EngineConfig) -> None:
        folder = Path(self._folder)
        (folder / "pose.wad").write_bytes(pose_wad())
        wad = config.wad
        if isinstance(wad, bytes):
            (folder / "maze.wad").write_bytes(wad)
            wad = str(folder / "maze.wad")
        game = self._game
        game.set_doom_game_path(str(game_folder() / "freedoom2.wad"))
        game.set_doom_scenario_path(wad)
        game.set_doom_map(config.map_name)
        game.set_doom_config_path(str(folder / "vizdoom.ini"))
        game.set_screen_resolution(config.resolution)
        game.set_screen_format(vzd.ScreenFormat.RGB24)
        for decoration in HIDDEN:
            getattr(game, f"set_render_{decoration}")(False)
        game.set_available_buttons(list(BUTTONS))
        game.set_available_game_variables(list(VARIABLES))
        # Running gives the paper's momentum: without cl_run, thrust and turning are halved.
        game.add_game_args("+cl_run 1 +movebob 0.25 -file pose.wad")
        if config.deathmatch:
            game.add_game_args("-deathmatch")
        game.set_window_visible(False)
        game.set_sound_enabled(False)
        game.set_mode(vzd.Mode.PLAYER)
        game.set_episode_timeout(0)
        with _starting, _inherited(folder):
            self._call(game.init)
        self.process_id = note_instance(self._folder)
        self._pulse.hurry(ANSWER_LIMIT)

    def begin(self, episode: Episode) -> None:
        """Start an episode and replay the actions that it already has."""
        game = self._game
        for command in pose_commands(episode.pose):
            self._call(game.send_game_command, command)
        if episode.map_name != self._map_name:
            self._call(game.set_doom_map, episode.map_name)
            self._map_name = episode.map_name
        # After the map, which starts an episode of its own and would use up the seed.
        self._call(game.set_seed, episode.seed)
        self._call(game.new_episode)
        if episode.settled:
            self._call(game.make_action, IDLE, SPAWN_FREEZE)
        for action in episode.actions:
            self.act(action)

    def act(self, action: int) -> None:
        """Hold a key for one step."""
        self._call(self._game.make_action, PRESSED[action], ACTION_REPEAT)

    def look(self) -> tuple[NDArray[np.uint8], NDArray[np.float64]] | None:
        """Return the screen and (x, y, angle, vx, vy), None if the player died."""
        state = self._call(self._game.get_state)
        if state is None:
            return None
        return state.screen_buffer, state.game_variables

    @property
    def tic(self) -> int:
        """Tics since the map of the episode was loaded."""
        return int(self._game.get_episode_time())

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call ViZDoom; the watchdog kills the engine if that takes too long, which ends the call.

        Python can do nothing meanwhile: its signal handlers wait for the call, and in a change of
        the map its other threads do as well.
        """
        pulse = self._pulse
        try:
            pulse.begin()
            return function(*arguments)
        except ENGINE_ERRORS as error:
            if pulse.waited:
                raise EngineHung(f"it did not answer for {pulse.waited:g} s") from error
            raise EngineDied(str(error)) from error
        finally:
            pulse.end()


@contextlib.contextmanager
def _inherited(folder: Path) -> Iterator[None]:
    """Start a process in this folder, because the engine creates files in its working directory.

    The process also inherits that interrupts are blocked: an interrupt from the keyboard goes to
    the whole process group, but Python must decide when the engine ends.
    """
    here = os.open(".", os.O_RDONLY)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.chdir(folder)
    try:
        yield
    finally:
        os.fchdir(here)
        os.close(here)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _close(game: vzd.DoomGame, folder: str, pulse: Pulse, owner: int) -> None:
    """Close an engine; a forked child must not close its parent's."""
    if os.getpid() == owner:
        try:
            pulse.hurry(CLOSE_LIMIT)
            pulse.begin()
            game.close()
        finally:
            pulse.end()
            remove_folder(folder)
