"""The product as real processes: stdio clients and the executors they leave behind."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
from mcp import StdioServerParameters
from mcp.client import Client

from tests.support.waiting import until


def environment(data_dir: Path, **changes: str) -> dict[str, str]:
    """The variables every process of one test shares: short lease, short idle time."""
    base = {"LLMBENCH_DATA_DIR": str(data_dir), "LLMBENCH_IDLE_EXIT_S": "2", "LLMBENCH_LEASE_S": "3"}
    return {**os.environ, **base, **changes}


def stdio(data_dir: Path, **changes: str) -> StdioServerParameters:
    """The stdio server on that data directory."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "llmbench_mcp", "--toolsets", "core,manage"],
        env=environment(data_dir, **changes),
    )


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured result of a call that must not fail."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return dict(result.structured_content)


def processes_of(data_dir: Path, words: str = "llmbench_mcp") -> list[psutil.Process]:
    """Our processes with ``words`` in their command line that work on that data directory."""
    found = []
    for process in psutil.process_iter():
        try:
            line = " ".join(process.cmdline())
            if words in line and process.environ().get("LLMBENCH_DATA_DIR") == str(data_dir):
                found.append(process)
        except psutil.Error:
            continue
    return found


@asynccontextmanager
async def no_survivors(data_dir: Path) -> AsyncIterator[None]:
    """At the end every process of that data directory leaves by itself; whatever happens, none outlives the test."""

    async def gone() -> bool:
        return not processes_of(data_dir)

    try:
        yield
        await until(gone, 30)
    finally:
        for process in processes_of(data_dir):
            process.kill()
