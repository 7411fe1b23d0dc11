"""Everything that is offered, over the streams and in memory, in both eras: no tool, resource or prompt is left out."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import TextContent, TextResourceContents

from llmbench_mcp.server.prompts import EVERY_PROMPT
from llmbench_mcp.server.resources import EVERY_RESOURCE
from llmbench_mcp.server.tools import every_tool
from llmbench_mcp.testing.fake_server import FakeServer
from tests.mcp.bench import BenchClient, Era, open_bench, right, settings_in
from tests.mcp.test_prompts import GIVEN
from tests.mcp.test_stdio import environment, executor_ended

Door = Literal["stdio", "memory"]
ASKS_A_PERSON = {"credential_request"}
"""Not called here: it opens a page for a person."""


@pytest.fixture(params=["stdio", "memory"])
def door(request: pytest.FixtureRequest) -> Door:
    chosen: Door = request.param
    return chosen


@asynccontextmanager
async def opened(door: Door, era: Era, folder: Path) -> AsyncIterator[tuple[BenchClient, FakeServer]]:
    """A client of one era through one door, and an inference server."""
    if door == "memory":
        async with open_bench(folder) as bench, bench.client(era) as client:
            yield client, bench.fake
        return
    settings = settings_in(folder)
    program = StdioServerParameters(
        command=sys.executable,
        args=["-m", "llmbench_mcp"],
        env=environment(settings, LLMBENCH_DISCOVER_PORTS="none"),
    )
    async with FakeServer(["alpha", "beta"], right) as fake, executor_ended(settings), Client(program, mode=era) as raw:
        yield BenchClient(raw), fake


def rest(run_id: str) -> dict[str, dict[str, Any]]:
    """Arguments of the tools that a walk to a finished run leaves out."""
    return {
        "endpoint_list": {},
        "model_list": {},
        "model_get": {"model": "alpha"},
        "model_residency": {},
        "suite_list": {},
        "run_list": {},
        "run_results": {"run_id": run_id},
        "run_cancel": {"run_id": run_id},
        "leaderboard_query": {"suite": "sums"},
        "gpu_stats": {},
        "results_export": {"run_ids": [run_id]},
        "results_clear": {"run_ids": [run_id]},
    }


REFUSED = {"run_retry": "what", "model_compare": "suite"}
"""Tools that have nothing to do in the walk, with a word of what they say."""


async def test_everything_answers(tmp_path: Path, door: Door, era: Era) -> None:
    async with opened(door, era, tmp_path) as (client, fake):
        await client.set_up(fake, "alpha")
        run_id = (await client.call("run_start", models=["alpha"], suites=["sums"]))["run_id"]
        await client.finish(run_id)
        walked = {"endpoint_add", "models_discover", "model_assign", "run_start", "run_status"}
        for tool, arguments in rest(run_id).items():
            await client.call(tool, **arguments)
        for tool, word in REFUSED.items():
            assert word in await client.refused(tool)
        listed = {tool.name for tool in (await client.raw.list_tools()).tools}
        assert listed == {spec.name for spec in every_tool()}
        assert listed == walked | set(rest("")) | set(REFUSED) | ASKS_A_PERSON
        await _read_all(client.raw, {"suite": "sums", "name": "sums", "run_id": run_id, "n": "1"})
        for spec in EVERY_PROMPT:
            given = {argument.name: GIVEN[argument.name] for argument in spec.arguments if argument.required}
            (message,) = (await client.raw.get_prompt(spec.name, given)).messages
            assert isinstance(message.content, TextContent)


async def _read_all(client: Client, variables: dict[str, str]) -> None:
    for spec in EVERY_RESOURCE:
        uri = spec.uri
        for name, value in variables.items():
            uri = uri.replace(f"{{{name}}}", value)
        (contents,) = (await client.read_resource(uri)).contents
        assert isinstance(contents, TextResourceContents)
        assert contents.text
