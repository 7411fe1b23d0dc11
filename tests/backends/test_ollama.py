from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import pytest

from llmbench_mcp.backends.ollama import KEEP_S, SHOWN_AT_ONCE, OllamaBackend
from llmbench_mcp.backends.registry import EntryPointBackends
from llmbench_mcp.domain.chat import ChatRequest, Reasoning, Sampling
from llmbench_mcp.domain.endpoint import ModelList, OfferedModel, Resident
from llmbench_mcp.domain.errors import (
    AuthError,
    DoesNotFit,
    EndpointError,
    EndpointTimeout,
    IncompatibleError,
    ModelNotAvailable,
    PromptTooLong,
    ProtocolError,
    RateLimitedError,
    UnreachableError,
)
from llmbench_mcp.testing.clocks import ManualClock
from llmbench_mcp.testing.fake_llama import FakeLlama
from llmbench_mcp.testing.fake_ollama import CHAT, VERSION, FakeOllama
from llmbench_mcp.testing.fake_ollama_models import OllamaStore, StoredModel
from llmbench_mcp.testing.fake_ollama_wire import refusal
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import Gate, Reply
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedDevices, SimulatedGpu
from tests.backends.ollama_support import ollama_at
from tests.backends.support import ask

BIG, NEXT = StoredModel("big:30b", 20 * GB), StoredModel("next:14b", 9 * GB)


@asynccontextmanager
async def scene(*models: StoredModel | str, **timings: float) -> AsyncIterator[tuple[FakeOllama, OllamaBackend]]:
    """A server and a backend on one clock that a test moves; ``timings`` are the simulator's."""
    clock = ManualClock()
    gpu = SimulatedGpu(24 * GB, clock=clock)
    async with FakeOllama(models or ("m",), gpu=gpu) as server, ollama_at(server.url, clock) as backend:
        for name, seconds in timings.items():
            setattr(server.timings, name, seconds)
        yield server, backend


def gpu_of(server: FakeOllama) -> SimulatedGpu:
    assert server.scheduler.gpu is not None
    return server.scheduler.gpu


async def names_in_memory(backend: OllamaBackend) -> list[str]:
    return [resident.served_name for resident in await backend.residents() or []]


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


# What is in memory


async def test_a_loaded_model_stays_and_is_listed_with_its_memory() -> None:
    async with scene(BIG, load_s=40.0) as (server, backend):
        await backend.load("big:30b")
        assert await backend.residents() == [
            Resident(
                "big:30b",
                instance_id="big:30b",
                memory_bytes=20 * GB,
                device_bytes=20 * GB,
                digest=BIG.digest,
                context_length=4096,
                expires_at="2026-02-01T12:00:00.000Z",
            )
        ]
        await gpu_of(server).clock.sleep(KEEP_S - 1)
        assert await names_in_memory(backend) == ["big:30b"]


async def test_a_model_that_fits_only_in_part_says_so() -> None:
    async with scene(BIG, NEXT) as (server, backend):
        gpu_of(server).allocate("somebody", "else", 8 * GB)
        await backend.load("big:30b")
        resident = (await backend.residents() or [])[0]
        assert (resident.memory_bytes, resident.device_bytes) == (20 * GB, 16 * GB)


async def test_figures_that_are_missing_or_odd_are_unknown() -> None:
    entries = [{"name": "big:30b", "size_vram": 20e9}, {"model": "b", "size": -1, "expires_at": "soon", "digest": 7}]
    async with FakeOllama() as server, ollama_at(server.url) as backend:
        server.routes["GET /api/ps"] = lambda request: Reply(body={"models": entries})
        known, unknown = await backend.residents() or []
        assert (known.memory_bytes, known.device_bytes) == (20 * GB, 20 * GB)
        assert unknown == Resident("b", instance_id="b")


async def test_a_version_that_does_not_tell_what_is_loaded_gives_none() -> None:
    async with FakeOllama() as server, ollama_at(server.url) as backend:
        del server.routes["GET /api/ps"]
        assert await backend.residents() is None
        await backend.load("m")
        assert (await ask(backend)).complete


async def test_the_context_asked_for_is_loaded_and_kept_by_every_chat() -> None:
    async with scene(StoredModel("m", context_bytes=100_000)) as (server, backend):
        await backend.load("m", context_length=16_384)
        for _ in range(3):
            await ask(backend)
        assert [resident.context_length for resident in await backend.residents() or []] == [16_384]
        assert [name for _, name in server.scheduler.loads] == ["m"]
        assert server.requests[-2].body["keep_alive"] == KEEP_S


