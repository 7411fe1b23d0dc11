"""The program's entrance: serve MCP when called bare, else run a command; the one broad handler."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from llmbench_mcp.cli import exit_codes, failures
from llmbench_mcp.cli.invocation import Invocation, parse_invocation


def run(argv: list[str]) -> int:
    """Do what the arguments say and return the exit code; see ``exit_codes``."""
    call = parse_invocation(argv)
    try:
        code = _dispatch(call)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except Exception as error:  # noqa: BLE001 - the top-level handler: every failure becomes a line and a code
        return failures.report(error, call)
    except BaseExceptionGroup as group:
        return failures.report(group, call)
    return code


def _dispatch(call: Invocation) -> int:
    from llmbench_mcp.cli.serving import serve, serving_options

    options = serving_options(call)
    if options is not None:
        return serve(call, options)
    from llmbench_mcp.cli.commands import execute

    return execute(call)


def _reader_left() -> int:
    """Whoever read our output closed it: end quietly, also when the interpreter flushes at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return exit_codes.OK
