"""Fenced code blocks of Markdown, read by CommonMark's rules and a little more forgiving about indentation.

CommonMark 0.31, section 4.5: a fence is three or more backticks or tildes; the closing one is of the same kind,
at least as long, without an info string and indented by at most three spaces more than its block. Unlike there,
an opening fence may stand at any indentation, because answers put blocks into lists of every depth.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_OPENING = re.compile(r"(?P<indent>[ \t]*)(?:[>*+-][ \t]+|\d+[.)][ \t]+)?(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_MAX_EXTRA_INDENT = 3
MAX_BLOCKS = 1_000
"""Later blocks are not read: that many are a model in a loop."""
MAX_ENDS = 60


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: first word of the info string in lower case, and its lines without the fence's indent.

    ``ends`` are the line numbers (within ``lines``) at which a closing fence could stand, first one first;
    ``lines`` goes on behind it, so that a fence inside a string need not end the block.
    """

    language: str
    _text: tuple[str, ...]
    _start: int
    _first_end: int | None
    _fence: _Fence

    @property
    def lines(self) -> tuple[str, ...]:
        """Every line from the opening fence to the end of the text."""
        return tuple(_without(line, self._fence.width) for line in self._text[self._start :])

    @property
    def ends(self) -> tuple[int, ...]:
        """See the class; at most MAX_ENDS of them."""
        if self._first_end is None:
            return ()
        found = self._fence.closings(self._text, self._start)
        return tuple(number - self._start for number in itertools.islice(found, MAX_ENDS))

    @property
    def closed(self) -> bool:
        """Whether there is a closing fence."""
        return self._first_end is not None

    @property
    def text(self) -> str:
        """The content up to the first closing fence, or to the end of the text when there is none."""
        return self.until(len(self._text) - self._start if self._first_end is None else self._first_end)

    def until(self, end: int) -> str:
        """The content up to line ``end``."""
        lines = self._text[self._start : self._start + end]
        return "\n".join([_without(line, self._fence.width) for line in lines]) + "\n"


@dataclass(frozen=True, slots=True)
class _Fence:
    """What the closing fence of a block must look like, and how far the opening one was indented."""

    marks: str
    closing: re.Pattern[str]
    width: int
    most_indent: int

    def closings(self, lines: Sequence[str], start: int) -> Iterator[int]:
        """The numbers of the lines from ``start`` on that can close the block."""
        for number in range(start, len(lines)):
            line = lines[number]
            if self.marks in line and self.closing.fullmatch(line) and _indent(line) <= self.most_indent:
                yield number


def blocks(text: str) -> list[Block]:
    """The fenced blocks of ``text`` (LF line ends) in order, the unclosed last one too; the first MAX_BLOCKS.

    Takes time proportional to the text: every line is looked at once as a possible end, once as a beginning.
    """
    lines = tuple(text.split("\n"))
    found: list[Block] = []
    position = 0
    while position < len(lines) and len(found) < MAX_BLOCKS:
        opening = _opening(lines[position])
        position += 1
        if opening is not None:
            fence = _fence(opening)
            end = next(fence.closings(lines, position), None)
            first = None if end is None else end - position
            found.append(Block(_language(opening["info"]), lines, position, first, fence))
            position = len(lines) if end is None else end + 1
    return found


def outside(text: str) -> str:
    """``text`` without its fence lines: what remains when the fences make no sense."""
    return "\n".join(line for line in text.split("\n") if _opening(line) is None)


def _opening(line: str) -> re.Match[str] | None:
    if "```" not in line and "~~~" not in line:
        return None
    match = _OPENING.fullmatch(line.rstrip())
    if match is None or (match["fence"][0] == "`" and "`" in match["info"]):
        return None
    return match


def _fence(opening: re.Match[str]) -> _Fence:
    indent = len(opening["indent"].expandtabs(4))
    width = opening.start("fence")
    marks = opening["fence"]
    return _Fence(marks, _closing(marks[0], len(marks)), width, max(indent, width) + _MAX_EXTRA_INDENT)


@functools.lru_cache(maxsize=64)
def _closing(character: str, length: int) -> re.Pattern[str]:
    return re.compile(rf"[ \t]*{re.escape(character)}{{{length},}}[ \t]*")


def _indent(line: str) -> int:
    line = line.expandtabs(4)
    return len(line) - len(line.lstrip())


def _without(line: str, width: int) -> str:
    """``line`` less at most ``width`` leading blanks."""
    if not width:
        return line
    return line[min(width, len(line) - len(line.lstrip(" \t"))) :]


def _language(info: str) -> str:
    word = re.match(r"[\s{.]*([\w+#-]*)", info)
    return word[1].lower() if word else ""