async def test_a_model_somebody_else_loaded_is_asked_with_its_own_context_and_not_kept_longer() -> None:
    async with scene() as (server, backend):
        server.default_context = 32_768
        await server.load_by_other("m", keep_alive=600)
        server.default_context = 4096
        await ask(backend)
        chat = server.requests[-1].body
        assert chat["options"]["num_ctx"] == 32_768
        assert "keep_alive" not in chat
        assert len(server.scheduler.loads) == 1


async def test_loading_what_somebody_else_loaded_keeps_its_context() -> None:
    async with scene() as (server, backend):
        server.default_context = 32_768
        await server.load_by_other("m")
        server.default_context = 4096
        await backend.load("m")
        assert [resident.context_length for resident in await backend.residents() or []] == [32_768]
        assert len(server.scheduler.loads) == 1


async def test_an_embedding_model_is_loaded_through_the_call_it_has() -> None:
    async with scene(StoredModel("embedder", capabilities=("embedding",))) as (_, backend):
        await backend.load("embedder")
        assert await names_in_memory(backend) == ["embedder"]
        assert await backend.embed("embedder", ["a", "bcd"], total_s=10) == [[1.0, 1.0], [3.0, 1.0]]
        await backend.unload((await backend.residents() or [])[0])
        assert await names_in_memory(backend) == []
        with pytest.raises(IncompatibleError, match="does not support chat"):
            await ask(backend, model="embedder")


async def test_a_remote_model_is_asked_and_never_loaded() -> None:
    remote = StoredModel("d:cloud", shown={"remote_host": "https://far.example", "capabilities": ["completion"]})
    async with scene(remote) as (server, backend):
        await backend.load("d:cloud")
        assert server.count("/api/generate") == 0
        assert await names_in_memory(backend) == []


async def test_a_model_that_was_never_pulled_is_not_available() -> None:
    async with scene() as (_, backend):
        with pytest.raises(ModelNotAvailable, match="'nope' not found"):
            await backend.load("nope")
        with pytest.raises(ModelNotAvailable, match="'nope' not found"):
            await ask(backend, model="nope")


@pytest.mark.parametrize(
    "said",
    ["llama runner process has terminated: cudaMalloc failed: out of memory", "model requires more system memory"],
)
async def test_a_load_without_room_says_that_it_does_not_fit(said: str) -> None:
    async with scene() as (server, backend):
        server.faults.load_error = said
        with pytest.raises(DoesNotFit, match=said[:20]):
            await backend.load("m")
        assert await names_in_memory(backend) == []


@pytest.mark.parametrize(
    ("status", "error"), [(401, AuthError), (503, RateLimitedError), (500, EndpointError), (404, EndpointError)]
)
async def test_a_refused_load_is_told_by_status(status: int, error: type[EndpointError]) -> None:
    async with scene() as (server, backend):
        server.refuse("/api/generate", status, "not now")
        with pytest.raises(error, match="not now"):
            await backend.load("m")


async def test_a_load_given_up_leaves_nothing_behind() -> None:
    async with scene(BIG) as (server, backend):
        gate = server.hang("/api/generate")
        async with anyio.create_task_group() as group:
            group.start_soon(backend.load, "big:30b")
            await gate.reached()
            group.cancel_scope.cancel()
        assert await names_in_memory(backend) == []
        assert gpu_of(server).used_bytes == 0


# Unloading


async def test_an_unload_is_answered_before_the_model_has_left() -> None:
    async with scene(BIG, unload_s=1.0, memory_back_s=0.5) as (server, backend):
        clock = gpu_of(server).clock
        await backend.load("big:30b")
        await backend.unload((await backend.residents() or [])[0])
        assert await names_in_memory(backend) == ["big:30b"]
        await clock.sleep(1.0)
        assert await names_in_memory(backend) == []
        assert gpu_of(server).used_bytes == 20 * GB
        await clock.sleep(0.5)
        assert gpu_of(server).used_bytes == 0


async def test_only_the_model_named_is_unloaded() -> None:
    async with scene("a", "b") as (_, backend):
        await backend.load("a")
        await backend.load("b")
        await backend.unload(Resident("a"))
        assert await names_in_memory(backend) == ["b"]


async def test_an_unload_that_never_frees_shows_in_the_list() -> None:
    async with scene(BIG) as (server, backend):
        await backend.load("big:30b")
        server.faults.never_unloads = True
        await backend.unload(Resident("big:30b"))
        await gpu_of(server).clock.sleep(60)
        assert [(held.served_name, held.memory_bytes) for held in await backend.residents() or []] == [
            ("big:30b", 20 * GB)
        ]
        server.heal()
        await backend.unload(Resident("big:30b"))
        assert await names_in_memory(backend) == []


