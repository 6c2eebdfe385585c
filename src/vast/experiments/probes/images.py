"""Frames inside JSON: PNG files as text."""

from base64 import b64decode, b64encode
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def image_text(frame: NDArray[Any]) -> str:
    """Return an image [rows, columns, 1 or 3], of bytes or of floats in [0, 1], as text."""
    pixels = frame if frame.dtype == np.uint8 else np.rint(255 * np.clip(frame, 0, 1))
    pixels = pixels.astype(np.uint8)
    grey = pixels.shape[2] == 1
    buffer = BytesIO()
    Image.fromarray(pixels[..., 0] if grey else pixels).save(buffer, "PNG", optimize=True)
    return b64encode(buffer.getvalue()).decode("ascii")


def image_from(text: str) -> NDArray[np.uint8]:
    """Return the image [rows, columns, 1 or 3] that a text stands for."""
    with Image.open(BytesIO(b64decode(text))) as image:
        pixels = np.array(image)
    return pixels[..., None] if pixels.ndim == 2 else pixels
