"""What holds for a call of any tool: arguments, failures, protocol."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import pytest
from mcp import Client, MCPError
from mcp.server.mcpserver import MCPServer
from mcp.types import METHOD_NOT_FOUND, EmptyResult, PingRequest

from llmbench_mcp.app import open_app
from llmbench_mcp.server.build import build_server
from llmbench_mcp.server.holder import AppHolder
from tests.mcp.bench import BenchClient, Era, inside_doors, open_bench, settings_in

KEY = 'zz-CALLED/7f"3a9c51d2e8'


async def refused(settings: Any, era: Era, tool: str, **arguments: Any) -> str:
    async with Client(build_server(AppHolder(settings)), mode=era) as client:
        return await BenchClient(client).refused(tool, **arguments)


async def test_an_unknown_argument_is_refused_by_name_with_the_valid_ones(tmp_path: Path, era: Era) -> None:
    told = await refused(settings_in(tmp_path), era, "run_status", run_id="run_x", wait=5)
    assert "'wait'" in told
    assert "run_id, wait_s, detail, limit, cursor" in told


async def test_a_tool_without_arguments_says_so(tmp_path: Path, era: Era) -> None:
    assert "It takes: no arguments." in await refused(settings_in(tmp_path), era, "gpu_stats", device="x")


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("run_status", {}, "run_id is missing."),
        ("model_list", {"limit": 99}, "limit: Input should be less than or equal to 50 (got 99)."),
        (
            "leaderboard_query",
            {"suite": "s", "rank_by": "luck"},
            "'score', 'pass_rate', 'speed' or 'efficiency' (got 'luck').",
        ),
        ("run_start", {"models": [], "suites": {"a": 1}}, "suites: Input should be a valid list"),
    ],
)
async def test_a_bad_argument_is_told_in_a_line(
    tmp_path: Path, era: Era, tool: str, arguments: dict[str, Any], expected: str
) -> None:
    told = await refused(settings_in(tmp_path), era, tool, **arguments)
    assert expected in told
    assert "It takes: " in told
    assert "http" not in told
    assert "\n" not in told


async def test_an_absurdly_long_argument_is_refused(tmp_path: Path, era: Era) -> None:
    settings = settings_in(tmp_path)
    assert "5000 characters" in await refused(settings, era, "model_list", text="x" * 5_000)
    assert "501 entries" in await refused(settings, era, "run_start", models=["m"] * 501, suites=["s"])
    assert "64000" in await refused(settings, era, "model_list", text="[" * 70_000)


async def test_an_unknown_tool_is_told_with_the_nearest(tmp_path: Path, era: Era) -> None:
    assert "run_start" in await refused(settings_in(tmp_path), era, "run_begin")


async def test_a_tool_switched_off_is_told_why(tmp_path: Path, era: Era) -> None:
    told = await refused(settings_in(tmp_path, read_only=True), era, "run_start", models=["m"], suites=["s"])
    assert "read-only" in told
    assert "'manage'" in await refused(settings_in(tmp_path, toolsets="core"), era, "gpu_stats")


async def test_lists_may_come_as_json_text_or_as_one_bare_name(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake, "alpha", "beta")
        as_json = await client.call("run_start", models='["alpha", "beta"]', suites='["sums"]', dry_run=True)
        assert as_json["planned_attempts"] == 6
        bare = await client.call("run_start", models="alpha", suites="sums", dry_run=True)
        assert bare["planned_attempts"] == 3


async def test_a_data_directory_that_cannot_be_used_is_told_and_tried_again(tmp_path: Path, era: Era) -> None:
    settings = settings_in(tmp_path)
    settings.data_dir.write_text("in the way", encoding="utf-8")
    holder = AppHolder(settings, inside_doors())
    async with Client(build_server(holder), mode=era) as raw:
        client = BenchClient(raw)
        assert "LLMBENCH_DATA_DIR" in await client.refused("suite_list")
        settings.data_dir.unlink()
        assert (await client.call("suite_list", limit=50))["total"] >= 1
    await holder.aclose()


async def test_a_bug_in_a_tool_is_logged_and_hidden(
    tmp_path: Path, era: Era, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: AppHolder) -> None:
        raise RuntimeError("inner detail")

    monkeypatch.setattr(AppHolder, "get", broken)
    with caplog.at_level(logging.ERROR):
        told = await refused(settings_in(tmp_path), era, "suite_list")
    assert "Internal error in suite_list" in told
    assert "inner detail" not in told
    assert "inner detail" in caplog.text


async def test_the_app_outlives_connections_and_opens_once(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench:
        app = await bench.app()
        for _ in range(2):
            async with bench.client(era) as client:
                await client.call("endpoint_list")
        assert await bench.app() is app


async def test_calls_at_the_same_time_open_one_app(tmp_path: Path, era: Era, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []

    def counting(*arguments: Any) -> Any:
        opened.append(arguments)
        return open_app(*arguments)

    monkeypatch.setattr("llmbench_mcp.app.open_app", counting)
    holder = AppHolder(settings_in(tmp_path), inside_doors())
    async with Client(build_server(holder), mode=era) as raw, anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(BenchClient(raw).call, "endpoint_list")
    await holder.aclose()
    assert len(opened) == 1


async def test_ping_is_answered(tmp_path: Path, era: Era) -> None:
    async with Client(build_server(AppHolder(settings_in(tmp_path))), mode=era) as client:
        await client.session.send_request(PingRequest(), EmptyResult)


async def test_the_sdk_still_needs_help_to_answer_ping() -> None:
    """When this fails the SDK answers ping itself: remove answer_ping from the server."""
    async with Client(MCPServer("plain")) as client:
        with pytest.raises(MCPError) as refusal:
            await client.session.send_request(PingRequest(), EmptyResult)
    assert refusal.value.error.code == METHOD_NOT_FOUND


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("endpoint_add", {"url": "http://127.0.0.1:9", "name": "box {}"}),
        ("endpoint_add", {"url": "http://127.0.0.1:9/v1?api_key={}"}),
        ("run_start", {"models": ["alpha"], "suites": ["sums"], "idempotency_key": "{}"}),
        ("run_start", {"models": ["alpha"], "custom_tasks": [{"prompt": 'Say "{}"', "expected": "x"}]}),
    ],
)
@pytest.mark.parametrize("written", [KEY, quote(KEY, safe=""), KEY.encode().hex()])
async def test_a_call_that_would_store_a_key_is_refused_and_does_not_repeat_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, Any], written: str
) -> None:
    monkeypatch.setenv("LLMBENCH_KEY_PLANTED", KEY)
    given = json.loads(json.dumps(arguments).replace("{}", json.dumps(written)[1:-1]))
    async with open_bench(tmp_path) as bench, bench.client("auto") as client:
        told = await client.refused(tool, **given)
        assert "holds a key or token" in told
        assert written not in told
        assert "credential_request" in told
        assert (await client.call("run_list"))["total"] == 0
        assert (await client.call("endpoint_list"))["total"] == 0
