"""Draw media/icon.png: a speech bubble whose word points to a thing.

python editors/vscode/scripts/icon.py
"""

import struct
import zlib
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SIZE: Final = 256
SMOOTHING: Final = 3
"""Samples a pixel and direction."""

GROUND: Final = (43, 26, 79)
BUBBLE: Final = (240, 235, 255)
POINTER: Final = (146, 84, 222)

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"

_ICON: Final = Path(__file__).resolve().parent.parent / "media" / "icon.png"


def rows() -> bytes:
    """The pixels as a PNG file has them: line by line, each behind the number of its filter."""
    places = (np.arange(SIZE * SMOOTHING) + 0.5) / SMOOTHING / SIZE
    samples = _colours(places[None, :], places[:, None])
    pixels = samples.reshape(SIZE, SMOOTHING, SIZE, SMOOTHING, 3).mean(axis=(1, 3))
    lines = np.rint(pixels).astype(np.uint8)
    return b"".join(b"\0" + line.tobytes() for line in lines)


def png() -> bytes:
    """The icon as a PNG file."""
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows(), 9)), (b"IEND", b""))
    return SIGNATURE + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _colours(x: Floats, y: Floats) -> Floats:
    """The colour of every sample, a line of them for each ``y``."""
    tail = (y >= 0.66) & (y <= 0.84) & (x >= 0.28) & (x <= 0.28 + (0.84 - y))
    bubble = _box(x, y, 0.14, 0.16, 0.86, 0.68, 0.12) | tail
    line = _box(x, y, 0.27, 0.51, 0.6, 0.56, 0.025)
    thing = (x - 0.66) ** 2 + (y - 0.39) ** 2 <= 0.07 * 0.07
    pointer = _box(x, y, 0.27, 0.36, 0.52, 0.42, 0.03) | thing
    kinds = np.select([pointer, bubble & ~line], [2, 1], 0)
    return np.array([GROUND, BUBBLE, POINTER], dtype=float)[kinds]


def _box(
    x: Floats, y: Floats, left: float, top: float, right: float, bottom: float, radius: float
) -> NDArray[np.bool_]:
    dx = np.maximum(0.0, np.maximum(left + radius - x, x - right + radius))
    dy = np.maximum(0.0, np.maximum(top + radius - y, y - bottom + radius))
    found: NDArray[np.bool_] = dx * dx + dy * dy <= radius * radius
    return found


if __name__ == "__main__":
    _ICON.write_bytes(png())
