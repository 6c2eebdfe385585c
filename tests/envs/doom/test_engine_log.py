"""The engine itself reports no errors in the mazes that we write."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.envs.doom.mazes import HMaze, LargeMaze, PlusMaze, TMaze

from vast.envs.doom.world import open_world

ENGINE_LOG = """
import os, sys, tempfile
import vizdoom
from vast.envs.doom.textures import game_folder
game = vizdoom.DoomGame()
game.set_doom_game_path(str(game_folder() / "freedoom2.wad"))
game.set_doom_scenario_path(sys.argv[1])
game.set_window_visible(False)
game.set_sound_enabled(False)
game.set_console_enabled(True)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    game.set_doom_config_path(folder + "/vizdoom.ini")
    for name in sys.argv[2:]:
        game.set_doom_map(name)
        game.init()
        game.close()
"""


def engine_log(wad: Path, *maps: str) -> str:
    """Return the engine's own log of loading these maps."""
    command = [sys.executable, "-c", ENGINE_LOG, str(wad), *maps]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_the_engine_logs_no_complaint_about_our_mazes(tmp_path: Path) -> None:
    wad = tmp_path / "maze.wad"
    complaints = ("unknown", "error", "missing", "not found", "warning", "bad ")
    for task, maps in ((TMaze, 2), (LargeMaze, 1), (HMaze, 2), (PlusMaze, 1)):
        world = open_world(task.keywords["maze"])
        assert isinstance(world.source, bytes)
        wad.write_bytes(world.source)
        log = engine_log(wad, *world.maps)
        assert len(world.maps) == maps
        assert not [line for line in log.lower().splitlines() if any(c in line for c in complaints)]
    # It does complain if there is a reason.
    wad.write_bytes(wad.read_bytes().replace(b'"REDWALL1"', b'"REDWALLX"'))
    assert "REDWALLX" in engine_log(wad, "PLUS")
