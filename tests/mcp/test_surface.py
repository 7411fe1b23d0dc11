"""What an agent is offered: the list of tools, as short and complete as it must be."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import pytest
from mcp import Client
from mcp.types import CallToolResult, Tool

from llmbench_mcp.config import load_settings
from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.server.build import build_server
from llmbench_mcp.server.holder import AppHolder
from llmbench_mcp.server.tools import every_tool
from llmbench_mcp.server.tools.leaderboard_query import LeaderboardPage
from tests.mcp.bench import Era

SNAPSHOTS = Path(__file__).parent / "snapshots"
CHARS_PER_TOKEN = 3.5
_LISTED: dict[str, dict[str, Tool]] = {}  # building a server takes a moment
READERS = {
    "endpoint_list",
    "model_list",
    "model_get",
    "suite_list",
    "run_status",
    "run_list",
    "run_results",
    "leaderboard_query",
    "model_compare",
    "gpu_stats",
    "results_export",
}
WRITERS = {
    "endpoint_add",
    "credential_request",
    "models_discover",
    "model_assign",
    "model_residency",
    "run_start",
    "run_retry",
    "run_cancel",
    "results_clear",
}


def holder_of(**changes: Any) -> AppHolder:
    return AppHolder(load_settings({}, **changes))


async def tools_of(era: Era = "auto", **changes: Any) -> dict[str, Tool]:
    key = repr((era, changes))
    if key not in _LISTED:
        async with Client(build_server(holder_of(**changes)), mode=era) as client:
            _LISTED[key] = {tool.name: tool for tool in (await client.list_tools()).tools}
    return _LISTED[key]


def wire(tool: Tool) -> dict[str, Any]:
    return tool.model_dump(mode="json", by_alias=True, exclude_none=True)


async def test_the_same_tools_are_offered_in_both_eras(era: Era) -> None:
    assert set(await tools_of(era)) == READERS | WRITERS


@pytest.mark.parametrize("name", sorted(READERS | WRITERS))
async def test_a_tool_is_offered_as_recorded(name: str) -> None:
    offered = wire((await tools_of())[name])
    file = SNAPSHOTS / f"{name}.json"
    if os.environ.get("LLMBENCH_UPDATE_SNAPSHOTS") == "1":
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(offered, indent=2) + "\n", encoding="utf-8")
    recorded = json.loads(file.read_text(encoding="utf-8"))
    assert offered == recorded, "if meant, record it anew with LLMBENCH_UPDATE_SNAPSHOTS=1"


async def test_there_is_no_record_of_a_tool_that_is_not_offered() -> None:
    assert {file.stem for file in SNAPSHOTS.glob("*.json")} == set(await tools_of())


async def test_the_list_of_tools_costs_less_than_6000_tokens() -> None:
    listed = [wire(tool) for tool in (await tools_of()).values()]
    assert len(json.dumps(listed, separators=(",", ":"))) / CHARS_PER_TOKEN < 6_000


async def test_what_a_row_holds_is_told_in_words() -> None:
    output = (await tools_of())["leaderboard_query"].output_schema
    assert output is not None
    told = output["properties"]["entries"]
    assert told["items"] == {}
    assert told["description"].startswith(
        "rank (1-2: not told apart; absent: see note), model (untrusted), quantisation"
    )


async def test_results_are_checked_against_the_whole_schema_all_the_same() -> None:
    async def broken() -> Annotated[CallToolResult, LeaderboardPage]:
        facts = {"total": 0, "suite": "s", "suite_version": 1, "tasks_in_suite": 1, "rank_by": "score", "entries": [{}]}
        return CallToolResult(content=[], structured_content=facts)

    server = build_server(holder_of())
    server.add_tool(broken, structured_output=True)
    async with Client(server) as client:
        result = await client.call_tool("broken", {})
    assert isinstance(result, CallToolResult)
    assert result.is_error


async def test_every_tool_has_a_title_a_description_and_all_four_hints() -> None:
    for tool in (await tools_of()).values():
        assert tool.title
        assert tool.description
        assert "\n" not in tool.description
        hints = tool.annotations
        assert hints is not None
        given = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
        assert None not in given, tool.name


async def test_every_tool_says_what_it_takes_and_returns_without_null_arms() -> None:
    for tool in (await tools_of()).values():
        assert tool.input_schema["additionalProperties"] is False, tool.name
        assert tool.output_schema is not None
        assert tool.output_schema["properties"], tool.name
        text = json.dumps([tool.input_schema, tool.output_schema])
        for noise in ("anyOf", "$ref", '"title": "'):
            assert noise not in text, (tool.name, noise)
        where = tool.input_schema if tool.name == "gpu_stats" else [tool.input_schema, tool.output_schema]
        assert "null" not in json.dumps(where), tool.name


async def test_lists_are_paged_alike() -> None:
    for name in (
        "endpoint_list",
        "model_list",
        "suite_list",
        "run_status",
        "run_list",
        "run_results",
        "leaderboard_query",
    ):
        tool = (await tools_of())[name]
        assert tool.input_schema["properties"]["limit"] == {
            "type": "integer",
            "default": 10,
            "minimum": 1,
            "maximum": 50,
        }
        assert {"cursor", "detail"} <= set(tool.input_schema["properties"])
        assert tool.output_schema is not None
        assert {"total", "next_cursor", "truncated"} <= set(tool.output_schema["properties"])


async def test_only_what_cannot_be_undone_is_called_destructive() -> None:
    tools = await tools_of()
    destructive = {name for name, tool in tools.items() if tool.annotations and tool.annotations.destructive_hint}
    assert destructive == {"run_cancel", "results_clear"}


async def test_a_read_only_server_offers_nothing_that_changes_anything() -> None:
    assert set(await tools_of(read_only=True)) == READERS


async def test_toolsets_choose_the_tools() -> None:
    managing = {
        "credential_request",
        "endpoint_add",
        "gpu_stats",
        "model_residency",
        "run_retry",
        "results_clear",
        "results_export",
    }
    assert set(await tools_of(toolsets="manage")) == managing
    assert set(await tools_of(toolsets="core, manage")) == READERS | WRITERS
    assert len(await tools_of(toolsets="core")) == 13


@pytest.mark.parametrize(
    ("text", "expected"), [("core,manag", "'manag'.*manage"), ("x", "core or manage"), (",", "empty")]
)
def test_an_unknown_toolset_is_refused_with_the_known_ones(text: str, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        build_server(holder_of(toolsets=text))


async def test_the_instructions_give_the_order_of_work_and_warn_of_untrusted_text(era: Era) -> None:
    async with Client(build_server(holder_of()), mode=era) as client:
        told = client.instructions or ""
    words = ("models_discover", "model_assign", "run_start", "run_status", "leaderboard_query")
    places = [told.index(word) for word in words]
    assert places == sorted(places)
    assert "untrusted" in told


def test_every_tool_says_whether_it_writes() -> None:
    assert {spec.name for spec in every_tool() if spec.writes} == WRITERS
