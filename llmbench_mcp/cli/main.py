"""The program's entrance: serve MCP when called bare, else run a command; the one broad handler."""

from __future__ import annotations

import sys
from contextlib import suppress

from llmbench_mcp.cli import exit_codes, failures, streams
from llmbench_mcp.cli.invocation import Invocation, parse_invocation


def run(argv: list[str]) -> int:
    """Do what the arguments say and return the exit code; see ``exit_codes``."""
    streams.replace_missing_stderr()
    try:
        code = _attempt(parse_invocation(argv))
        if sys.stdout is not None:
            sys.stdout.flush()
    except (BrokenPipeError, streams.ReaderLeft):
        streams.forget_unwritten()
        return exit_codes.OK
    except (OSError, streams.OutputFailed) as error:
        return _output_failed(error)
    return code


def _attempt(call: Invocation) -> int:
    try:
        return _dispatch(call)
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED
    except (BrokenPipeError, streams.OutputFailed):
        raise
    except Exception as error:  # noqa: BLE001 - the top-level handler: every failure becomes a line and a code
        return failures.report(error, call)
    except BaseExceptionGroup as group:
        if isinstance(cause := failures.cause_of(group), streams.OutputFailed):
            raise cause from None
        return failures.report(group, call)


def _dispatch(call: Invocation) -> int:
    from llmbench_mcp.cli.serving import serve, serving_options

    options = serving_options(call)
    if options is not None:
        return serve(call, options)
    with streams.guarded():
        from llmbench_mcp.cli.commands import execute

        return execute(call)


def _output_failed(error: Exception) -> int:
    why = error.strerror if isinstance(error, OSError) else str(error)
    streams.forget_unwritten()
    with suppress(OSError):
        sys.stderr.write(f"error: the output cannot be written: {why}\n")
    streams.forget_unwritten()
    return exit_codes.FAILED
