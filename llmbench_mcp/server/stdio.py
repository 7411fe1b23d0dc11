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
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        anyio.run(_serve, settings)
    except* OSError as group:
        raise SetupError(f"Standard input or output failed: {_reason(group)}.") from group


def _reason(group: BaseExceptionGroup[OSError]) -> str:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return one_line(str(error))


async def _serve(settings: Settings) -> None:
    holder = AppHolder(settings)
    server = build_server(holder)
    try:
        async with stdio_server() as (incoming, outgoing), _ended_with_reader(holder):
            await server.run_streams(AnsweringStream(incoming, outgoing), outgoing)
    finally:
        with anyio.CancelScope(shield=True):
            await holder.aclose()
