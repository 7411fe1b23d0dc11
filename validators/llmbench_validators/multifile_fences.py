"""Fenced blocks with what says which file they are: the info string and the line before the block."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from llmbench_validators import repair

_OPENING = re.compile(r"(?P<indent>[ \t]*)(?:[*+-][ \t]+|\d+[.)][ \t]+)?(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_PYTHON = frozenset({"python", "py", "python3", "py3"})
_MAX_TRIES = 30
_MAX_HEADING = 500
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}\s.*|\*\*.*\*\*:?|(?:file|path|filename)\s*:.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fence:
    """One block: its info string, the nearest line of text and the nearest heading before it, and its content.

    ``number`` is the line it opens at and ``last`` the line of its closing fence (or the last line).
    """

    info: str
    labels: tuple[str, str]
    text: str
    number: int
    last: int

    @property
    def language(self) -> str:
        """The first word of the info string in lower case."""
        return _language(self.info)


def fences(text: str) -> list[Fence]:
    """Every fenced block of ``text`` (LF line ends) in order; one left open ends with the text."""
    return list(_fences(text.split("\n")))


def _fences(lines: list[str]) -> Iterator[Fence]:
    number, label, heading = 0, "", ""
    while number < len(lines):
        opening = _opening(lines[number])
        if opening is None:
            label = lines[number] if lines[number].strip() else label
            heading = lines[number] if _HEADING.fullmatch(lines[number][:_MAX_HEADING]) else heading
            number += 1
            continue
        last, content = _content(lines, number, opening)
        yield Fence(opening["info"].strip(), (label, heading), content, number, last)
        number, label, heading = last + 1, "", ""


def _language(info: str) -> str:
    word = re.match(r"[\s{.]*([\w+#-]*)", info)
    return word[1].lower() if word else ""


def _opening(line: str) -> re.Match[str] | None:
    match = _OPENING.fullmatch(line.rstrip())
    return None if match is None or (match["fence"][0] == "`" and "`" in match["info"]) else match


def _content(lines: list[str], number: int, opening: re.Match[str]) -> tuple[int, str]:
    """The line that closes the block and its text; Python goes on past a fence inside a string."""
    width = opening.start("fence")
    mark = re.escape(opening["fence"][0])
    closing = re.compile(rf"[ \t]*{mark}{{{len(opening['fence'])},}}[ \t]*")
    ends = list(_closings(lines, number + 1, closing, width + 3))
    if not ends:
        rest = lines[number + 1 :]
        return len(lines) - 1, _text(rest[:-1] if rest and not rest[-1].strip() else rest, width)
    if _language(opening["info"]) in _PYTHON or opening["info"].endswith(".py"):
        for end in ends:
            text = _text(lines[number + 1 : end], width)
            if repair.parsed(text) is not None:
                return end, text
    return ends[0], _text(lines[number + 1 : ends[0]], width)


def _closings(lines: list[str], start: int, closing: re.Pattern[str], indent: int) -> Iterator[int]:
    found = 0
    for number in range(start, len(lines)):
        line = lines[number]
        if closing.fullmatch(line) and len(line) - len(line.lstrip()) <= indent:
            yield number
            found += 1
        elif found and _opening(line):  # the next block: what follows is no longer this one's
            return
        if found >= _MAX_TRIES:
            return


def _text(lines: list[str], width: int) -> str:
    cut = [line[min(width, len(line) - len(line.lstrip(" \t"))) :] for line in lines]
    return "\n".join(cut) + "\n" if cut else ""
