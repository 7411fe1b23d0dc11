from __future__ import annotations

import pytest

from llmbench_mcp.domain.endpoint import Resident
from llmbench_mcp.domain.errors import (
    DoesNotFit,
    EndpointError,
    IncompatibleError,
    ModelNotAvailable,
    ServerFault,
    StillHeld,
)
from llmbench_mcp.testing.clocks import ManualClock
from llmbench_mcp.testing.fake_lmstudio import EMBEDDINGS, LOAD, UNLOAD
from llmbench_mcp.testing.fake_lmstudio_models import StudioModel
from llmbench_mcp.testing.fake_server import CHAT, FakeServer
from llmbench_mcp.testing.replies import Reply
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedGpu
from tests.backends.lmstudio_support import studio
from tests.backends.support import ask


def gpu(total: int = 24) -> SimulatedGpu:
    return SimulatedGpu(total * GB, clock=ManualClock())


def body_of(server: FakeServer, path: str) -> object:
    return next(request.body for request in server.requests if request.path == path)


async def test_a_load_ends_when_the_model_is_in_memory() -> None:
    device = gpu()
    async with studio(StudioModel("big", 20 * GB, load_s=9.0), gpu=device) as (server, backend):
        await backend.load("big")
        assert server.loaded_ids == ["big"]
        assert device.used_bytes == 20 * GB
        assert await backend.residents() == [Resident("big", "big", context_length=4096)]


async def test_a_model_in_memory_is_not_loaded_a_second_time() -> None:
    for native in (True, False):
        async with studio("m", native=native) as (server, backend):
            await server.load_by_other("m")
            await backend.load("m")
            assert server.loaded_ids == ["m"]
            assert server.count(LOAD) == server.count(CHAT) == 0


async def test_an_instance_under_another_id_counts_as_loaded() -> None:
    async with studio("m") as (server, backend):
        await server.load_by_other("m")
        await server.load_by_other("m")
        server.evict("m")
        await backend.load("m")
        assert server.loaded_ids == ["m:2"]


async def test_the_context_asked_for_is_the_context_in_force() -> None:
    async with studio("m") as (server, backend):
        await backend.load("m", context_length=16_384)
        assert await backend.residents() == [Resident("m", "m", context_length=16_384)]
        await backend.load("m", context_length=16_384)
        with pytest.raises(ModelNotAvailable, match="context of 16384 tokens, not of 4096"):
            await backend.load("m", context_length=4096)
        assert server.loaded_ids == ["m"]


async def test_a_context_that_the_server_does_not_grant_is_told() -> None:
    async with studio("m", native=False) as (_, backend):
        with pytest.raises(ModelNotAvailable, match="context of 4096 tokens, not of 16384"):
            await backend.load("m", context_length=16_384)


async def test_without_a_context_asked_for_none_is_sent() -> None:
    async with studio("m") as (server, backend):
        await backend.load("m")
        assert body_of(server, LOAD) == {"model": "m"}


async def test_a_list_that_lags_behind_the_load_is_waited_for() -> None:
    clock = ManualClock()
    async with studio("m", clock=clock) as (server, backend):
        server.timings.list_s = 1.0
        await backend.load("m")
        assert server.loaded_ids == ["m"]
        assert sum(clock.sleeps) >= 1.0


async def test_a_load_that_is_answered_and_never_listed_is_a_fault() -> None:
    async with studio("m") as (server, backend):
        server.faults.never_listed = True
        with pytest.raises(ServerFault, match="does not list 'm' as loaded"):
            await backend.load("m")


async def test_a_model_loaded_by_two_at_once_ends_with_one_instance() -> None:
    async with studio("m") as (server, backend):
        order_load = server.order_load

        async def after_another(request: object) -> Reply:
            await server.load_by_other("m")
            return await order_load(server.requests[-1])

        server.routes[f"POST {LOAD}"] = after_another
        await backend.load("m")
        assert server.loaded_ids == ["m"]


async def test_a_load_for_which_memory_does_not_suffice_says_so() -> None:
    for native in (True, False):
        async with studio(StudioModel("big", 20 * GB), native=native, gpu=gpu(16)) as (server, backend):
            with pytest.raises(DoesNotFit, match="insufficient system resources"):
                await backend.load("big")
            assert server.loaded_ids == []


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("CUDA error: out of memory", DoesNotFit),
        ("unable to allocate CUDA0 buffer", DoesNotFit),
        ("Error loading model. (Exit code: 6)", ServerFault),
        ("unsupported context length 4096", ServerFault),
        ("Failed to parse the Jinja chat template", ServerFault),
    ],
)
async def test_a_failed_load_is_never_about_a_prompt(said: str, error: type[EndpointError]) -> None:
    async with studio("m") as (server, backend):
        server.faults.load_error = said
        with pytest.raises(error) as caught:
            await backend.load("m")
        assert type(caught.value) is error
        assert said in str(caught.value)


async def test_a_model_that_is_not_there_is_named_with_its_neighbours() -> None:
    async with studio("gemma-3-1b", "qwen3-4b") as (server, backend):
        with pytest.raises(ModelNotAvailable, match="It offers: qwen3-4b"):
            await backend.load("qwen3-4")
        server.refuse(LOAD, 404, "Model gone", "model_not_found")
        with pytest.raises(ModelNotAvailable, match="Model gone"):
            await backend.load("qwen3-4b")


