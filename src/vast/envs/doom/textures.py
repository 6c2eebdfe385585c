"""The textures of the game data: which names exist, are animated or see-through, and their colours.

The engine silently shows a checkerboard for an unknown texture, an animated texture makes images
depend on the time, and a see-through one shows the void behind it. All of this can be read from
the game data that comes with ViZDoom, without starting the engine.
"""

import functools
import struct
import zipfile
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vast.envs.doom.wad import Wad
from vast.extras import missing

DISTINCT_WALLS = tuple(
    (files("vast.envs.doom") / "distinct_walls.txt").read_text(encoding="ascii").split()
)
"""opaque, not animated and 128 units high; ordered so that each is as different as possible from
those before it, when blurred as in an observation"""

SKY = "F_SKY1"
"""a flat that shows the sky; not for mazes"""
FLAT_SIZE = 64
"""a flat is 64 x 64 pixels"""
Image = NDArray[np.int16]
"""palette indices, -1 where transparent"""


def game_folder() -> Path:
    """Return the folder of the installed vizdoom package without importing it."""
    spec = find_spec("vizdoom")
    if spec is None or not spec.submodule_search_locations:
        raise missing("doom", "a Doom maze")
    return Path(next(iter(spec.submodule_search_locations)))


@dataclass(frozen=True)
class WallTexture:
    """A wall texture: a canvas and the patches painted on it, each (x, y, patch name)."""

    width: int
    height: int
    patches: tuple[tuple[int, int, str], ...]


class TextureSet:
    """The wall textures and flats of a game file."""

    def __init__(self, game: Wad, animations: bytes) -> None:
        self._game = game
        self.walls = _wall_textures(game)
        flats = game.between("F_START", "F_END")
        self.flats = {lump.name: lump for lump in flats if lump.size and lump.name != SKY}
        self.animated = frozenset(_animated(animations, list(self.walls), list(self.flats)))
        self.lump_names = frozenset(lump.name for lump in game.lumps)
        palette = np.frombuffer(game.bytes_of("PLAYPAL")[:768], np.uint8)
        self._palette = palette.reshape(256, 3).astype(np.float64)
        self._images: dict[str, Image] = {}

    def image(self, name: str) -> Image:
        """Return a texture or flat as palette indices."""
        if name not in self._images:
            self._images[name] = self._load(name)
        return self._images[name]

    def _load(self, name: str) -> Image:
        if name in self.walls:
            return _paint(self._game, self.walls[name])
        pixels = np.frombuffer(self._game.bytes_of(self.flats[name]), np.uint8)
        return pixels[: FLAT_SIZE**2].reshape(FLAT_SIZE, FLAT_SIZE).astype(np.int16)

    def is_opaque(self, name: str) -> bool:
        """Tell whether no pixel of the texture is transparent."""
        return bool((self.image(name) >= 0).all())

    def colour(self, name: str) -> tuple[float, float, float]:
        """Return the mean colour of a texture or flat as RGB in [0, 1]."""
        image = self.image(name)
        red, green, blue = self._palette[image[image >= 0]].mean(axis=0) / 255
        return float(red), float(green), float(blue)


@functools.cache
def textures() -> TextureSet:
    """Return the textures of the game data that comes with ViZDoom."""
    folder = game_folder()
    with zipfile.ZipFile(folder / "vizdoom.pk3") as engine_data:
        animations = engine_data.read("animated.lmp")
    return TextureSet(Wad.open(folder / "freedoom2.wad"), animations)


def _wall_textures(game: Wad) -> dict[str, WallTexture]:
    """Read PNAMES and TEXTURE1, in order: animations are ranges of textures."""
    names = game.bytes_of("PNAMES")
    patches = [_name(names, 4 + 8 * i) for i in range(struct.unpack_from("<i", names)[0])]
    data = game.bytes_of("TEXTURE1")
    found = {}
    for start in struct.unpack_from(f"<{struct.unpack_from('<i', data)[0]}i", data, 4):
        width, height, count = struct.unpack_from("<hh4xh", data, start + 12)
        placed = []
        for i in range(count):
            x, y, patch = struct.unpack_from("<hhh", data, start + 22 + 10 * i)
            placed.append((x, y, patches[patch]))
        found[_name(data, start)] = WallTexture(width, height, tuple(placed))
    return found


def _animated(data: bytes, walls: list[str], flats: list[str]) -> set[str]:
    """Return the names in Boom's ANIMATED table: records (kind, last, first, speed), then 255."""
    moving: set[str] = set()
    for start in range(0, len(data) - 22, 23):
        if data[start] == 255:
            break
        names = walls if data[start] & 1 else flats
        last, first = _name(data, start + 1), _name(data, start + 10)
        if first in names and last in names:
            moving.update(names[names.index(first) : names.index(last) + 1])
    return moving


def _paint(game: Wad, texture: WallTexture) -> Image:
    canvas = np.full((texture.height, texture.width), -1, np.int16)
    for left, top, patch in texture.patches:
        picture = _picture(game, patch)
        x0, y0 = max(left, 0), max(top, 0)
        x1 = min(left + picture.shape[1], texture.width)
        y1 = min(top + picture.shape[0], texture.height)
        if x0 < x1 and y0 < y1:
            part = picture[y0 - top : y1 - top, x0 - left : x1 - left]
            np.copyto(canvas[y0:y1, x0:x1], part, where=part >= 0)
    return canvas


def _picture(game: Wad, name: str) -> Image:
    """Decode a Doom picture: per column a list of posts (top, length, pixels), ended by 255."""
    if name not in game:
        return np.full((1, 1), -1, np.int16)
    data = game.bytes_of(name)
    width, height = struct.unpack_from("<hh", data)
    image = np.full((height, width), -1, np.int16)
    for x, start in enumerate(struct.unpack_from(f"<{width}i", data, 8)):
        at = start
        while data[at] != 255:
            top, length = data[at], data[at + 1]
            image[top : top + length, x] = np.frombuffer(data, np.uint8, length, at + 3)
            at += length + 4
    return image


def _name(data: bytes, at: int) -> str:
    return data[at : at + 8].split(b"\0")[0].decode("latin-1").upper()
