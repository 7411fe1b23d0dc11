"""Story 1 over MCP: the whole job on a real model, through real processes, with the client killed on the way."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from mcp import StdioServerParameters
from mcp.client import Client

from tests.support.embedded import real_model_server
from tests.support.waiting import until

pytestmark = [pytest.mark.live, pytest.mark.timeout(170)]

SUITE = "smoke"


def stdio(data_dir: Path, marker: str) -> StdioServerParameters:
    env = {**os.environ, "LLMBENCH_DATA_DIR": str(data_dir), "LLMBENCH_IDLE_EXIT_S": "2", "LLMBENCH_LEASE_S": "3"}
    return StdioServerParameters(command=sys.executable, args=["-m", "llmbench_mcp", "--toolsets", marker], env=env)


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return dict(result.structured_content)


def processes_of(data_dir: Path, words: str) -> list[psutil.Process]:
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
async def executor_ended(data_dir: Path) -> AsyncIterator[None]:
    """Whatever happens, no executor of this test survives it."""
    try:
        yield
    finally:
        for process in processes_of(data_dir, "executor run"):
            process.kill()


async def test_the_job_is_done_over_mcp_and_survives_its_client(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with real_model_server(tmp_path) as url, executor_ended(data_dir):
        async with Client(stdio(data_dir, "manage,core")) as client:
            added = await call(client, "endpoint_add", url=url, name="box")
            assert added["backend"] == "llamacpp"
            (found,) = (await call(client, "models_discover"))["reports"]
            (name,) = found["changes"]["added"]["names"]
            await call(client, "model_assign", model=name, endpoint="box")
            started = await call(client, "run_start", models=[name], suites=[SUITE], idempotency_key="once")
            run_id = started["run_id"]
            await call(client, "run_status", run_id=run_id, wait_s=1)
            (server,) = processes_of(data_dir, "llmbench_mcp --toolsets")
            server.send_signal(signal.SIGKILL)
        async with Client(stdio(data_dir, "core,manage")) as client:
            again = await call(client, "run_start", models=[name], suites=[SUITE], idempotency_key="once")
            assert (again["run_id"], again["created"]) == (run_id, False)
            status = await call(client, "run_status", run_id=run_id)
            with anyio.fail_after(160):
                while status["state"] in ("queued", "running"):
                    status = await call(client, "run_status", run_id=run_id, wait_s=10)
            assert status["state"] == "completed"
            assert status["done"] == status["planned"]
            results = await call(client, "run_results", run_id=run_id, limit=50)
            outcomes = {row["task"]: row["passed"] for row in results["attempts"]}
            assert len(outcomes) == results["total"] == status["planned"]
            assert {True, False} == set(outcomes.values())
            board = await call(client, "leaderboard_query", suite=SUITE)
            (row,) = board["entries"]
            assert row["decode_tps"] > 1
            assert row["interval_low"] < row["pass_rate"] < row["interval_high"]
    await until(lambda: _gone(data_dir), 20)


async def _gone(data_dir: Path) -> bool:
    return not processes_of(data_dir, "llmbench_mcp")
