"""A task file cut into its front matter and its sections, by line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from llmbench_mcp.catalog.source import Source, listed, quoted

NAMES = ("VARIABLES", "SYSTEM", "PROMPT", "EXPECTED", "SCORING", "VALIDATION")

_HEADING = re.compile(r"([A-Z][A-Z0-9_]*):[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")
_ESCAPE = "Indent the line or put it in a fence if it is part of the text."


@dataclass(frozen=True, slots=True)
class Section:
    """A section's lines without the heading. ``line`` is the heading's own line in the file."""

    name: str
    line: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The section's text without blank lines around it."""
        return "\n".join(self.lines).strip("\n").rstrip()


@dataclass(frozen=True, slots=True)
class Layout:
    """What a task file consists of. ``front`` is YAML text that begins after line 1."""

    front: str | None
    sections: Mapping[str, Section]


class _Fence:
    """Follows code fences from line to line, as CommonMark defines them."""

    def __init__(self) -> None:
        self.opened_at: int | None = None
        self._mark = ""

    def takes(self, line: str, number: int) -> bool:
        """Whether the line belongs to a fence, its opening and closing lines included."""
        match = _FENCE.fullmatch(line)
        if self.opened_at is None:
            if match:
                self.opened_at, self._mark = number, match[1]
            return match is not None
        if match and self._closes(match[1], match[2]):
            self.opened_at = None
        return True

    def _closes(self, mark: str, info: str) -> bool:
        return mark[0] == self._mark[0] and len(mark) >= len(self._mark) and not info.strip()


def split(source: Source) -> Layout:
    """Cut the file; raises TaskFormatError for text before a heading and unknown, repeated or open parts."""
    lines = source.text.split("\n")
    front, start = _front_matter(source, lines)
    sections: dict[str, Section] = {}
    for section in _sections(source, lines, start):
        if section.name in sections:
            first = sections[section.name].line
            raise source.error(section.line, f"section {section.name} is there already, from line {first}.", _ESCAPE)
        sections[section.name] = section
    return Layout(front, sections)


def _front_matter(source: Source, lines: list[str]) -> tuple[str | None, int]:
    if lines[0].rstrip() != "---":
        return None, 0
    for index in range(1, len(lines)):
        if lines[index].rstrip() == "---":
            return "\n".join(lines[1:index]), index + 1
    raise source.error(1, "the front matter is never closed.", "End it with a line of three hyphens.")


def _sections(source: Source, lines: list[str], start: int) -> Iterator[Section]:
    fence = _Fence()
    name, heading_line, body = "", 0, list[str]()
    for number, line in enumerate(lines[start:], start + 1):
        heading = None if fence.takes(line, number) else _HEADING.fullmatch(line)
        if heading:
            if name:
                yield Section(name, heading_line, tuple(body))
            name, heading_line, body = _known(source, number, heading[1]), number, []
        elif name:
            body.append(line)
        elif line.strip():
            raise source.error(number, f"text before the first section: {quoted(line)}.", _OPENERS)
    if fence.opened_at is not None:
        raise source.error(fence.opened_at, "the fence opened here is never closed.")
    if name:
        yield Section(name, heading_line, tuple(body))


_OPENERS = f"A section begins with its word and a colon alone on a line: {listed(NAMES)}."


def _known(source: Source, number: int, name: str) -> str:
    if name not in NAMES:
        raise source.error(number, f"unknown section {quoted(name)}.", f"Allowed: {listed(NAMES)}. {_ESCAPE}")
    return name


def fenced(source: Source, section: Section) -> tuple[str, int]:
    """The text of the one fenced block a section consists of, and the line its fence opens on."""
    fence, inside, opened = _Fence(), list[str](), 0
    for number, line in enumerate(section.lines, section.line + 1):
        was_open = fence.opened_at is not None
        if not fence.takes(line, number):
            _refuse_text(source, section, number, line)
        elif was_open and fence.opened_at is not None:
            inside.append(line)
        elif not was_open and opened:
            raise source.error(number, f"{section.name} has a second block.", "Join the two.")
        elif not was_open:
            opened = number
    if not opened:
        raise source.error(section.line, f"{section.name} has no fenced YAML block.", _BLOCK)
    return "\n".join(inside), opened


_BLOCK = "Open one with ```yaml and close it with ```."


def _refuse_text(source: Source, section: Section, number: int, line: str) -> None:
    if line.strip():
        raise source.error(number, f"{section.name} must be one fenced YAML block and no more.", _BLOCK)
