from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest

from llmbench_mcp.backends.ollama import SHOWN_AT_ONCE
from llmbench_mcp.backends.registry import EntryPointBackends
from llmbench_mcp.domain.endpoint import ModelList, OfferedModel
from llmbench_mcp.domain.errors import (
    ProtocolError,
    UnreachableError,
)
from llmbench_mcp.testing.clocks import ManualClock
from llmbench_mcp.testing.fake_llama import FakeLlama
from llmbench_mcp.testing.fake_ollama import CHAT, VERSION, FakeOllama
from llmbench_mcp.testing.fake_ollama_models import OllamaStore, StoredModel
from llmbench_mcp.testing.fake_ollama_wire import refusal
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import Reply
from llmbench_mcp.testing.simulated_gpu import GB
from tests.backends.ollama_support import ollama_at, scene
from tests.backends.support import ask

# What it is


async def detected(server: FakeServer) -> str:
    return (await EntryPointBackends(clock=ManualClock()).detect(server.url)).backend


async def test_it_is_recognised_and_can_load_and_unload() -> None:
    async with FakeOllama() as server:
        info = await EntryPointBackends().detect(server.url)
        assert (info.backend, info.version, info.can_load, info.can_unload) == ("ollama", VERSION, True, True)


@pytest.mark.parametrize("models", [[], ["m"]])
async def test_it_is_recognised_behind_a_proxy_that_hides_its_front_page(models: list[str]) -> None:
    async with FakeOllama(models) as server:
        server.routes["GET /"] = lambda request: Reply(404, "<h1>Not Found</h1>")
        assert await detected(server) == "ollama"


async def test_it_is_recognised_by_its_models_where_it_tells_no_version() -> None:
    async with FakeOllama() as server:
        for path in ("GET /", "GET /api/version", "GET /v1/models"):
            server.routes[path] = lambda request: refusal(404, "404 page not found")
        assert await detected(server) == "ollama"


def look_alike(request: Received) -> Reply:
    """Ollama's list as llama.cpp's server imitates it."""
    entry = {"name": "tiny", "model": "tiny", "modified_at": "", "size": "", "digest": "", "type": "model"}
    return Reply(body={"models": [entry | {"details": {"family": "", "parameter_size": ""}}]})


@pytest.mark.parametrize("header", ["llama.cpp", "nginx"])
async def test_llama_cpps_imitation_of_its_lists_is_not_taken_for_it(header: str) -> None:
    async with FakeLlama() as server, ollama_at(server.url) as backend:
        server.server_header = header
        for path in ("/models", "/api/tags"):
            server.routes[f"GET {path}"] = look_alike
        assert await detected(server) == "llamacpp"
        with pytest.raises(ProtocolError, match="is not Ollama"):
            await backend.inspect()


async def test_other_servers_stay_what_they_are() -> None:
    async with FakeServer() as server:
        assert await detected(server) == "openai"
    async with FakeLlama() as server:
        assert await detected(server) == "llamacpp"


# What it offers


async def test_a_models_details_come_from_the_server_and_nothing_is_guessed() -> None:
    words = ("completion", "tools", "vision", "thinking")
    stored = StoredModel("q:8b-q8_0", 9 * GB, "qwen3", "8.2B", 8_190_735_360, "Q4_K_M", 40_960, words)
    async with scene(stored) as (_, backend):
        assert await backend.list_models() == [
            OfferedModel(
                "q:8b-q8_0",
                digest=stored.digest,
                family="qwen3",
                parameter_count=8_190_735_360,
                quantisation="Q4_K_M",
                size_bytes=9 * GB,
                context_length=40_960,
                capabilities=("chat", "tools", "vision", "thinking"),
            )
        ]


def with_holes() -> list[dict[str, Any]]:
    """A list in which something is missing from every entry but the first."""
    whole = StoredModel("a:latest").as_entry()
    details = whole["details"] | {"parameter_size": None, "families": None}
    return [
        dict(whole),
        {**whole, "name": "b:7b", "model": "b:7b", "digest": "b" * 64, "details": details},
        {**whole, "name": "c:1b", "model": "c:1b", "digest": "c" * 64, "details": {}, "size": 0},
        {"name": "d:cloud", "model": "d:cloud", "remote_host": "https://far.example", "size": 381, "digest": "d" * 64}
        | {"details": {"family": "", "parameter_size": "", "quantization_level": ""}},
        {"name": "e", "model": "e", "digest": "e" * 64, "modified_at": "not a date", "zeta": [1, 2]},
    ]


