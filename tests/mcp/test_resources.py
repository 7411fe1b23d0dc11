"""Resources: the facts of the read tools under stable addresses."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, TextResourceContents

from llmbench_mcp.server.build import build_server
from llmbench_mcp.server.holder import AppHolder
from tests.mcp.bench import Bench, BenchClient, Era, inside_doors, open_bench, settings_in


async def read(client: BenchClient, uri: str, mime_type: str = "application/json") -> str:
    (contents,) = (await client.raw.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    assert (contents.uri, contents.mime_type) == (uri, mime_type)
    assert mime_type == "text/html" or len(contents.text) < 8_000 * 3.5
    return contents.text


async def missing(client: BenchClient, uri: str, code: int = INVALID_PARAMS) -> str:
    with pytest.raises(MCPError) as refusal:
        await client.raw.read_resource(uri)
    assert refusal.value.error.code == code
    assert refusal.value.error.data == {"uri": uri}
    return refusal.value.error.message


async def finished_run(bench: Bench, client: BenchClient) -> str:
    await client.set_up(bench.fake, "alpha")
    started = await client.call("run_start", models=["alpha"], suites=["sums"])
    await client.finish(started["run_id"])
    return str(started["run_id"])


async def test_a_resource_tells_the_same_facts_as_the_tool(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        run_id = await finished_run(bench, client)
        more: dict[str, Any] = {"detail": "detailed", "limit": 50}
        same = {
            f"llmbench://run/{run_id}": await client.call("run_status", run_id=run_id, **more),
            "llmbench://leaderboard/sums": await client.call("leaderboard_query", suite="sums", **more),
            "llmbench://suite/sums": await client.call("suite_list", suite="sums", **more),
            "llmbench://gpus": await client.call("gpu_stats"),
            f"llmbench://run/{run_id}/attempt/2": await client.call(
                "run_results", run_id=run_id, attempt=2, include_completion=True
            ),
        }
        for uri, facts in same.items():
            assert json.loads(await read(client, uri)) == facts, uri
        assert same[f"llmbench://run/{run_id}/attempt/2"]["untrusted_completion"]["text"] == "4"


async def test_a_runs_report_is_a_page_of_its_own(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        run_id = await finished_run(bench, client)
        page = await read(client, f"llmbench://report/{run_id}.html", "text/html")
        assert page.lower().startswith("<!doctype html>")
        assert "alpha" in page
        assert "run_x" in await missing(client, "llmbench://report/run_x.html")


async def test_a_report_too_large_for_a_resource_is_told_with_the_way_to_a_file(
    tmp_path: Path, era: Era, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llmbench_mcp.server.resources.LONGEST_REPORT", 10)
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        run_id = await finished_run(bench, client)
        told = await missing(client, f"llmbench://report/{run_id}.html", INTERNAL_ERROR)
        assert f"results_export format=html run_ids={run_id}" in told


async def test_what_is_not_there_is_told_with_the_next_step(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        run_id = await finished_run(bench, client)
        for uri, expected in {
            "llmbench://leaderboard/sum": "Nearest: sums",
            "llmbench://suite/sum": "Nearest: sums",
            "llmbench://run/run_x": f"Newest runs: {run_id}",
            f"llmbench://run/{run_id}/attempt/99": "Use 1 to 3",
            f"llmbench://run/{run_id}/attempt/0": "run_results lists them",
            f"llmbench://run/{run_id}/attempt/two": "run_results lists them",
            f"llmbench://run/{run_id}/attempt/9999999999999999": "run_results lists them",
            "llmbench://runs": "resources/templates/list",
            "llmbench://run/..": "resources/templates/list",
            "llmbench://suite/..%2F..%2Fetc": "resources/templates/list",
            "llmbench://suite/%2Fetc%2Fpasswd": "resources/templates/list",
            "llmbench://suite/" + 600 * "x": "resources/templates/list",
            "file:///etc/passwd": "resources/templates/list",
            "other://\x1b[31m": "'other://\\x1b[31m'",
        }.items():
            assert expected in await missing(client, uri), uri


async def test_a_long_answer_is_cut_with_its_length_told(tmp_path: Path, era: Era) -> None:
    def script(_: object) -> str:
        return "\x1b[31m" + 9_000 * "9"

    async with open_bench(tmp_path, script=script) as bench, bench.client(era) as client:
        run_id = await finished_run(bench, client)
        answer = json.loads(await read(client, f"llmbench://run/{run_id}/attempt/1"))["untrusted_completion"]
        assert answer["truncated"] is True
        assert (len(answer["text"]), answer["full_length"]) == (4_000, 9_005)
        assert answer["text"].startswith("\\x1b[31m9")


async def test_a_data_directory_that_cannot_be_used_is_told_and_tried_again(tmp_path: Path, era: Era) -> None:
    settings = settings_in(tmp_path)
    settings.data_dir.write_text("in the way", encoding="utf-8")
    holder = AppHolder(settings, inside_doors())
    async with Client(build_server(holder), mode=era) as raw:
        client = BenchClient(raw)
        assert "LLMBENCH_DATA_DIR" in await missing(client, "llmbench://suite/sums", INTERNAL_ERROR)
        settings.data_dir.unlink()
        assert "Sums" in await read(client, "llmbench://suite/sums")
    await holder.aclose()


async def test_a_bug_in_a_resource_is_logged_and_hidden(
    tmp_path: Path, era: Era, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: AppHolder) -> None:
        raise RuntimeError("inner detail")

    monkeypatch.setattr(AppHolder, "get", broken)
    async with Client(build_server(AppHolder(settings_in(tmp_path))), mode=era) as raw:
        with caplog.at_level(logging.ERROR):
            told = await missing(BenchClient(raw), "llmbench://gpus", INTERNAL_ERROR)
    assert "Internal error reading 'llmbench://gpus'" in told
    assert "inner detail" not in told
    assert "inner detail" in caplog.text


async def test_a_resource_goes_with_the_tool_that_tells_the_same(tmp_path: Path, era: Era) -> None:
    async with Client(build_server(AppHolder(settings_in(tmp_path, toolsets="core"))), mode=era) as raw:
        assert (await raw.list_resources()).resources == []
        assert "resources/templates/list" in await missing(BenchClient(raw), "llmbench://gpus")
