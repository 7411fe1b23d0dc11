"""Addresses in every form, catalogues with holes, servers that share a model store: as an agent sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from llmbench_mcp.domain.chat import ChatRequest
from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_ollama_models import OllamaStore, StoredModel
from llmbench_mcp.testing.fake_server import FakeServer
from tests.mcp.bench import BenchClient, Era, open_bench, right
from tests.support.catalogues import with_holes

both_eras = pytest.mark.parametrize("era", ["auto", "legacy"])


@both_eras
async def test_a_catalogue_with_holes_is_taken_whole_and_nothing_is_made_up(tmp_path: Path, era: Era) -> None:
    async with FakeOllama(with_holes()) as fake, open_bench(tmp_path) as bench, bench.client(era) as client:
        added = await client.call("endpoint_add", url=fake.url, name="box")
        assert added["backend"] == "ollama"
        (first,) = (await client.call("models_discover"))["reports"]
        assert (first["seen"], first["changes"]["added"]["count"]) == (5, 5)
        assert any("e" in told and "date" in told for told in first["untrusted_warnings"])
        before = await details(client)
        (second,) = (await client.call("models_discover"))["reports"]
        assert (second["seen"], second["changes"]) == (5, {})
        assert await details(client) == before
        rows = {row["name"]: row for row in (await client.call("model_list"))["models"]}
        assert set(rows) == {"a:latest", "b:7b", "c:1b", "d:cloud", "e"}
        check_rows(rows)
        assert "another machine" in await client.refused("model_assign", model="d:cloud")
        told = await client.refused("run_start", models=["d:cloud"], suites=["sums"], endpoint="box")
        assert "another machine" in told


def check_rows(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["a:latest"]["parameters_b"] == 3.2
    assert "guessed" not in rows["a:latest"]
    for name, figure in (("b:7b", 7.0), ("c:1b", 1.0)):
        assert rows[name].get("parameters_b") in (None, figure)
        assert ("parameters_b" in rows[name]) == ("parameter_count" in rows[name].get("guessed", []))
    assert "size_gib" not in rows["c:1b"]
    assert "size_gib" not in rows["d:cloud"]
    assert [name for name, row in rows.items() if row.get("remote")] == ["d:cloud"]


async def details(client: BenchClient) -> dict[str, Any]:
    """Everything about every model but when it was last seen."""
    found = {}
    for row in (await client.call("model_list"))["models"]:
        model = await client.call("model_get", model=row["name"])
        model["facts"].pop("last_seen")
        found[row["name"]] = model
    return found


@both_eras
async def test_two_servers_with_one_store_share_their_models_and_not_their_work(tmp_path: Path, era: Era) -> None:
    shared = StoredModel("m:8b")
    only = StoredModel("only-y:3b")
    async with (
        FakeOllama(OllamaStore([shared]), right) as x,
        FakeOllama(OllamaStore([shared, only]), right) as y,
        open_bench(tmp_path, release_wait_s=0.2) as bench,  # the device's figures never change
        bench.client(era) as client,
    ):
        for fake, name, device in ((x, "x", "nvidia:0"), (y, "y", "nvidia:1")):
            await client.call("endpoint_add", url=fake.url, name=name, device=device)
        await client.call("models_discover")
        rows = {row["name"]: row for row in (await client.call("model_list"))["models"]}
        assert {name: row["offered_at"] for name, row in rows.items()} == {"m:8b": ["x", "y"], "only-y:3b": ["y"]}
        assert "not assigned" in await client.refused("run_start", models=["m:8b"], suites=["sums"])
        assert not x.prompts + y.prompts
        await run_at(client, "y")
        assert (len(x.prompts), asked(y)) == (0, 3)
        await run_at(client, "x")
        assert (asked(x), asked(y)) == (3, 3)
        board = await client.call("leaderboard_query", suite="sums")
        assert sorted(row["device"] for row in board["entries"]) == ["nvidia:0", "nvidia:1"]
        told = await client.refused("run_start", models=["only-y:3b"], suites=["sums"], endpoint="x")
        assert "'x' does not offer 'only-y:3b'" in told


def asked(fake: FakeOllama) -> int:
    return sum(prompt.startswith("What is") for prompt in fake.prompts)


async def run_at(client: BenchClient, endpoint: str) -> None:
    await client.call("model_assign", model="m:8b", endpoint=endpoint)
    started = await client.call("run_start", models=["m:8b"], suites=["sums"])
    status = await client.finish(started["run_id"])
    assert (status["state"], status["passed"]) == ("completed", 3)


@both_eras
async def test_every_way_of_writing_an_address_leads_to_its_server(tmp_path: Path, era: Era) -> None:
    async with (
        FakeServer(["m"]) as plain,
        FakeServer(["n"], prefix="/llm/api") as below,
        open_bench(tmp_path) as bench,
        bench.client(era) as client,
    ):
        await plain.listen_v6()
        host = f"127.0.0.1:{plain.port}"
        forms = [f"http://{host}{tail}" for tail in ("", "/", "/v1", "/v1/", "/v1/chat/completions")]
        added = [await client.call("endpoint_add", url=form) for form in (*forms, host)]
        assert [(one["url"], one["created"]) for one in added] == [(plain.url, number == 0) for number in range(6)]
        sixth = await client.call("endpoint_add", url=f"http://[::1]:{plain.port}/v1", name="six")
        deep = await client.call("endpoint_add", url=f"http://127.0.0.1:{below.port}/llm/api/v1/", name="deep")
        assert (sixth["url"], deep["url"]) == (f"http://[::1]:{plain.port}", below.url)
        reports = (await client.call("models_discover"))["reports"]
        assert {report["endpoint"]: report["seen"] for report in reports} == {added[0]["name"]: 1, "six": 1, "deep": 1}
        for name, model in ((added[0]["name"], "m"), ("six", "m"), ("deep", "n")):
            answer = await (await bench.app()).endpoints.probe(name, ChatRequest(model, "Hello"))
            assert answer.text == "You said: Hello"
        secret = await client.refused("endpoint_add", url=f"http://user:pw-secret@{host}/v1")
        assert "pw-secret" not in secret
        assert "http" in await client.refused("endpoint_add", url="ftp://127.0.0.1/")
        odd = [path for fake in (plain, below) for path in fake.paths if "//" in path or "/v1/v1" in path]
        assert odd == []
