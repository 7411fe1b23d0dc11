from __future__ import annotations

import anyio
import pytest

from llmbench_mcp.backends.ollama import KEEP_S
from llmbench_mcp.domain.endpoint import Resident
from llmbench_mcp.domain.errors import (
    AuthError,
    DoesNotFit,
    EndpointError,
    IncompatibleError,
    ModelNotAvailable,
    RateLimitedError,
)
from llmbench_mcp.testing.clocks import ManualClock
from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_ollama_models import StoredModel
from llmbench_mcp.testing.replies import Reply
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedDevices, SimulatedGpu
from tests.backends.ollama_support import BIG, NEXT, gpu_of, names_in_memory, ollama_at, scene
from tests.backends.support import ask

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
