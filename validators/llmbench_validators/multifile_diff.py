"""Unified diffs, read as forgivingly as models write them: line numbers may be wrong, context may not.

The format is that of ``diff -u`` (POSIX diff, "Diff -u Output Format"): ``---`` and ``+++`` lines, then hunks that
open with ``@@`` and hold lines marked with a blank, ``-`` or ``+``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_HUNK = re.compile(r"@@+(?:\s+-(\d+)(?:,\d+)?\s+\+\d+(?:,\d+)?)?.*")
_NOWHERE = "/dev/null"
_NO_NEWLINE = "\\"
_MAX_HUNKS = 500


@dataclass(frozen=True, slots=True)
class Hunk:
    """``start`` is the line number in the old file (0: not said); lines are ``(mark, text)``."""

    start: int
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FilePatch:
    """Changes to one file; ``old`` is None for a new file, ``new`` None for a removed one."""

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...]


def looks_like(text: str) -> bool:
    """Whether ``text`` holds a file header of a unified diff."""
    lines = text.split("\n")
    return any(_header(lines, number) for number in range(len(lines) - 1))


def parse(text: str, path: str | None = None) -> list[FilePatch]:
    """The patches in ``text``; hunks before any header belong to ``path``, and are left out when it is None."""
    lines = text.split("\n")
    found: list[FilePatch] = []
    old = new = path
    hunks: list[Hunk] = []
    number = 0
    while number < len(lines):
        if _header(lines, number):
            found += _closed(old, new, hunks)
            old, new, hunks = _path(lines[number][4:]), _path(lines[number + 1][4:]), []
            number += 2
        elif _HUNK.fullmatch(lines[number]):
            hunk, number = _hunk(lines, number)
            hunks.append(hunk)
        else:
            number += 1
    return found + _closed(old, new, hunks)


def _closed(old: str | None, new: str | None, hunks: list[Hunk]) -> list[FilePatch]:
    useful = (old or new) and (hunks or new is None)
    return [FilePatch(old, new, tuple(hunks))] if useful else []


def _header(lines: list[str], number: int) -> bool:
    return lines[number].startswith("--- ") and number + 1 < len(lines) and lines[number + 1].startswith("+++ ")


def _path(text: str) -> str | None:
    name = text.split("\t", maxsplit=1)[0].strip().strip('"')
    if name == _NOWHERE:
        return None
    return name[2:] if name[:2] in {"a/", "b/"} else name


def _hunk(lines: list[str], number: int) -> tuple[Hunk, int]:
    opening = _HUNK.fullmatch(lines[number])
    start = int(opening[1][:9]) if opening and opening[1] else 0
    found: list[tuple[str, str]] = []
    number += 1
    while number < len(lines) and not _ends(lines, number):
        line = lines[number]
        if not line.startswith(_NO_NEWLINE):
            found.append((line[:1] or " ", line[1:]))
        number += 1
    while found and found[-1] == (" ", ""):  # blank lines behind a hunk are the answer's, not the file's
        found.pop()
    return Hunk(start, tuple(found)), number


def _ends(lines: list[str], number: int) -> bool:
    line = lines[number]
    return _header(lines, number) or bool(_HUNK.fullmatch(line)) or line[:1] not in {"", " ", "+", "-", _NO_NEWLINE}


def apply(text: str, hunks: tuple[Hunk, ...]) -> str | None:
    """``text`` with the hunks applied in order, None when the lines one of them needs are not there."""
    if len(hunks) > _MAX_HUNKS:
        return None
    lines = text.split("\n")
    done = 0
    shift = 0
    for hunk in hunks:
        before = [line for mark, line in hunk.lines if mark != "+"]
        at = _place(lines, before, max(done, hunk.start - 1 + shift), done)
        if at is None:
            return None
        after = _after(hunk, lines[at : at + len(before)])
        lines[at : at + len(before)] = after
        shift += len(after) - len(before)
        done = at + len(after)
    return "\n".join(lines)


def _after(hunk: Hunk, present: list[str]) -> list[str]:
    """The new lines of a hunk; context stays as the file has it."""
    made: list[str] = []
    position = 0
    for mark, line in hunk.lines:
        if mark == "+":
            made.append(line)
            continue
        if mark == " ":
            made.append(present[position])
        position += 1
    return made


def _place(lines: list[str], before: list[str], expected: int, least: int) -> int | None:
    """The place nearest to the expected one where the lines are, with or without blanks at their ends."""
    if not before:
        return min(expected, len(lines))
    if lines[expected : expected + len(before)] == before:
        return expected
    for strip in (str, str.rstrip):
        wanted = [strip(line) for line in before]
        have = [strip(line) for line in lines]
        starts = [at for at in range(least, len(have) - len(wanted) + 1) if have[at] == wanted[0]]
        fitting = [at for at in starts if have[at : at + len(wanted)] == wanted]
        if fitting:
            return min(fitting, key=lambda at: abs(at - expected))
    return None