async def test_a_list_with_holes_gives_all_models_and_says_what_is_odd() -> None:
    async with FakeOllama() as server, ollama_at(server.url) as backend:
        server.routes["GET /api/tags"] = lambda request: Reply(body={"models": with_holes()})
        server.routes["POST /api/show"] = lambda request: refusal(404, "404 page not found")
        models = await backend.list_models()
        assert await backend.list_models() == models
    a, b, c, d, e = models
    assert [model.served_name for model in models] == ["a:latest", "b:7b", "c:1b", "d:cloud", "e"]
    assert (a.parameter_count, a.quantisation, a.guessed) == (10**9, "Q4_K_M", ())
    assert (b.parameter_count, b.family, b.guessed) == (7 * 10**9, "llama", ("parameter_count",))
    assert (c.size_bytes, c.parameter_count, c.guessed) == (None, 10**9, ("parameter_count",))
    assert d == OfferedModel("d:cloud", digest="d" * 64, remote=True)
    assert [model.remote for model in (a, b, c, e)] == [False] * 4
    assert e == OfferedModel("e", digest="e" * 64, warnings=("e: its modified_at 'not a date' is no date.",))
    assert isinstance(models, ModelList)
    assert len(models.warnings) == 1


async def test_entries_without_a_usable_name_are_left_out_and_counted() -> None:
    odd = [{}, {"name": ""}, {"name": 7}, "m", None, {"name": "x" * 600}, {"name": "\ud800"}]
    async with FakeOllama() as server, ollama_at(server.url) as backend:
        listed = [*odd, StoredModel("m").as_entry(), StoredModel("m").as_entry()]
        server.routes["GET /api/tags"] = lambda request: Reply(body={"models": listed})
        models = await backend.list_models()
        assert [model.served_name for model in models] == ["m"]
        assert isinstance(models, ModelList)
        assert "lists 7 without a usable name" in models.warnings[0]


@pytest.mark.parametrize("body", [{"models": None}, {"models": []}])
async def test_an_empty_store_is_an_empty_list(body: dict[str, Any]) -> None:
    async with FakeOllama() as server, ollama_at(server.url) as backend:
        server.routes["GET /api/tags"] = lambda request: Reply(body=body)
        assert await backend.list_models() == []


async def test_a_model_whose_details_fail_is_listed_with_the_reason() -> None:
    async with FakeOllama(["a", "b"]) as server, ollama_at(server.url) as backend:
        server.refuse("/api/show", 500, "manifest is broken")
        a, b = sorted(await backend.list_models(), key=lambda model: not model.warnings)
        assert "manifest is broken" in a.warnings[0]
        assert (a.family, a.context_length) == ("llama", None)
        assert (b.warnings, b.context_length) == ((), 131_072)


async def test_details_are_asked_for_a_few_at_a_time() -> None:
    under_way, most = 0, 0

    async def slow(request: Received) -> Reply:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await anyio.lowlevel.checkpoint()
        under_way -= 1
        return Reply(body=StoredModel(request.model).as_shown())

    async with FakeOllama([f"m{n}" for n in range(30)]) as server, ollama_at(server.url) as backend:
        server.routes["POST /api/show"] = slow
        assert len(await backend.list_models()) == 30
    assert 1 <= most <= SHOWN_AT_ONCE


async def test_a_server_that_dies_while_it_is_asked_for_details_is_unreachable() -> None:
    async with FakeOllama(["a", "b"]) as server, ollama_at(server.url) as backend:
        gate = server.hang("/api/show")

        async def kill() -> None:
            await gate.reached()
            await server.stop()

        async with anyio.create_task_group() as group:
            group.start_soon(kill)
            with pytest.raises(UnreachableError):
                await backend.list_models()


async def test_two_servers_with_one_store_offer_the_same_digests() -> None:
    store = OllamaStore(["m:8b"])
    async with FakeOllama(store) as x, FakeOllama(store) as y, AsyncExitStack() as stack:
        at_x, at_y = [await stack.enter_async_context(ollama_at(server.url)) for server in (x, y)]
        assert (await at_x.list_models())[0].digest == (await at_y.list_models())[0].digest
        await ask(at_y, model="m:8b")
        assert (x.count(CHAT), y.count(CHAT)) == (0, 1)
        store.add(StoredModel("m:8b", content="pushed again"))
        assert (await at_x.list_models())[0].digest == StoredModel("m:8b", content="pushed again").digest
