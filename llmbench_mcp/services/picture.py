"""A small generated PNG of one colour, for asking models whether they see.

Format: PNG, W3C Recommendation: signature, IHDR (8-bit RGB), one zlib-compressed IDAT, IEND, each with its CRC-32.
"""

from __future__ import annotations

import struct
import zlib

COLOURS = {"red": (220, 20, 20), "blue": (20, 40, 220), "green": (20, 160, 40), "yellow": (250, 220, 20)}
"""Colours that nobody confuses, as 8-bit RGB."""

SIDE = 64
"""Pixels; smaller pictures are refused by some vision encoders."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGB_8_BIT = bytes((8, 2, 0, 0, 0))


def solid_png(colour: tuple[int, int, int], side: int = SIDE) -> bytes:
    """A PNG file, ``side`` pixels wide and high, all of one colour."""
    row = b"\x00" + bytes(colour) * side
    header = struct.pack(">II", side, side) + _RGB_8_BIT
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(row * side)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