async def test_a_variants_name_loads_that_variant() -> None:
    async with studio(StudioModel("qwen/q3", variants=("qwen/q3@q4_k_m", "qwen/q3@q8_0"))) as (server, backend):
        await backend.load("qwen/q3@q8_0")
        assert body_of(server, LOAD) == {"model": "qwen/q3@q8_0"}
        assert [resident.served_name for resident in await backend.residents() or ()] == ["qwen/q3"]


async def test_exactly_one_instance_is_unloaded() -> None:
    device = gpu()
    async with studio("m", "other", gpu=device) as (server, backend):
        for key in ("m", "m", "other"):
            await server.load_by_other(key)
        await backend.unload(Resident("m", "m:2"))
        assert server.loaded_ids == ["m", "other"]
        assert device.used_bytes == 2 * GB


async def test_without_an_instance_id_the_only_one_leaves_and_two_are_refused() -> None:
    async with studio("m") as (server, backend):
        await server.load_by_other("m")
        await backend.unload(Resident("m"))
        assert server.loaded_ids == []
        await backend.unload(Resident("m"))
        await server.load_by_other("m")
        await server.load_by_other("m")
        with pytest.raises(IncompatibleError, match="m, m:2"):
            await backend.unload(Resident("m"))
        assert server.loaded_ids == ["m", "m:2"]


async def test_unloading_what_has_left_already_is_no_error() -> None:
    async with studio("m") as (server, backend):
        await backend.unload(Resident("m", "m"))
        assert server.count(UNLOAD) == 1


async def test_an_unload_that_is_refused_while_the_instance_stays_is_an_error() -> None:
    async with studio("m") as (server, backend):
        await server.load_by_other("m")
        server.refuse(UNLOAD, 500, "cannot stop the engine")
        with pytest.raises(ServerFault, match="cannot stop the engine"):
            await backend.unload(Resident("m", "m"))


async def test_an_unload_may_lag_and_residents_tell_the_truth() -> None:
    clock = ManualClock()
    device = SimulatedGpu(clock=clock)
    async with studio("m", gpu=device) as (server, backend):
        await backend.load("m")
        server.timings.unload_s, server.timings.memory_back_s = 2.0, 1.0
        await backend.unload(Resident("m", "m"))
        assert await backend.residents() == [Resident("m", "m", context_length=4096)]
        clock.advance(2.0)
        assert await backend.residents() == []
        assert device.used_bytes == GB
        clock.advance(1.0)
        assert device.used_bytes == 0


async def test_an_unload_that_never_frees_stays_listed_or_holds_its_memory() -> None:
    clock = ManualClock()
    device = SimulatedGpu(clock=clock)
    async with studio("m", gpu=device) as (server, backend):
        await backend.load("m")
        server.faults.never_unloads = True
        await backend.unload(Resident("m", "m"))
        clock.advance(3600)
        assert await backend.residents() == [Resident("m", "m", context_length=4096)]
        server.heal()
        server.faults.keeps_memory = True
        await backend.unload(Resident("m", "m"))
        assert await backend.residents() == []
        assert device.used_bytes == GB
        server.heal()
        assert device.used_bytes == 0


async def test_before_the_native_api_a_request_loads_the_model_for_a_short_while() -> None:
    clock = ManualClock()
    async with studio("m", native=False, clock=clock) as (_, backend):
        await backend.load("m")
        assert await backend.residents() == [Resident("m", "m", context_length=4096)]
        clock.advance(301)
        assert await backend.residents() == []


async def test_before_the_native_api_an_embedding_model_is_loaded_by_an_embedding() -> None:
    async with studio(StudioModel("e", kind="embedding"), native=False) as (server, backend):
        await backend.load("e")
        assert server.loaded_ids == ["e"]
        assert server.count(EMBEDDINGS) == 1


async def test_before_the_native_api_another_model_that_answers_is_no_load() -> None:
    async with studio("a", "b", native=False) as (server, backend):
        await server.load_by_other("a")
        server.jit = False
        with pytest.raises(ServerFault, match="does not list 'b'"):
            await backend.load("b")


async def test_before_the_native_api_an_unload_is_refused_with_what_to_do() -> None:
    async with studio("m", native=False) as (server, backend):
        await server.load_by_other("m")
        with pytest.raises(StillHeld, match="lms unload"):
            await backend.unload(Resident("m", "m"))


async def test_loading_on_demand_evicts_only_what_was_loaded_on_demand() -> None:
    device = gpu()
    async with studio("by-hand", "first", "second", gpu=device) as (server, backend):
        await server.load_by_other("by-hand")
        await ask(backend, model="first")
        await ask(backend, model="second")
        assert server.loaded_ids == ["by-hand", "second"]
        server.memory.auto_evict = False
        await ask(backend, model="first")
        assert server.loaded_ids == ["by-hand", "second", "first"]


async def test_what_was_loaded_on_demand_leaves_after_an_hour_and_what_was_ordered_stays() -> None:
    clock = ManualClock()
    async with studio("ordered", "demanded", clock=clock) as (server, backend):
        await backend.load("ordered")
        await ask(backend, model="demanded")
        clock.advance(3599)
        assert server.loaded_ids == ["ordered", "demanded"]
        clock.advance(1)
        assert server.loaded_ids == ["ordered"]
