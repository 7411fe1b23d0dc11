"""Where output goes: one JSON document or tables on stdout, remarks and progress on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TextIO

from llmbench_mcp.cli.shapes import plain
from llmbench_mcp.domain.text import visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_PIPE_WIDTH = 120
_TEXT_LIMIT = 40_000
_WRAPPED = 76
"""Characters in a line of a panel on a terminal of 80 columns."""


def console(stream: TextIO) -> Console:
    """A console that prints what it is given: no markup, no guessing, wide enough when not a terminal."""
    from rich.console import Console

    width = None if stream.isatty() or os.environ.get("COLUMNS", "").isdigit() else _PIPE_WIDTH
    return Console(file=stream, markup=False, highlight=False, emoji=False, width=width)


def show(as_json: bool, document: Any, render: Callable[[], Iterable[RenderableType]]) -> None:
    """Print ``document`` as JSON, or what ``render`` gives for people."""
    if as_json:
        sys.stdout.write(json.dumps(plain(document), indent=2, allow_nan=False) + "\n")
        return
    out = console(sys.stdout)
    for part in render():
        # What is longer than a line is an address or a block to copy: the terminal folds it, nothing is cut.
        out.print(part, crop=False)


def note(text: str) -> None:
    """A remark on stderr, which never mixes with results."""
    sys.stderr.write(visible(text) + "\n")


def long_text(text: str, lines: int | None = None) -> str:
    """Text of a model for showing whole: made harmless, cut at a limit that is said, or after about so many lines."""
    most = _TEXT_LIMIT if lines is None else min(_TEXT_LIMIT, _length_of(text, lines))
    if len(text) <= most:
        return visible(text)
    return visible(text[:most]) + f"\n[cut: {most} of {len(text)} characters shown; --json has all]"


def _length_of(text: str, lines: int) -> int:
    """How many characters stand in the first lines of a terminal, long ones wrapped."""
    length = 0
    for line in text.splitlines(keepends=True):
        rows = max(1, -(-len(line) // _WRAPPED))
        if rows >= lines:
            return length + min(len(line), lines * _WRAPPED)
        lines -= rows
        length += len(line)
    return length
