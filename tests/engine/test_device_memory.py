"""Memory of one device, on simulated Ollama servers: what is unloaded, what proves it, what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.chat import Sampling
from llmbench_mcp.domain.errors import ConflictError, DeviceBusy, DoesNotFit
from llmbench_mcp.domain.run import Run, RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.testing.clocks import FastClock
from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_ollama_models import OllamaStore, StoredModel
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedDevices, SimulatedGpu
from tests.support.rooms import opened_real, write_suite
from tests.support.waiting import until
from tests.support.work import finished, working

BIG, NEXT, SMALL = StoredModel("big:30b", 20 * GB), StoredModel("next:14b", 9 * GB), StoredModel("small:1b", GB)
GPU = "nvidia:0"


@dataclass
class Bench:
    """Two servers on one GPU with one store, and the application."""

    app: App
    gpu: SimulatedGpu
    x: FakeOllama
    y: FakeOllama

    async def run(self, model: str, at: str = "x", **facts: object) -> Run:
        started = await self.app.runs.start(RunRequest((model,), ("sums",), at, **facts))  # type: ignore[arg-type]  # fields
        return await finished(self.app, started.run.id)


@asynccontextmanager
async def bench(folder: Path, clock: FastClock | None = None, **changes: object) -> AsyncIterator[Bench]:
    clock = clock or FastClock()
    gpu, store = SimulatedGpu(24 * GB, clock=clock), OllamaStore([BIG, NEXT, SMALL])
    write_suite(folder, 1)
    facts = {"release_wait_s": 2.0, **changes}
    async with (
        FakeOllama(store, gpu=gpu) as x,
        FakeOllama(store, gpu=gpu) as y,
        opened_real(folder, SimulatedDevices([gpu]), clock, **facts) as app,
    ):
        await app.endpoints.add(NewEndpoint(x.url, "x", device=GPU))
        await app.endpoints.add(NewEndpoint(y.url, "y", device=GPU))
        await app.models.discover()
        async with working(app):
            yield Bench(app, gpu, x, y)


def loads_of(server: FakeOllama) -> list[str]:
    """Models that this program asked the server to load, in order."""
    orders = [entry for entry in server.log if entry.path == "/api/generate"]
    return [entry.model for entry in orders if entry.body.get("keep_alive") != 0]


async def until_loaded(server: FakeOllama, names: list[str]) -> None:
    async def so() -> bool:
        return server.loaded_names == names

    await until(so)


async def test_a_model_is_unloaded_before_the_next_is_loaded_and_the_gpu_proves_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.run("big:30b", keep_loaded=True)
        run = await here.run("next:14b")
        assert (run.state, run.jobs[0].residency) == ("completed", "verified")
        assert here.gpu.together(5 * GB) == []
        assert loads_of(here.x) == ["big:30b", "next:14b"]


async def test_two_servers_on_one_gpu_never_hold_two_models_at_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.run("big:30b", "x", keep_loaded=True)
        run = await here.run("next:14b", "y")
        assert run.state == "completed"
        assert here.gpu.together(5 * GB) == []
        assert here.x.loaded_names == []


async def test_a_model_that_stays_listed_blocks_the_next_until_it_leaves(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.run("big:30b", keep_loaded=True)
        here.x.faults.never_unloads = True
        run = await here.run("next:14b")
        assert run.jobs[0].state == "blocked"
        assert "'big:30b' (18.6 GiB) is still loaded on x 2 s after" in (run.jobs[0].reason or "")
        assert loads_of(here.x) == ["big:30b"]
        here.x.heal()
        await here.app.runs.retry(run.id, "errors")
        run = await finished(here.app, run.id)
        assert (run.state, run.errors) == ("completed", 0)
        assert here.gpu.together(5 * GB) == []


async def test_memory_that_does_not_come_back_blocks_although_the_list_is_empty(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.run("big:30b", keep_loaded=True)
        here.x.faults.keeps_memory = True
        run = await here.run("next:14b")
        assert run.jobs[0].state == "blocked"
        assert "nvidia:0 still holds 18.6 GiB of it" in (run.jobs[0].reason or "")
        assert loads_of(here.x) == ["big:30b"]


async def test_without_readable_memory_the_list_decides_and_the_result_says_so(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        here.gpu.unreadable = True
        await here.run("big:30b", keep_loaded=True)
        run = await here.run("next:14b")
        assert run.state == "completed"
        assert "not verified by GPU" in (run.jobs[0].residency or "")
        views = await here.app.devices.read()
    assert views[0].device.memory_used_bytes is None


async def test_a_reader_that_hangs_does_not_hold_up_status(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        here.gpu.hanging = True
        await here.run("big:30b", keep_loaded=True)
        started = await here.app.runs.start(RunRequest(("next:14b",), ("sums",), "x"))
        with anyio.fail_after(5):
            await here.app.runs.status(started.run.id)
        run = await finished(here.app, started.run.id)
    assert run.state == "completed"
    assert "not verified by GPU" in (run.jobs[0].residency or "")


async def test_what_somebody_else_loaded_stays_and_what_does_not_fit_beside_it_is_refused(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.y.load_by_other("big:30b")
        run = await here.run("next:14b")
        assert run.jobs[0].state == "blocked"
        told = run.jobs[0].reason or ""
        assert "'next:14b' needs about 9.2 GiB" in told
        assert "3.7 GiB free of 22.4 GiB, held by 'big:30b' (18.6 GiB) on y" in told
        assert loads_of(here.x) == []
        assert here.y.loaded_names == ["big:30b"]
        run = await here.run("small:1b")
        assert run.state == "completed"
        assert run.jobs[0].residency == "verified; shares the device with 'big:30b' (18.6 GiB) on y"


async def test_an_endpoint_may_allow_others_models_to_be_unloaded(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.app.endpoints.add(NewEndpoint(here.y.url, evict="any"))
        await here.y.load_by_other("big:30b")
        run = await here.run("next:14b")
        assert run.state == "completed"
        assert here.y.loaded_names == []
        assert here.gpu.together(5 * GB) == []


async def test_a_model_larger_than_the_device_is_refused_unless_the_cpu_may_help(tmp_path: Path) -> None:
    async with bench(tmp_path, device_budgets="nvidia:0=16") as here:
        run = await here.run("big:30b")
        assert "needs about 20.5 GiB" in (run.jobs[0].reason or "")
        assert "nvidia:0 has 16.0 GiB in all" in (run.jobs[0].reason or "")
        assert loads_of(here.x) == []
    async with bench(tmp_path / "more", partial_offload=True) as here:
        here.gpu.allocate("desktop", "compositor", 10 * GB)
        run = await here.run("big:30b")
        assert run.state == "completed"
        assert "% of it lies in the CPU's memory" in (run.jobs[0].residency or "")


async def test_two_models_stay_side_by_side_where_that_is_allowed_and_they_fit(tmp_path: Path) -> None:
    async with bench(tmp_path, co_residency=True) as here:
        await here.run("next:14b", keep_loaded=True)
        run = await here.run("small:1b", keep_loaded=True)
        assert "shares the device with 'next:14b'" in (run.jobs[0].residency or "")
        assert here.x.loaded_names == ["next:14b", "small:1b"]
        await here.run("big:30b")
        assert here.gpu.most_used_bytes() <= 24 * GB


async def test_what_a_dead_executor_loaded_is_unloaded_by_the_next(tmp_path: Path) -> None:
    clock = FastClock()
    gpu = SimulatedGpu(24 * GB, clock=clock)
    write_suite(tmp_path, 1)
    async with FakeOllama([BIG, NEXT], gpu=gpu) as x:
        async with opened_real(tmp_path, SimulatedDevices([gpu]), clock) as app:
            await app.endpoints.add(NewEndpoint(x.url, "x", device=GPU))
            await app.models.discover()
            chat = x.hang("/api/chat")
            async with anyio.create_task_group() as group:
                group.start_soon(app.executor.run)
                await app.runs.start(RunRequest(("big:30b",), ("sums",), "x"))
                await until_loaded(x, ["big:30b"])
                group.cancel_scope.cancel()
            chat.open()
        async with opened_real(tmp_path, SimulatedDevices([gpu]), clock) as app, working(app):
            run = (await app.runs.page())[0][0]
            await app.runs.cancel(run.id)
            await until_loaded(x, [])
    assert gpu.used_bytes == 0


async def test_a_person_can_load_and_unload_a_model_and_see_what_is_loaded(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        loaded = await here.app.residencies.load("next:14b", "x")
        assert loaded.ready.residency == "verified"
        seen = await here.app.residencies.view()
        assert [(v.endpoint, v.resident.served_name, v.own) for v in seen.loaded] == [("x", "next:14b", True)]
        with pytest.raises(ConflictError, match="not loaded on y"):
            await here.app.residencies.unload("next:14b", "y")
        assert await here.app.residencies.unload("next:14b", "x") == "verified"
        assert here.x.loaded_names == []
        with pytest.raises(DoesNotFit, match="needs about"):
            here.gpu.allocate("desktop", "game", 20 * GB)
            await here.app.residencies.load("next:14b", "x")


async def test_a_device_at_work_is_not_touched_by_hand(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        gate = here.x.hang("/api/chat")
        started = await here.app.runs.start(RunRequest(("next:14b",), ("sums",), "x"))
        await until_loaded(here.x, ["next:14b"])
        with pytest.raises(DeviceBusy, match="nvidia:0 is in use"):
            await here.app.residencies.load("small:1b", "y")
        gate.open()
        await finished(here.app, started.run.id)


async def test_a_model_is_loaded_anew_for_another_context(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.run("next:14b", keep_loaded=True)
        run = await here.run("next:14b", sampling=Sampling(context_length=16_384), keep_loaded=True)
        seen = await here.app.residencies.view()
        assert [v.resident.context_length for v in seen.loaded] == [16_384]
        assert run.jobs[0].residency == "verified"
        before = len(loads_of(here.x))
        await here.run("next:14b", sampling=Sampling(context_length=16_384))
        assert len(loads_of(here.x)) == before


async def test_memory_that_is_still_held_blocks_every_later_model_until_it_is_back(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.run("next:14b", "x", keep_loaded=True)
        here.x.faults.keeps_memory = True
        assert (await here.run("small:1b", "y")).jobs[0].state == "blocked"
        again = await here.run("small:1b", "y")
        assert again.jobs[0].state == "blocked"
        assert "still holds memory of 'next:14b'" in (again.jobs[0].reason or "")
        assert loads_of(here.y) == []
        here.x.heal()
        await here.x.restart()
        run = await here.run("small:1b", "y")
        assert (run.state, run.jobs[0].residency) == ("completed", "verified")


async def test_somebody_elses_instance_is_not_replaced_for_another_context(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.y.load_by_other("small:1b")
        run = await here.run("small:1b", "y", sampling=Sampling(context_length=8192))
        assert run.jobs[0].state == "blocked"
        assert "loaded by somebody else with a context of 4096, not 8192" in (run.jobs[0].reason or "")
        assert loads_of(here.y) == []


async def test_a_model_found_loaded_stays_when_the_later_run_asks_for_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        first = await here.app.runs.start(RunRequest(("small:1b",), ("sums",), "x"))
        second = await here.app.runs.start(RunRequest(("small:1b",), ("sums",), "x", keep_loaded=True))
        await finished(here.app, first.run.id)
        await finished(here.app, second.run.id)
        assert [load.keep for load in await here.app.residencies.own()] == [True]
        assert here.x.loaded_names == ["small:1b"]


async def test_a_neighbour_that_breaks_off_is_not_taken_for_gone(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.run("big:30b", "y", keep_loaded=True)
        here.gpu.unreadable = True
        here.y.refuse("/api/ps", 500, "in trouble")
        started = await here.app.runs.start(RunRequest(("next:14b",), ("sums",), "x"))
        run = await finished(here.app, started.run.id)
        assert run.state == "completed"
        assert here.gpu.together(5 * GB) == []
