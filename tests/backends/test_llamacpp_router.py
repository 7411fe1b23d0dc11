"""llama-server's router mode: what it holds, loads, evicts and refuses."""

from __future__ import annotations

import anyio
import pytest

from llmbench_mcp.backends import llamacpp
from llmbench_mcp.backends.llamacpp import LlamaCppBackend
from llmbench_mcp.domain.endpoint import Resident
from llmbench_mcp.domain.errors import (
    EndpointTimeout,
    IncompatibleError,
    ModelNotAvailable,
    RateLimitedError,
    ServerFault,
    StillHeld,
)
from llmbench_mcp.testing.clocks import ManualClock
from llmbench_mcp.testing.fake_llama import FakeLlama, FakeRouter
from llmbench_mcp.testing.fake_server import Received
from llmbench_mcp.testing.replies import Reply, error_reply
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedGpu
from tests.backends.support import always, ask, llama_at


async def held(backend: LlamaCppBackend) -> list[str]:
    return [resident.served_name for resident in await backend.residents() or ()]


async def gone(backend: LlamaCppBackend, name: str) -> None:
    with anyio.fail_after(10):
        while name in await held(backend):
            await anyio.lowlevel.checkpoint()


async def test_the_router_says_how_many_it_holds() -> None:
    async with FakeRouter(["a", "b"], models_max=1) as server, llama_at(server.url) as backend:
        assert (await backend.inspect()).notes == (
            "Holds 1 at a time; loading one more makes it unload the model used least recently.",
        )
    async with FakeRouter(["a"], models_max=0) as server, llama_at(server.url) as backend:
        assert (await backend.inspect()).notes == ()


async def test_at_its_limit_the_model_used_least_recently_leaves_for_the_next() -> None:
    gpu = SimulatedGpu(10 * GB)
    async with FakeRouter(["a", "b", "c"], models_max=2, gpu=gpu) as server, llama_at(server.url) as backend:
        await backend.load("a")
        await backend.load("b")
        await ask(backend, model="a")
        await backend.load("c")
        assert await held(backend) == ["a", "c"]
        assert sorted(allocation.model for allocation in gpu.held) == ["a", "c"]
        assert server.loads == ["a", "b", "c"]


async def test_a_limit_of_one_never_holds_two() -> None:
    gpu = SimulatedGpu(10 * GB)
    async with FakeRouter(["a", "b"], models_max=1, gpu=gpu) as server, llama_at(server.url) as backend:
        for name in ("a", "b", "b", "a"):
            await backend.load(name)
            assert await held(backend) == [name]
        assert server.loads == ["a", "b", "a"]
    assert gpu.together(1) == []


async def test_a_router_full_of_busy_models_is_named_with_what_it_holds() -> None:
    async with FakeRouter(["a", "b"], models_max=1) as server, llama_at(server.url) as backend:
        await backend.load("a")
        server.busy.add("a")
        with pytest.raises(StillHeld, match="no place for 'b': it holds a"):
            await backend.load("b")


async def test_an_unloaded_model_is_gone_from_the_list_and_from_the_device() -> None:
    gpu = SimulatedGpu(10 * GB)
    async with FakeRouter(["a", "b"], gpu=gpu) as server, llama_at(server.url) as backend:
        await backend.load("a")
        await backend.load("b")
        await backend.unload(Resident("a"))
        await gone(backend, "a")
        assert await held(backend) == ["b"]
        assert [allocation.model for allocation in gpu.held] == ["b"]


async def test_unloading_what_is_not_loaded_is_no_error_and_what_is_not_offered_is() -> None:
    async with FakeRouter(["a"]) as server, llama_at(server.url) as backend:
        await backend.unload(Resident("a"))
        with pytest.raises(ModelNotAvailable):
            await backend.unload(Resident("z"))


async def test_a_failed_start_is_told_with_its_exit_code() -> None:
    async with FakeRouter(["a"], fails=["a"]) as server, llama_at(server.url) as backend:
        with pytest.raises(ServerFault, match=r"failed to load 'a' \(exit code 1\)"):
            await backend.load("a")
        assert (await backend.list_models())[0].warnings == ("Its last start failed (exit code 1).",)
        assert await held(backend) == []


async def test_a_model_that_failed_once_can_be_loaded_later() -> None:
    async with FakeRouter(["a"], fails=["a"]) as server, llama_at(server.url) as backend:
        with pytest.raises(ServerFault):
            await backend.load("a")
        server.fails.clear()
        await backend.load("a")
        assert await held(backend) == ["a"]
        assert (await backend.list_models())[0].warnings == ()


