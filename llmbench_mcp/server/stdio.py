"""Serving one client over standard input and output."""

from __future__ import annotations

import logging
import sys

import anyio

from llmbench_mcp.config import Settings
from llmbench_mcp.server.build import build_server
from llmbench_mcp.server.holder import AppHolder


def serve_stdio(settings: Settings) -> None:
    """Serve until standard input ends; standard output carries frames only, logs go to standard error.

    Raises:
        InputError: the ``toolsets`` setting names one that does not exist.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    anyio.run(_serve, settings)


async def _serve(settings: Settings) -> None:
    holder = AppHolder(settings)
    server = build_server(holder)
    try:
        await server.run_stdio_async()
    finally:
        with anyio.CancelScope(shield=True):
            await holder.aclose()
