"""How failures are told: one line and the next step, never a traceback."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.cli.invocation import Invocation
from llmbench_mcp.domain.errors import BenchError, InputError
from llmbench_mcp.domain.text import one_line, visible

# No id of a run looks so: it is longer.
_TOOL = re.compile(
    r"\b([Cc]all )?(?:credential|endpoint|gpu|leaderboard|models?|results|run|suite)_[a-z]{3,9} \(([a-z][^()]*)\)"
)
"""How messages name a tool of agents and, in brackets, the command that does the same."""


def tell(kind: str, what: str, next_step: str, as_json: bool) -> None:
    """Write one failure: a JSON object on stdout, or a line on stderr and the next step below it."""
    next_step = _for_people(next_step)
    if as_json:
        document = {"error": {"kind": kind, "what": what, "next": next_step}}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return
    sys.stderr.write(lines("error", what, next_step))


def lines(kind: str, what: str, next_step: str) -> str:
    """What is told on stderr: a line, and the next step indented below it."""
    return "\n  ".join((f"{kind}: {visible(what)}", *visible(next_step).splitlines())) + "\n"


def _for_people(text: str) -> str:
    """Of each tool and its command the command alone."""
    verbs = {"Call ": "Run ", "call ": "run "}
    return _TOOL.sub(lambda match: f"{verbs.get(match[1], '')}llmbench-mcp {match[2]}", text)


def report(error: BaseException, call: Invocation) -> int:
    """Tell of what ended a command and return its exit code."""
    error = cause_of(error)
    if isinstance(error, KeyboardInterrupt):
        return exit_codes.INTERRUPTED
    if isinstance(error, BenchError):
        tell(error.word, error.what, error.next_step, call.as_json)
        return exit_codes.FAILED
    _tell_internal(error, call)
    return exit_codes.INTERNAL


def cause_of(error: BaseException) -> BaseException:
    """The first failure inside a task group's bundle."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _tell_internal(error: BaseException, call: Invocation) -> None:
    details = visible(_redacted("".join(traceback.format_exception(error))))
    if os.environ.get("LLMBENCH_DEBUG") == "1":
        sys.stderr.write(details)
    log = _write_log(details, call)
    where = f"details in {log}" if log else "set LLMBENCH_DEBUG=1 to see the details"
    what = f"internal error: {type(error).__name__}: {one_line(_redacted(str(error)))} ({where})"
    if call.as_json:
        tell("internal", what, "Please report this.", True)
    else:
        sys.stderr.write(visible(what) + "\n")


def _redacted(text: str) -> str:
    from llmbench_mcp.credentials.known import known

    return known().redact(text)


def _write_log(details: str, call: Invocation) -> Path | None:
    try:
        log = call.settings().make_log_dir() / "cli.log"
        with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
            # Only the command's name: arguments may hold what must not be kept, such as a password in a URL.
            file.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {' '.join(call.argv[:1])}\n{details}\n")
    except (OSError, InputError):
        return None
    return log
