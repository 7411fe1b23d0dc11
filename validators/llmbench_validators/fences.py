"""Fenced code blocks of Markdown, read by CommonMark's rules and a little more forgiving about indentation.

CommonMark 0.31, section 4.5: a fence is three or more backticks or tildes; the closing one is of the same kind,
at least as long, without an info string and indented by at most three spaces more than its block. Unlike there,
an opening fence may stand at any indentation, because answers put blocks into lists of every depth.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_OPENING = re.compile(r"(?P<indent>[ \t]*)(?:[>*+-][ \t]+|\d+[.)][ \t]+)?(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_MAX_EXTRA_INDENT = 3


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: first word of the info string in lower case, and its lines without the fence's indent.

    ``ends`` are the line numbers (within ``lines``) at which a closing fence could stand, first one first;
    ``lines`` goes on behind it, so that a fence inside a string need not end the block.
    """

    language: str
    lines: tuple[str, ...]
    ends: tuple[int, ...]

    @property
    def text(self) -> str:
        """The content up to the first closing fence, or to the end of the text when there is none."""
        return self.until(self.ends[0] if self.ends else len(self.lines))

    def until(self, end: int) -> str:
        """The content up to line ``end``."""
        return "\n".join(self.lines[:end]) + "\n"


def blocks(text: str) -> list[Block]:
    """Every fenced block of ``text`` (LF line ends) in order, the unclosed last one too."""
    lines = text.split("\n")
    found = []
    position = 0
    while position < len(lines):
        opening = _opening(lines[position])
        if opening is None:
            position += 1
            continue
        block = _block(opening, lines[position + 1 :])
        found.append(block)
        position += 2 + (block.ends[0] if block.ends else len(block.lines))
    return found


def outside(text: str) -> str:
    """``text`` without its fence lines: what remains when the fences make no sense."""
    return "\n".join(line for line in text.split("\n") if _opening(line) is None)


def _opening(line: str) -> re.Match[str] | None:
    match = _OPENING.fullmatch(line.rstrip())
    if match is None or (match["fence"][0] == "`" and "`" in match["info"]):
        return None
    return match


def _block(opening: re.Match[str], rest: list[str]) -> Block:
    indent = len(opening["indent"].expandtabs(4))
    width = opening.start("fence")
    closing = re.compile(rf"[ \t]*{re.escape(opening['fence'][0])}{{{len(opening['fence'])},}}[ \t]*")
    ends = [
        number
        for number, line in enumerate(rest)
        if closing.fullmatch(line) and _indent(line) <= max(indent, width) + _MAX_EXTRA_INDENT
    ]
    return Block(_language(opening["info"]), tuple(_without(line, width) for line in rest), tuple(ends))


def _indent(line: str) -> int:
    line = line.expandtabs(4)
    return len(line) - len(line.lstrip())


def _without(line: str, width: int) -> str:
    """``line`` less at most ``width`` leading blanks."""
    return line[min(width, len(line) - len(line.lstrip(" \t"))) :]


def _language(info: str) -> str:
    word = re.match(r"[\s{.]*([\w+#-]*)", info)
    return word[1].lower() if word else ""
