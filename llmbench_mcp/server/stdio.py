"""Serving one client over standard input and output."""

from __future__ import annotations

import logging
import os
import select
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
from mcp.server.stdio import stdio_server

from llmbench_mcp.config import Settings
from llmbench_mcp.credentials.known import known
from llmbench_mcp.credentials.redact import RedactingFormatter
from llmbench_mcp.domain.errors import SetupError
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.server.build import build_server
from llmbench_mcp.server.holder import AppHolder
from llmbench_mcp.server.lines import AnsweringStream


def serve_stdio(settings: Settings) -> None:
    """Serve until standard input ends; standard output carries frames only, logs go to standard error.

    When whoever reads standard output is gone, the process ends with code 0.

    Raises:
        InputError: the ``toolsets`` setting names one that does not exist.
        SetupError: standard input or output is closed or fails.
    """
    if sys.stdin is None or sys.stdout is None:
        raise SetupError("Standard input or output is closed.", "Let an MCP client start this program.")
    _log_to_stderr()
    try:
        anyio.run(_serve, settings)
    except (OSError, ExceptionGroup) as error:
        if not (failure := _stream_failure(error)):
            raise
        if not isinstance(failure, BrokenPipeError | ConnectionResetError):
            raise SetupError(f"Standard input or output failed: {one_line(str(failure))}.") from error


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter(known(), "%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def _stream_failure(error: Exception) -> OSError | None:
    """The transport's own failure: tools' errors become answers and do not come here."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, OSError) else None


async def _serve(settings: Settings) -> None:
    holder = AppHolder(settings)
    server = build_server(holder)
    pipe = _output_pipe()
    try:
        async with (
            stdio_server() as (incoming, outgoing),
            _leaving_with_reader(pipe, holder),
            anyio.create_task_group() as group,
        ):
            group.start_soon(holder.keep_waking)
            await server.run_streams(AnsweringStream(incoming, outgoing), outgoing)
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await holder.aclose()


def _output_pipe() -> int | None:
    """A descriptor of our own for standard output, where it is a pipe and the system tells when its reader goes."""
    with suppress(OSError, ValueError):
        if hasattr(select, "poll") and stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode):
            return os.dup(sys.stdout.fileno())
    return None


@asynccontextmanager
async def _leaving_with_reader(pipe: int | None, holder: AppHolder) -> AsyncIterator[None]:
    """End the process when the reader of ``pipe`` is gone; None watches nothing."""
    if pipe is None:
        yield
        return
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_cancel_without_reader, pipe, group.cancel_scope)
            yield
            group.cancel_scope.cancel()
    finally:
        if _reader_is_gone(pipe):
            with anyio.CancelScope(shield=True):
                await holder.aclose()
            sys.stderr.flush()
            os._exit(0)  # the SDK's thread waits in a read of standard input that nothing can interrupt


async def _cancel_without_reader(pipe: int, scope: anyio.CancelScope) -> None:
    await anyio.wait_readable(pipe)  # a pipe's writing end becomes "readable" when its reader closes
    if _reader_is_gone(pipe):
        scope.cancel()


def _reader_is_gone(pipe: int) -> bool:
    poll = select.poll()
    poll.register(pipe, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
