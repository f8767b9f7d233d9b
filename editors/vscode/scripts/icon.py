"""Draw media/icon.png: a speech bubble whose word points to a thing. Standard library only.

python editors/vscode/scripts/icon.py
"""

import struct
import zlib
from pathlib import Path
from typing import Final

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
    lines = (bytes(value for x in range(SIZE) for value in _pixel(x, y)) for y in range(SIZE))
    return b"".join(b"\0" + line for line in lines)


def png() -> bytes:
    """The icon as a PNG file."""
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows(), 9)), (b"IEND", b""))
    return SIGNATURE + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _pixel(x: int, y: int) -> tuple[int, ...]:
    steps = [(index + 0.5) / SMOOTHING for index in range(SMOOTHING)]
    samples = [_colour((x + dx) / SIZE, (y + dy) / SIZE) for dx in steps for dy in steps]
    return tuple(round(sum(values) / len(samples)) for values in zip(*samples, strict=True))


def _colour(x: float, y: float) -> tuple[int, int, int]:
    if _in_box(x, y, 0.27, 0.36, 0.52, 0.42, 0.03) or _in_circle(x, y, 0.66, 0.39, 0.07):
        return POINTER
    tail = 0.66 <= y <= 0.84 and 0.28 <= x <= 0.28 + (0.84 - y)
    if _in_box(x, y, 0.14, 0.16, 0.86, 0.68, 0.12) or tail:
        return GROUND if _in_box(x, y, 0.27, 0.51, 0.6, 0.56, 0.025) else BUBBLE
    return GROUND


def _in_box(
    x: float, y: float, left: float, top: float, right: float, bottom: float, radius: float
) -> bool:
    dx = max(left + radius - x, 0.0, x - right + radius)
    dy = max(top + radius - y, 0.0, y - bottom + radius)
    return dx * dx + dy * dy <= radius * radius


def _in_circle(x: float, y: float, middle: float, centre: float, radius: float) -> bool:
    return (x - middle) ** 2 + (y - centre) ** 2 <= radius * radius


if __name__ == "__main__":
    _ICON.write_bytes(png())