async def test_a_load_that_never_ends_is_given_up_and_shown_as_resident(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llamacpp, "LOAD_S", 8.0)
    clock = ManualClock()
    async with FakeRouter(["a"]) as server, llama_at(server.url, clock) as backend:
        server.hangs.add("a")
        start = clock.now
        with pytest.raises(EndpointTimeout, match="did not load 'a' within 8 s"):
            await backend.load("a")
        assert 8 <= clock.now - start <= 9
        assert await held(backend) == ["a"]


async def test_a_load_in_progress_is_waited_for_and_not_ordered_again() -> None:
    async with FakeRouter(["a"]) as server, llama_at(server.url) as backend:
        server.order_load(Received("POST", "/models/load", "", {}, {"model": "a"}))
        server.list_models(Received("GET", "/v1/models", "", {}, None))
        await backend.load("a")
        assert server.count("/models/load") == 0
        assert server.states["a"] == "loaded"


async def test_a_chat_loads_its_model_where_the_router_does_so_by_itself() -> None:
    async with FakeRouter(["a", "b"], models_max=1, autoload=True) as server, llama_at(server.url) as backend:
        assert (await ask(backend, model="a")).model == "a"
        assert (await ask(backend, model="b")).model == "b"
        assert await held(backend) == ["b"]
        assert server.loads == ["a", "b"]


async def test_a_chat_with_a_model_that_is_still_loading_is_to_be_tried_again() -> None:
    async with FakeRouter(["a"]) as server, llama_at(server.url) as backend:
        server.states["a"] = "loading"
        with pytest.raises(RateLimitedError, match="Loading model"):
            await ask(backend, model="a")


async def test_a_sleeping_model_holds_no_memory_and_is_woken_by_loading_it() -> None:
    async with FakeRouter(["a"]) as server, llama_at(server.url) as backend:
        server.states["a"] = "sleeping"
        assert await held(backend) == []
        await backend.load("a")
        assert await held(backend) == ["a"]
        assert server.count("/models/load") == 0


async def test_details_are_asked_of_loaded_models_only_and_load_nothing() -> None:
    async with FakeRouter(["org/a", "b"], autoload=True) as server, llama_at(server.url) as backend:
        server.states["org/a"] = "loaded"
        loaded, unloaded = await backend.list_models()
        assert (loaded.context_length, loaded.parameter_count, loaded.capabilities) == (
            4096,
            1_500_000_000,
            ("chat", "tools"),
        )
        assert (unloaded.context_length, unloaded.parameter_count, unloaded.capabilities) == (None, None, ("chat",))
        asked = [request.query for request in server.requests if request.path == "/props"]
        assert asked == ["model=org%2Fa&autoload=false"]
        assert server.loads == []


async def test_what_is_read_from_a_file_name_is_marked_as_guessed() -> None:
    async with FakeRouter(["qwen3-4b"]) as server, llama_at(server.url) as backend:
        [model] = await backend.list_models()
        assert (model.family, model.parameter_count, model.quantisation) == ("qwen", 4_000_000_000, "Q8_0")
        assert set(model.guessed) == {"family", "parameter_count", "quantisation"}
        server.states["qwen3-4b"] = "loaded"
        [model] = await backend.list_models()
        assert (model.parameter_count, model.quantisation) == (1_500_000_000, "Q4_K_M")
        assert model.guessed == ("family",)


async def test_a_model_that_leaves_while_it_is_described_is_described_without_its_properties() -> None:
    async with FakeRouter(["a"]) as server, llama_at(server.url) as backend:
        server.states["a"] = "loaded"
        for reply in (error_reply(400, "model is not loaded"), error_reply(503, "Loading model"), Reply(404)):
            server.routes["GET /props"] = always(reply)
            assert (await backend.list_models())[0].capabilities == ("chat",)


async def test_a_cancelled_load_stops_waiting_at_once() -> None:
    async with FakeRouter(["a"]) as server, llama_at(server.url) as backend:
        server.hangs.add("a")
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(backend.load, "a")
                await server.arrived("/models/load")
                group.cancel_scope.cancel()
        assert await held(backend) in ([], ["a"])


async def test_single_mode_has_no_orders() -> None:
    async with FakeLlama() as server, llama_at(server.url) as backend:
        await backend.load("tiny")
        with pytest.raises(IncompatibleError):
            await backend.unload(Resident("tiny"))
        assert server.count("/models/load") == server.count("/models/unload") == 0
