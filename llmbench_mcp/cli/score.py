"""``score``: completions in, verdicts out, as JSON lines."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TextIO

import typer

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.cli.session import session
from llmbench_mcp.cli.usage import UsageError
from llmbench_mcp.domain.errors import InputError

_MAX_JOBS = 256
_SHOWN_EVERY_S = 0.2


def score(
    context: typer.Context,
    input: Annotated[str, typer.Argument(help="A file of JSON lines; - for standard input.", metavar="IN.jsonl")],  # noqa: A002 - the argument's name in messages
    output: Annotated[str | None, typer.Option(help="Write here instead of standard output.", metavar="PATH")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, max=_MAX_JOBS, help="Answers graded at a time.")] = None,
) -> int:
    """Grade completions: JSON lines in, a verdict a line out, in order.

    In: {"id", "validation": {…} or "task": "coding/x", "completion": "…", "tool_calls"?, "finish_reason"?, "prompt"?}.
    A line that cannot be graded gives {"id", "error": "line 12: …"}; the exit code is then 1.
    With --json the output is the same: JSON lines, one for each answer.
    """
    from llmbench_mcp.services.scoring import Scoring

    scoring = Scoring(session(context).settings())
    source = _source(input, context)
    try:
        sink = nullcontext(sys.stdout) if output is None else _target(output, input, context)
    except UsageError:
        source.close()
        raise
    # Closed also when Ctrl-C comes between two results: then the grading of the next ones is ended.
    lines = _lines_of(source, input)
    try:
        with sink as target, closing(scoring.score(lines, jobs or os.cpu_count() or 1)) as results:
            clean = _write(_counted(results), target)
    except InputError:
        source.close()
        raise
    source.close()  # only now: closing waits for a read under way, which must not hold up Ctrl-C
    return exit_codes.OK if clean else exit_codes.FAILED


def _source(name: str, context: typer.Context) -> BinaryIO:
    try:
        # Standard input gets a reader of its own: the interpreter's must not be in use when it ends.
        return open(sys.stdin.fileno() if name == "-" else name, "rb", closefd=name != "-")
    except (OSError, ValueError) as error:
        raise UsageError(f"{name} cannot be read: {_reason(error)}.", context) from error


def _lines_of(source: BinaryIO, name: str) -> Callable[[int], bytes]:
    """Its ``readline``. Raises InputError for a file that opens and then cannot be read."""

    def readline(limit: int) -> bytes:
        try:
            return source.readline(limit)
        except OSError as error:
            told = "Answers before that place are graded; copy the file elsewhere, or give it by standard input."
            raise InputError(f"{name} cannot be read on: {_reason(error)}.", told) from error

    return readline


def _target(name: str, source: str, context: typer.Context) -> TextIO:
    if source != "-" and os.path.exists(name) and os.path.samefile(name, source):
        raise UsageError("--output is the input file itself.", context)
    try:
        return Path(name).open("w", encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"{name} cannot be written: {_reason(error)}.", context) from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _write(results: Iterable[Mapping[str, Any]], target: TextIO) -> bool:
    """Whether every line was graded."""
    clean = True
    for result in results:
        clean = clean and "error" not in result
        target.write(json.dumps(result) + "\n")
        target.flush()
    return clean


def _counted(results: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The results, with a count on stderr while they pass, where that is a terminal."""
    if not sys.stderr.isatty():
        yield from results
        return
    done = passed = errors = 0
    shown = float("-inf")
    for result in results:
        yield result
        done, passed, errors = done + 1, passed + (result.get("passed") is True), errors + ("error" in result)
        if time.monotonic() - shown >= _SHOWN_EVERY_S:
            shown = time.monotonic()
            _show(done, passed, errors)
    _show(done, passed, errors)
    sys.stderr.write("\n")


def _show(done: int, passed: int, errors: int) -> None:
    sys.stderr.write(f"\r\x1b[K{done} graded: {passed} passed, {done - passed - errors} failed, {errors} errors")
    sys.stderr.flush()
