"""Story 1 over MCP: the whole job on a real model, through real processes, with the client killed on the way."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import anyio
import pytest
from mcp.client import Client

from tests.support.embedded import real_model_server
from tests.support.processes import call, environment, no_survivors, processes_of, stdio

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]

SUITE = "reasoning_smoke"


async def test_the_job_is_done_over_mcp_and_survives_its_client(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with real_model_server(tmp_path) as url, no_survivors(data_dir):
        async with Client(stdio(data_dir)) as client:
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
        async with Client(stdio(data_dir)) as client:
            again = await call(client, "run_start", models=[name], suites=[SUITE], idempotency_key="once")
            assert (again["run_id"], again["created"]) == (run_id, False)
            status = await call(client, "run_status", run_id=run_id)
            with anyio.fail_after(300):
                while status["state"] in ("queued", "running"):
                    status = await call(client, "run_status", run_id=run_id, wait_s=10)
            assert status["state"] == "completed"
            assert status["done"] == status["planned"]
            results = await call(client, "run_results", run_id=run_id, limit=50)
            outcomes = {row["task"]: row["passed"] for row in results["attempts"]}
            assert len(outcomes) == results["total"] == status["planned"]
            assert {True, False} == set(outcomes.values())
            (row,) = (await call(client, "leaderboard_query", suite=SUITE))["entries"]
            assert row["decode_tps"] > 1
            assert row["interval_low"] < row["pass_rate"] < row["interval_high"]


async def test_a_client_answers_from_what_the_demo_found(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with real_model_server(tmp_path), no_survivors(data_dir):
        pass  # skips where the real model is not installed
    async with no_survivors(data_dir):
        command = [sys.executable, "-m", "llmbench_mcp", "demo", "--suite", "coding_smoke", "--json"]
        done = await anyio.run_process(command, env=environment(data_dir), check=False)
        assert done.returncode == 0, done.stderr.decode()
        found = json.loads(done.stdout)
        assert not processes_of(data_dir, "server_child")
        async with Client(stdio(data_dir)) as client:
            (row,) = (await call(client, "leaderboard_query", suite="coding_smoke"))["entries"]
            results = await call(client, "run_results", run_id=found["run"]["id"], limit=50)
    outcomes = {attempt["task"]: attempt["passed"] for attempt in results["attempts"]}
    assert {True, False} == set(outcomes.values())
    assert row["pass_rate"] == pytest.approx(sum(outcomes.values()) / len(outcomes), rel=1e-3)
