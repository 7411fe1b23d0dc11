from __future__ import annotations

from pathlib import Path

from llmbench_mcp.testing.fake_server import FakeServer
from tests.mcp.bench import Era, open_bench


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


async def test_a_credential_is_shown_by_reference_only(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.call("endpoint_add", url=bench.fake.url, credential_ref="env:LLMBENCH_KEY_X")
        (row,) = (await client.call("endpoint_list"))["endpoints"]
        assert row["credential"] == "env:LLMBENCH_KEY_X"


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
