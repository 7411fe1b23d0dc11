"""Noticing that a completion repeats itself without end, while it streams."""

from __future__ import annotations

CHARS_PER_TOKEN = 4
"""A rough figure on the safe side: scripts with shorter tokens are cut later, never earlier."""

SHORT_BLOCK_TOKENS = 50
SHORT_BLOCK_FACTOR = 5
"""Rows of zeros, padding and repeated lines of code are short blocks: they must go on this much longer."""

_NEEDLE = 64
_CHECK_EVERY = 64


class LoopWatch:
    """Fed every piece of text; answers ``loop`` once the end of all text so far is one block over and over.

    Args:
        tokens: how long the repetition must be, in tokens of four characters; short blocks five times as long.
        repeats: how often the block must occur in it.
    """

    def __init__(self, tokens: int = 200, repeats: int = 4) -> None:
        self._least = tokens * CHARS_PER_TOKEN
        self._repeats = repeats
        self._keep = max(self._least * SHORT_BLOCK_FACTOR, 16_384)
        self._tail = ""
        self._unchecked = 0

    def __call__(self, piece: str) -> str | None:
        """The failure word that ends the stream, or None."""
        self._tail += piece
        self._unchecked += len(piece)
        if self._unchecked < _CHECK_EVERY:
            return None
        self._unchecked = 0
        if len(self._tail) > 2 * self._keep:
            self._tail = self._tail[-self._keep :]
        return "loop" if self._repeats_itself() else None

    def _repeats_itself(self) -> bool:
        tail = self._tail
        if len(tail) < self._least:
            return False
        found = tail.rfind(tail[-_NEEDLE:], 0, len(tail) - 1)
        if found < 0:
            return False
        period = len(tail) - _NEEDLE - found
        needed = max(self._least, self._repeats * period)
        if period < SHORT_BLOCK_TOKENS * CHARS_PER_TOKEN:
            needed = max(needed, self._least * SHORT_BLOCK_FACTOR)
        return needed <= len(tail) and tail[-needed:-period] == tail[-needed + period :]
