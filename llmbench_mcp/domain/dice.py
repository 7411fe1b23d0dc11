"""Chance that is the same everywhere: draws made from a key by SHAKE-256, never by Python's own generator.

What ``random`` draws from a seed may change between Python versions; a suite drawn with a seed may not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")
_PORTION = 4096
_BYTES = 6
_SPAN = 256**_BYTES


class Dice:
    """A stream of uniform draws; equal keys give equal streams on every machine and version."""

    def __init__(self, *key: str | int) -> None:
        self._key = "\x1f".join(map(str, key)).encode("utf-8", "surrogatepass")
        self._block = b""
        self._at = 0
        self._blocks = 0

    def below(self, count: int) -> int:
        """A whole number from 0 to ``count - 1``, each as likely; ``count`` from 1 to 2**40."""
        limit = _SPAN - _SPAN % count
        while (number := self._next()) >= limit:
            pass
        return number % count

    def pick(self, items: Sequence[_T]) -> _T:
        """One of at least one item."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[_T]) -> list[_T]:
        """All items in a random order (Fisher and Yates)."""
        found = list(items)
        for last in range(len(found) - 1, 0, -1):
            other = self.below(last + 1)
            found[last], found[other] = found[other], found[last]
        return found

    def sample(self, items: Sequence[_T], count: int) -> list[_T]:
        """``count`` different places of the list, in a random order."""
        return self.shuffled(items)[:count]

    def _next(self) -> int:
        if self._at + _BYTES > len(self._block):
            head = self._key + b"\x1e" + str(self._blocks).encode()
            self._block, self._at = hashlib.shake_256(head).digest(_PORTION), 0
            self._blocks += 1
        self._at += _BYTES
        return int.from_bytes(self._block[self._at - _BYTES : self._at], "big")