async def test_memory_held_by_nobody_shows_on_the_device_only() -> None:
    async with scene(BIG) as (server, backend):
        devices = SimulatedDevices([gpu_of(server)])
        await backend.load("big:30b")
        server.faults.keeps_memory = True
        await backend.unload(Resident("big:30b"))
        assert await names_in_memory(backend) == []
        assert (await devices.read())[0].memory_used_bytes == 20 * GB
        server.heal()
        assert (await devices.read())[0].memory_used_bytes == 0


async def test_a_device_that_says_nothing_is_unknown_and_one_that_hangs_is_given_up() -> None:
    gpu = SimulatedGpu(clock=ManualClock())
    devices = SimulatedDevices([gpu], limit_s=2.0)
    gpu.unreadable = True
    blind = (await devices.read())[0]
    assert (blind.memory_used_bytes, blind.memory_total_bytes, len(blind.unknown)) == (None, None, 1)
    gpu.hanging, before = True, gpu.clock.monotonic()
    silent = (await devices.read())[0]
    assert silent.memory_used_bytes is None
    assert gpu.clock.monotonic() - before == 2.0


# Asking


async def test_a_prompt_beyond_the_context_is_refused_and_not_cut() -> None:
    async with scene() as (_, backend):
        await backend.load("m", context_length=8)
        with pytest.raises(PromptTooLong):
            await ask(backend, "word " * 50)


async def test_the_token_budget_cuts_the_answer() -> None:
    async with scene() as (_, backend):
        done = await backend.chat(ChatRequest("m", "p", sampling=Sampling(max_tokens=2)), total_s=20, stall_s=10)
        assert (done.text, done.finish_reason) == ("You said: ", "length")


@pytest.mark.parametrize(("word", "sent"), [("off", False), ("on", True), ("low", "low")])
async def test_reasoning_is_switched_in_its_own_words(word: Reasoning, sent: object) -> None:
    async with scene(StoredModel("m", capabilities=("completion", "thinking"))) as (server, backend):
        await ask(backend)
        assert "think" not in server.requests[-1].body
        sampling = Sampling(reasoning=word, context_length=8192)
        done = await backend.chat(ChatRequest("m", "p", sampling=sampling), total_s=20, stall_s=10)
        assert server.requests[-1].body["think"] == sent
        assert server.requests[-1].body["options"]["num_ctx"] == 8192
        assert bool(done.reasoning) == bool(sent)


async def test_tools_are_sent_and_a_model_without_them_is_incompatible() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    request = ChatRequest("m", "p", tools=(tool,))
    async with scene() as (server, backend):
        with pytest.raises(IncompatibleError, match="does not support tools"):
            await backend.chat(request, total_s=20, stall_s=10)
        server.store.add(StoredModel("m", capabilities=("completion", "tools")))
        await backend.chat(request, total_s=20, stall_s=10)
        assert server.requests[-1].body["tools"] == [tool]


async def test_a_picture_goes_with_the_prompt() -> None:
    async with scene() as (server, backend):
        await backend.chat_about(ChatRequest("m", "What is it?"), b"\x89PNG", total_s=20, stall_s=10)
        assert server.requests[-1].body["messages"] == [
            {"role": "user", "content": "What is it?", "images": ["iVBORw=="]}
        ]


async def test_a_load_inside_a_chat_is_no_warm_time() -> None:
    async with scene(BIG, load_s=6.0) as (_, backend):
        cold = (await ask(backend, model="big:30b")).timing
        assert (cold.server["load_s"], cold.ttft_s) == (6.0, None)
        assert "load_s" not in (await ask(backend, model="big:30b")).timing.server


async def test_a_restart_is_survived() -> None:
    async with scene() as (server, backend):
        await backend.load("m")
        await server.restart()
        assert await names_in_memory(backend) == []
        assert (await ask(backend)).complete
        assert await names_in_memory(backend) == ["m"]


@pytest.mark.parametrize("answer", [{}, {"embeddings": []}, {"embeddings": [["x"]]}, {"embeddings": [[]]}])
async def test_vectors_that_are_none_are_refused(answer: dict[str, Any]) -> None:
    async with FakeOllama() as server, ollama_at(server.url) as backend:
        server.routes["POST /api/embed"] = lambda request: Reply(body=answer)
        with pytest.raises(ProtocolError, match="without usable vectors"):
            await backend.embed("m", ["a"], total_s=10)


async def test_a_chat_that_hangs_before_it_begins_is_a_timeout() -> None:
    async with FakeOllama(script=lambda request: Reply(before=Gate())) as server, ollama_at(server.url) as backend:
        with pytest.raises(EndpointTimeout):
            await backend.chat(ChatRequest("m", "p"), total_s=0.05, stall_s=10)
