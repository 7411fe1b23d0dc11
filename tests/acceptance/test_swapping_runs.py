"""Whole runs on simulated llama.cpp routers, llama-swaps and vLLMs that share one simulated GPU."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from llmbench_mcp.app import App, Doors, open_app
from llmbench_mcp.backends.registry import EntryPointBackends
from llmbench_mcp.domain.endpoint import EvictPolicy
from llmbench_mcp.domain.run import Run, RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.services.models import ModelFilter
from llmbench_mcp.testing.clocks import FastClock
from llmbench_mcp.testing.fake_llama import FakeRouter
from llmbench_mcp.testing.fake_llamaswap import FakeLlamaSwap, SwapModel
from llmbench_mcp.testing.fake_server import FakeServer
from llmbench_mcp.testing.fake_vllm import FakeVllm
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedDevices, SimulatedGpu
from tests.support.rooms import refuse_credentials, settings_in, write_suite
from tests.support.work import finished, working

BIG = 14 * GB


class Room:
    """One GPU of 24 GB on a fast clock."""

    def __init__(self) -> None:
        self.clock = FastClock(10.0)  # slow enough that a lease outlives a busy machine
        self.gpu = SimulatedGpu(24 * GB, clock=self.clock)

    def router(self, models_max: int = 4) -> FakeRouter:
        router = FakeRouter(["a", "b"], models_max=models_max, autoload=True, gpu=self.gpu)
        router.sizes = {"a": BIG, "b": BIG}
        return router

    def swap(self) -> FakeLlamaSwap:
        """Both models in one group, so that the proxy itself would let them run together."""
        models = [SwapModel("a", BIG, start_s=2.0), SwapModel("b", BIG, start_s=2.0)]
        swap = FakeLlamaSwap(models, groups=[{"a", "b"}], gpu=self.gpu)
        swap.stop_s = 1.0
        return swap

    def vllm(self, name: str = "v", *, sleep_mode: bool = True) -> FakeVllm:
        server = FakeVllm([name], sleep_mode=sleep_mode, gpu=self.gpu, memory_bytes=BIG)
        server.lag = 2
        return server

    @asynccontextmanager
    async def opened(self, folder: Path, *servers: FakeServer, evict: EvictPolicy = "own") -> AsyncIterator[App]:
        """The application, knowing the servers, every model assigned to its own."""
        write_suite(folder, 2)
        backends = EntryPointBackends(clock=self.clock)
        doors = Doors(self.clock, backends, SimulatedDevices([self.gpu]), refuse_credentials, spawns_executors=False)
        async with AsyncExitStack() as stack:
            for server in servers:
                await stack.enter_async_context(server)
            app = await stack.enter_async_context(open_app(settings_in(folder, release_wait_s=30.0), doors))
            await stack.enter_async_context(working(app))
            for number, server in enumerate(servers):
                new = NewEndpoint(server.url, f"box{number}", device=self.gpu.id, evict=evict)
                await app.endpoints.add(new)
            await app.models.discover()
            for number in range(len(servers)):
                models, _ = await app.models.page(ModelFilter(endpoint=f"box{number}"))
                for model in models:
                    await app.models.assign(model.id, f"box{number}")
            yield app


async def ran(app: App, models: Sequence[str]) -> Run:
    started = await app.runs.start(RunRequest(tuple(models), ("sums",)))
    return await finished(app, started.run.id)


@pytest.mark.parametrize("models_max", [1, 4])
async def test_two_models_of_a_router_take_turns_with_one_load_each(tmp_path: Path, models_max: int) -> None:
    room = Room()
    router = room.router(models_max)
    async with room.opened(tmp_path, router) as app:
        run = await ran(app, ["a", "b"])
        assert (run.state, run.done, run.errors) == ("completed", 4, 0)
        assert sorted(router.loads) == ["a", "b"]
        assert [job.residency for job in run.jobs] == ["verified", "verified"]
        assert router.running == []
    assert room.gpu.together(10 * GB) == []


async def test_two_models_of_a_llama_swap_take_turns_with_one_start_each(tmp_path: Path) -> None:
    room = Room()
    swap = room.swap()
    async with room.opened(tmp_path, swap) as app:
        run = await ran(app, ["a", "b"])
        assert (run.state, run.done, run.errors) == ("completed", 4, 0)
        assert sorted(swap.starts) == ["a", "b"]
        assert [job.residency for job in run.jobs] == ["verified", "verified"]
        assert swap.states == {}
    assert room.gpu.together(10 * GB) == []


async def test_a_vllm_that_somebody_else_keeps_awake_is_not_put_to_sleep_for_a_run(tmp_path: Path) -> None:
    room = Room()
    vllm, swap = room.vllm(), room.swap()
    async with room.opened(tmp_path, vllm, swap) as app:
        run = await ran(app, ["a"])
        assert "shares the device with 'v'" in (run.jobs[0].residency or "")
        assert (vllm.sleeps, vllm.sleeping) == (0, False)
        assert (await ran(app, ["v"])).state == "completed"
        assert (vllm.sleeps, vllm.sleeping) == (0, False)


async def test_where_anything_may_be_evicted_a_vllm_sleeps_while_another_server_runs(tmp_path: Path) -> None:
    room = Room()
    vllm, swap = room.vllm(), room.swap()
    async with room.opened(tmp_path, vllm, swap, evict="any") as app:
        run = await ran(app, ["a"])
        assert (run.state, run.errors) == ("completed", 0)
        assert (vllm.sleeps, vllm.sleeping) == (1, True)
        run = await ran(app, ["v"])
        assert (run.state, run.errors) == ("completed", 0)
        assert run.jobs[0].residency == "verified"
        assert vllm.wakes == 1
    assert room.gpu.together(10 * GB) == []


async def test_a_vllm_whose_orders_to_sleep_are_lost_blocks_the_next_and_nothing_is_started_on_top(
    tmp_path: Path,
) -> None:
    room = Room()
    vllm, swap = room.vllm(), room.swap()
    vllm.loses_sleeps = 1000
    async with room.opened(tmp_path, vllm, swap, evict="any") as app:
        run = await ran(app, ["a"])
        assert run.jobs[0].state == "blocked"
        assert "'v'" in (run.jobs[0].reason or "")
        assert swap.starts == []


async def test_a_vllm_without_sleep_mode_is_used_as_it_is(tmp_path: Path) -> None:
    room = Room()
    vllm = room.vllm(sleep_mode=False)
    async with room.opened(tmp_path, vllm) as app:
        run = await ran(app, ["v"])
        assert (run.state, run.done, run.errors) == ("completed", 2, 0)
