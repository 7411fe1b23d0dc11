"""MCP over HTTP: every tool through both doors in both eras, and what several clients do to each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from llmbench_mcp.server.tools import every_tool
from tests.mcp.bench import Era
from tests.mcp.sites import Door, Site, open_site
from tests.mcp.test_run_tools import Held


@pytest.fixture(params=["http", "sse"])
def door(request: pytest.FixtureRequest) -> Door:
    chosen: Door = request.param
    return chosen


def steps(site: Site, run_id: str = "") -> dict[str, dict[str, Any]]:
    """A walk through the tools; those not named here are called bare."""
    return {
        "endpoint_add": {"url": site.bench.fake.url, "name": "fake"},
        "models_discover": {},
        "endpoint_list": {},
        "model_list": {},
        "model_get": {"model": "alpha"},
        "model_assign": {"model": "alpha"},
        "model_residency": {},
        "suite_list": {},
        "run_start": {"models": ["alpha"], "suites": ["sums"]},
        "run_status": {"run_id": run_id, "wait_s": 20},
        "run_results": {"run_id": run_id},
        "run_retry": {"run_id": run_id, "which": "grading"},
        "run_cancel": {"run_id": run_id},
        "leaderboard_query": {"suite": "sums"},
        "gpu_stats": {},
    }


async def test_every_tool_answers_through_every_door_in_both_eras(tmp_path: Path, door: Door, era: Era) -> None:
    refusing = {"run_retry", "model_compare"}
    async with open_site(tmp_path) as site, site.client(door, era) as client:
        listed = {tool.name for tool in (await client.raw.list_tools()).tools}
        assert listed == {spec.name for spec in every_tool()}
        run_id = ""
        for tool in steps(site):
            if tool in refusing:
                continue
            answer = await client.call(tool, **steps(site, run_id)[tool])
            run_id = answer.get("run_id", run_id)
            if tool == "run_status":
                await client.finish(run_id)
        for tool in sorted(listed - set(steps(site)) | refusing):
            await client.result(tool, steps(site, run_id).get(tool, {}))


async def test_two_clients_work_at_once_on_the_same_data(tmp_path: Path, era: Era) -> None:
    async with open_site(tmp_path) as site, site.client("http", era) as one, site.client("sse", era) as other:
        await one.set_up(site.bench.fake, "alpha", "beta")
        runs: dict[str, str] = {}

        async def work(client: Any, model: str) -> None:
            started = await client.call("run_start", models=[model], suites=["sums"])
            runs[model] = started["run_id"]
            assert (await client.finish(started["run_id"]))["passed"] == 3

        async with anyio.create_task_group() as group:
            group.start_soon(work, one, "alpha")
            group.start_soon(work, other, "beta")
        board = await other.call("leaderboard_query", suite="sums")
        assert {row["model"] for row in board["entries"]} == {"alpha", "beta"}
        assert (await one.call("run_status", run_id=runs["beta"]))["state"] == "completed"


async def test_a_long_wait_blocks_nobody(tmp_path: Path, door: Door, era: Era) -> None:
    held = Held()
    async with open_site(tmp_path, script=held) as site, site.client(door, era) as patient, site.client() as hasty:
        await hasty.set_up(site.bench.fake, "alpha")
        run_id = (await hasty.call("run_start", models=["alpha"], suites=["sums"]))["run_id"]
        done = anyio.Event()

        async def wait() -> None:
            assert (await patient.finish(run_id))["state"] == "completed"
            done.set()

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            for client in (hasty, patient):
                assert (await client.call("leaderboard_query", suite="sums"))["suite"] == "sums"
            assert not done.is_set()
            held.gate.open()
        assert done.is_set()


async def test_a_call_that_is_given_up_leaves_the_run_alone(tmp_path: Path, door: Door, era: Era) -> None:
    held = Held()
    async with open_site(tmp_path, script=held) as site, site.client(door, era) as client:
        await client.set_up(site.bench.fake, "alpha")
        run_id = (await client.call("run_start", models=["alpha"], suites=["sums"]))["run_id"]
        with anyio.move_on_after(0.3) as given_up:
            await client.finish(run_id)
        assert given_up.cancelled_caught
        held.gate.open()
        assert (await client.finish(run_id))["passed"] == 3
