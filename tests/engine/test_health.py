"""Probing a model: which questions it gets, and what its answers make of its status and capabilities."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.errors import ConflictError, DeviceBusy
from llmbench_mcp.domain.model import Model
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_ollama_models import StoredModel
from llmbench_mcp.testing.fake_server import CHAT, FakeServer, Received, Script
from llmbench_mcp.testing.replies import Gate, Reply, chunk, error_reply, streamed, text_reply
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedDevices, SimulatedGpu
from tests.support.rooms import opened_real

EMBEDDINGS, RERANK = "/v1/embeddings", "/v1/rerank"
Answer = Callable[[Received], Any]


@asynccontextmanager
async def probing(folder: Path, *names: str, script: Script | None = None) -> AsyncIterator[tuple[App, FakeServer]]:
    """An application that knows one server with these models."""
    async with FakeServer(names, script) as fake, opened_real(folder, probe_timeout_s=20.0) as app:
        await app.endpoints.add(NewEndpoint(fake.url, "box"))
        await app.models.discover()
        yield app, fake


def sources(model: Model) -> dict[str, tuple[bool, str]]:
    return {fact.name: (fact.present, fact.source) for fact in model.known_capabilities}


def calls(name: str = "get_weather") -> Reply:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": '{"city": "Oslo"}'}}
    return streamed([chunk(tool_calls=[call]), chunk(finish="tool_calls"), b"data: [DONE]\n\n"])


def failing(times: int, reply: Reply) -> Script:
    """Refuses the first chats, then answers as usual."""
    left = [reply] * times
    return lambda request: left.pop() if left else None


async def test_a_model_that_answers_is_well_and_known_to_chat(tmp_path: Path) -> None:
    async with probing(tmp_path, "plain") as (app, fake):
        report = await app.health.probe("plain")
        assert report.is_well
        assert [(check.name, check.outcome) for check in report.checks] == [
            ("chat", "ok"),
            ("stability", "ok"),
            ("tools", "ok"),
        ]
        assert (report.before, report.model.status) == ("new", "new")
        assert sources(report.model) == {"chat": (True, "probe")}
        assert report.model.homes[0].tools == "none"
        assert fake.count(CHAT) == 1 + 1 + 3 + 2  # warm-up, check, repeats, tools twice


@pytest.mark.parametrize(
    ("answer", "tools", "known"),
    [
        (calls(), "native", {"chat": (True, "probe"), "tools": (True, "probe")}),
        (text_reply('<tool_call>{"name": "get_weather"}</tool_call>'), "text", {"chat": (True, "probe")}),
        (text_reply("It is sunny."), "none", {"chat": (True, "probe")}),
        (calls("another_tool"), "none", {"chat": (True, "probe")}),
        (
            error_reply(400, "registry/m does not support tools"),
            "none",
            {"chat": (True, "probe"), "tools": (False, "probe")},
        ),
        (error_reply(500, "boom"), "unknown", {"chat": (True, "probe")}),
    ],
)
async def test_the_tools_check_says_how_calls_come_back(
    tmp_path: Path, answer: Reply, tools: str, known: dict[str, tuple[bool, str]]
) -> None:
    async with probing(tmp_path, "m", script=lambda request: answer if request.body.get("tools") else None) as (app, _):
        report = await app.health.probe("m")
        assert report.is_well
        assert (report.model.homes[0].tools, report.model.status) == (tools, "new")
        assert sources(report.model) == known


async def test_a_model_that_answers_only_when_asked_again_is_unstable_until_it_does_not(tmp_path: Path) -> None:
    async with probing(tmp_path, "m", script=failing(1, error_reply(500, "boom"))) as (app, _):
        report = await app.health.probe("m")
        assert report.model.status == "unstable"
        assert "asked again 1 times" in (report.model.status_reason or "")
        assert (await app.health.probe("m")).model.status == "new"
        history = [event.value for event in await app.models.history(report.model) if event.kind == "status"]
    assert history == ["new", "unstable", "new"]


async def test_a_model_of_which_some_repeats_fail_is_unstable(tmp_path: Path) -> None:
    chats = 0

    def dies_once(request: Received) -> Reply | None:
        nonlocal chats
        chats += 1
        return error_reply(500, "boom") if 4 <= chats <= 6 else None

    async with probing(tmp_path, "m", script=dies_once) as (app, _):
        report = await app.health.probe("m")
        assert not report.is_well
        assert report.model.status == "unstable"
        assert "2 of 3 answered" in (report.model.status_reason or "")


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (error_reply(404, "model 'm' not found"), "not_available"),
        (error_reply(400, "m does not support chat"), "incompatible"),
        (error_reply(500, "the model lacks a chat template"), "incompatible"),
        (error_reply(500, "boom"), "failed"),
        (Reply(200, {"error": {"message": "bad things", "code": 500}}), "failed"),
        (text_reply(""), "failed"),
        (Reply(200, "<h1>login</h1>"), "unsupported"),
        (error_reply(429, "busy", retry_after="7200"), "active"),
        (error_reply(401, "who are you"), "active"),
    ],
)
async def test_each_kind_of_failure_has_its_status(tmp_path: Path, reply: Reply, status: str) -> None:
    async with probing(tmp_path, "m", script=lambda request: reply) as (app, _):
        await app.models.assign("m", "box")
        report = await app.health.probe("m")
        assert not report.is_well
        assert report.model.status == status
        state = (await app.endpoints.get("box")).state
        assert state == ("no_access" if reply.status == 401 else "reachable")


async def test_a_server_that_is_gone_is_no_fault_of_the_model(tmp_path: Path) -> None:
    async with probing(tmp_path, "m") as (app, fake):
        await fake.stop()
        report = await app.health.probe("m")
        assert (report.model.status, report.is_well) == ("new", False)
        assert (await app.endpoints.get("box")).state == "unreachable"


async def test_a_hung_model_is_given_up_in_time_and_asked_once(tmp_path: Path) -> None:
    async with probing(tmp_path, "m", script=lambda request: Reply(before=Gate())) as (app, fake):
        async with opened_real(tmp_path, probe_timeout_s=0.3, load_timeout_s=0.3) as hurried:
            with anyio.fail_after(30):
                report = await hurried.health.probe("m")
        assert report.model.status == "failed"
        assert fake.count(CHAT) == 1
        assert (await app.models.resolve("m")).status == "failed"


def vectors(request: Received) -> Reply:
    data = [{"index": n, "embedding": [0.1 * n, 1.0]} for n, _ in enumerate(request.body["input"])]
    return Reply(body={"object": "list", "data": data})


async def test_embeddings_are_asked_of_a_model_named_so(tmp_path: Path) -> None:
    async with probing(tmp_path, "nomic-embed-text") as (app, fake):
        fake.routes[f"POST {EMBEDDINGS}"] = vectors
        report = await app.health.probe("nomic-embed-text")
        assert [(check.name, check.outcome) for check in report.checks] == [("embedding", "ok"), ("stability", "ok")]
        assert sources(report.model) == {"embedding": (True, "probe")}
        assert (fake.count(EMBEDDINGS), fake.count(CHAT)) == (4, 0)


async def test_an_input_type_is_given_only_when_the_refusal_names_it(tmp_path: Path) -> None:
    def wants_type(request: Received) -> Reply:
        if "input_type" in request.body:
            return vectors(request)
        return error_reply(
            400, "'input_type' parameter is required for asymmetric models", kind="invalid_request_error"
        )

    async with probing(tmp_path, "e5-large-v2") as (app, fake):
        fake.routes[f"POST {EMBEDDINGS}"] = wants_type
        report = await app.health.probe("e5-large-v2")
        assert (report.is_well, report.model.status) == (True, "new")
        sent = [request.body.get("input_type") for request in fake.requests if request.path == EMBEDDINGS]
    assert sent == [None, "query"] * 4


async def test_other_refusals_of_embeddings_are_not_answered_with_an_input_type(tmp_path: Path) -> None:
    async with probing(tmp_path, "bge-m3") as (app, fake):
        fake.routes[f"POST {EMBEDDINGS}"] = lambda request: error_reply(422, "dimensions must be 8")
        report = await app.health.probe("bge-m3")
        assert report.model.status == "failed"
        assert not [request for request in fake.requests if "input_type" in (request.body or {})]


@pytest.mark.parametrize(
    "body",
    [
        {"data": [{"index": 0, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": []}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": [1], "embedding": ["x"]}]},
        {"data": [{"index": n, "embedding": [0.5, 0.5]} for n in range(2)]},
        {"data": "none"},
    ],
)
async def test_vectors_that_are_none_are_no_embeddings(tmp_path: Path, body: dict[str, Any]) -> None:
    async with probing(tmp_path, "bge-m3") as (app, fake):
        fake.routes[f"POST {EMBEDDINGS}"] = lambda request: Reply(body=body)
        report = await app.health.probe("bge-m3")
        assert report.model.status in ("unsupported", "failed")


async def test_a_model_that_refuses_to_chat_is_tried_as_an_embedding_model(tmp_path: Path) -> None:
    script: Script = lambda request: error_reply(400, '"odd" does not support chat')  # noqa: E731 - typed
    async with probing(tmp_path, "odd", script=script) as (app, fake):
        fake.routes[f"POST {EMBEDDINGS}"] = vectors
        report = await app.health.probe("odd")
        assert (report.is_well, report.model.status) == (True, "new")
        assert sources(report.model) == {"chat": (False, "probe"), "embedding": (True, "probe")}
        fake.script = None
        again = await app.health.probe("odd")
        assert [check.name for check in again.checks] == ["embedding", "stability"]
        assert again.is_well


async def test_a_reranker_ranks(tmp_path: Path) -> None:
    def ranks(request: Received) -> Reply:
        scores = [0.9 if "bread" in text.lower() else 0.1 for text in request.body["documents"]]
        results = [{"index": n, "relevance_score": score} for n, score in enumerate(scores)]
        return Reply(body={"results": results[::-1]})

    async with probing(tmp_path, "bge-reranker-v2") as (app, fake):
        fake.routes[f"POST {RERANK}"] = ranks
        report = await app.health.probe("bge-reranker-v2")
        assert (report.is_well, report.checks[0].message) == (True, "")
        assert sources(report.model) == {"rerank": (True, "probe")}


def sees(request: Received) -> str | None:
    """Names the colour of the picture in the request, by reading its pixels."""
    content = request.body["messages"][-1]["content"]
    if isinstance(content, str):
        return None
    png = base64.b64decode(content[1]["image_url"]["url"].removeprefix("data:image/png;base64,"))
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    (size,) = struct.unpack(">I", png[33:37])
    assert zlib.crc32(png[37 : 41 + size]) == struct.unpack(">I", png[41 + size : 45 + size])[0]
    red, _, blue = zlib.decompress(png[41 : 41 + size])[1:4]
    return "It is red." if red > blue else "Blue!"


async def test_a_model_said_to_see_is_shown_pictures(tmp_path: Path) -> None:
    async with probing(tmp_path, "qwen2.5-vl", "plain", script=sees) as (app, fake):
        report = await app.health.probe("qwen2.5-vl")
        assert ("vision", "ok") in [(check.name, check.outcome) for check in report.checks]
        assert sources(report.model)["vision"] == (True, "probe")
        fake.requests.clear()
        await app.health.probe("plain")
        assert not [r for r in fake.requests if r.body and not isinstance(r.body["messages"][-1]["content"], str)]


@pytest.mark.parametrize(
    ("answer", "outcome", "known"),
    [
        (text_reply("I see red."), "unknown", (True, "name")),
        (error_reply(500, "boom"), "failed", (True, "name")),
        (error_reply(500, "image input is not supported - hint: provide the mmproj"), "cannot", (False, "probe")),
        (error_reply(400, "this model does not support images"), "cannot", (False, "probe")),
    ],
)
async def test_a_model_that_does_not_see_is_found_out(
    tmp_path: Path, answer: Reply, outcome: str, known: tuple[bool, str]
) -> None:
    def blind(request: Received) -> Reply | None:
        return None if isinstance(request.body["messages"][-1]["content"], str) else answer

    async with probing(tmp_path, "llava", script=blind) as (app, _):
        report = await app.health.probe("llava")
        assert report.checks[-1].outcome == outcome
        assert (sources(report.model)["vision"], report.model.status) == (known, "new")


async def test_a_probe_loads_a_model_and_gives_the_memory_back(tmp_path: Path) -> None:
    async with FakeOllama([StoredModel("a"), StoredModel("b")]) as fake, opened_real(tmp_path) as app:
        await app.endpoints.add(NewEndpoint(fake.url, "box"))
        await app.models.discover()
        await fake.load_by_other("b")
        report = await app.health.probe("a")
        assert report.is_well
        assert fake.loaded_names == ["b"]
        assert sources(report.model) == {"chat": (True, "server"), "tools": (False, "probe")}
        assert (await app.health.probe("b")).is_well
        assert fake.loaded_names == ["b"]


async def test_a_model_for_embeddings_gets_the_device_to_itself_and_gives_it_back(tmp_path: Path) -> None:
    gpu = SimulatedGpu(24 * GB)
    embedder = StoredModel("embedder:8b", 14 * GB, capabilities=("embedding",))
    async with (
        FakeOllama([StoredModel("big:30b", 20 * GB), embedder], gpu=gpu) as box,
        opened_real(tmp_path, SimulatedDevices([gpu]), gpu.clock, probe_timeout_s=20.0, release_wait_s=5.0) as app,
    ):
        await app.endpoints.add(NewEndpoint(box.url, "box", device=gpu.id))
        await app.models.discover()
        await app.residencies.load("big:30b", "box")
        report = await app.health.probe("embedder:8b")
        assert [(check.name, check.outcome) for check in report.checks[:1]] == [("embedding", "ok")]
        assert gpu.together(GB) == []
        assert box.loaded_names == []


async def test_a_device_at_work_is_left_alone(tmp_path: Path) -> None:
    reached = Gate()
    async with (
        probing(tmp_path, "m", script=lambda request: Reply(before=reached)) as (app, _),
        opened_real(tmp_path) as other,
        anyio.create_task_group() as group,
    ):
        group.start_soon(app.health.probe, "m")
        await reached.reached()
        with pytest.raises(DeviceBusy, match="in use"):
            await other.health.probe("m")
        group.cancel_scope.cancel()


async def test_a_model_with_several_homes_is_probed_where_it_is_told_to_be(tmp_path: Path) -> None:
    store = StoredModel("m:8b")
    async with FakeOllama([store]) as x, FakeOllama([store]) as y, opened_real(tmp_path) as app:
        await app.endpoints.add(NewEndpoint(x.url, "x"))
        await app.endpoints.add(NewEndpoint(y.url, "y"))
        await app.models.discover()
        with pytest.raises(ConflictError, match="x, y"):
            await app.health.probe("m:8b")
        report = await app.health.probe("m:8b", "y")
        assert report.endpoint.name == "y"
        assert not x.prompts
        assert {home.endpoint_name: home.tools for home in report.model.homes} == {"x": "unknown", "y": "none"}
