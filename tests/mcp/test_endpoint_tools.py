from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import Reply, error_reply
from tests.mcp.bench import Era, open_bench, right

KEY = "sk-test-0123456789abcdef"


async def test_an_endpoint_is_added_and_listed(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        empty = await client.call("endpoint_list")
        assert (empty["total"], empty["endpoints"]) == (0, [])
        assert "endpoint_add" in empty["next"]
        added = await client.call("endpoint_add", url=f"{bench.fake.url}/v1/")
        assert added["created"] is True
        assert added["url"] == bench.fake.url
        assert added["device"] == "nvidia:0"
        again = await client.call("endpoint_add", url=bench.fake.url, name="mine", concurrency=2)
        assert (again["created"], again["name"]) == (False, "mine")
        (row,) = (await client.call("endpoint_list"))["endpoints"]
        assert (row["name"], row["reachable"], row["credential"]) == ("mine", True, "none")
        assert "details" not in row
        (row,) = (await client.call("endpoint_list", detail="detailed", look=False))["endpoints"]
        assert row["details"]["added_by"] == "agent"
        assert row["details"]["concurrency"] == 2


async def test_a_server_that_went_away_is_listed_with_the_reason(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.call("endpoint_add", url=bench.fake.url, name="mine")
        await bench.fake.stop()
        (row,) = (await client.call("endpoint_list"))["endpoints"]
        assert row["reachable"] is False
        assert row["untrusted_error"]


async def test_what_cannot_be_added_is_told_with_what_to_do(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        url = bench.fake.url
        assert "private network" in await client.refused("endpoint_add", url="http://8.8.8.8:80")
        assert "private network" in await client.refused("endpoint_add", url="http://169.254.169.254/latest")
        assert "user name" in await client.refused("endpoint_add", url="http://me:secret@127.0.0.1")
        assert "LLMBENCH_KEY_" in await client.refused("endpoint_add", url=url, credential_ref="env:HOME")
        assert "llamacpp" in await client.refused("endpoint_add", url=url, backend="lamacpp")
        await bench.fake.stop()
        assert "connection refused" in await client.refused("endpoint_add", url=url)
        assert (await client.call("endpoint_list"))["total"] == 0


async def test_a_credential_is_used_and_shown_by_reference_only(
    tmp_path: Path, era: Era, monkeypatch: pytest.MonkeyPatch
) -> None:
    def echoes_the_key(request: Received) -> Reply | str | None:
        if right(request) == "4":
            return error_reply(400, f"You sent {request.headers['authorization']}")
        return request.headers["authorization"]

    monkeypatch.setenv("LLMBENCH_KEY_TEST", KEY)
    async with open_bench(tmp_path, script=echoes_the_key, api_key=KEY) as bench, bench.client(era) as client:
        told = await client.refused("endpoint_add", url=bench.fake.url)
        assert "credential_ref" in told
        added = await client.call("endpoint_add", url=bench.fake.url, credential_ref="env:LLMBENCH_KEY_TEST")
        listed = await client.call("endpoint_list", detail="detailed")
        assert listed["endpoints"][0]["credential"] == "env:LLMBENCH_KEY_TEST"
        found = await client.call("models_discover")
        started = await client.call("run_start", models=["alpha"], suites=["sums"], endpoint=added["name"])
        status = await client.finish(started["run_id"])
        results = await client.call("run_results", run_id=started["run_id"], detail="detailed")
        answer = await client.call("run_results", run_id=started["run_id"], attempt=1, include_completion=True)
        assert "untrusted_completion" in answer
    assert KEY not in json.dumps([added, listed, found, started, status, results, answer])


async def test_a_key_of_another_endpoint_that_a_server_says_is_not_kept(
    tmp_path: Path, era: Era, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMBENCH_KEY_OTHER", KEY)
    async with open_bench(tmp_path, script=lambda request: f"{KEY}!") as bench, bench.client(era) as client:
        await client.set_up(bench.fake, "alpha")
        started = await client.call("run_start", models=["alpha"], suites=["sums"])
        await client.finish(started["run_id"])
        answer = await client.call("run_results", run_id=started["run_id"], attempt=1, include_completion=True)
    assert answer["untrusted_completion"]["text"] == "[redacted]!"
    assert KEY not in json.dumps(answer)


async def test_a_credential_that_leads_to_nothing_is_told(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        told = await client.refused("endpoint_add", url=bench.fake.url, credential_ref="env:LLMBENCH_KEY_UNSET")
        assert "LLMBENCH_KEY_UNSET is not set" in told


async def test_endpoints_come_in_pages(tmp_path: Path, era: Era) -> None:
    async with (
        open_bench(tmp_path) as bench,
        FakeServer() as second,
        FakeServer() as third,
        bench.client(era) as client,
    ):
        for server in (bench.fake, second, third):
            await client.call("endpoint_add", url=server.url)
        first = await client.call("endpoint_list", limit=2, look=False)
        assert (first["total"], len(first["endpoints"])) == (3, 2)
        rest = await client.call("endpoint_list", limit=2, look=False, cursor=first["next_cursor"])
        assert len(rest["endpoints"]) == 1
        assert "next_cursor" not in rest
        urls = {row["url"] for row in first["endpoints"] + rest["endpoints"]}
        assert urls == {server.url for server in (bench.fake, second, third)}
