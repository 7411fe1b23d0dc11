"""Whole runs on a simulated LM Studio with a simulated GPU: nothing is ever loaded twice, and nothing on top."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from llmbench_mcp.app import App, Doors, open_app
from llmbench_mcp.backends.registry import EntryPointBackends
from llmbench_mcp.domain.run import Run, RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.services.models import ModelFilter
from llmbench_mcp.testing.clocks import FastClock
from llmbench_mcp.testing.fake_lmstudio import LOAD, UNLOAD, FakeLMStudio
from llmbench_mcp.testing.fake_lmstudio_models import StudioModel
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedDevices, SimulatedGpu
from tests.support.rooms import refuse_credentials, settings_in, write_suite
from tests.support.work import finished, working

MODELS = (StudioModel("a", 14 * GB, load_s=3.0), StudioModel("b", 14 * GB, load_s=3.0))


class Room:
    """One LM Studio on one GPU of 24 GB, and the application beside it, on one fast clock."""

    def __init__(self, native: bool = True) -> None:
        self.clock = FastClock()
        self.gpu = SimulatedGpu(24 * GB, clock=self.clock)
        self.server = FakeLMStudio(MODELS, gpu=self.gpu, native=native)

    @asynccontextmanager
    async def opened(self, folder: Path, release_wait_s: float = 600.0) -> AsyncIterator[App]:
        write_suite(folder, 2)
        doors = Doors(
            self.clock,
            EntryPointBackends(clock=self.clock),
            SimulatedDevices([self.gpu]),
            refuse_credentials,
            spawns_executors=False,
        )
        settings = settings_in(folder, release_wait_s=release_wait_s)
        async with self.server, open_app(settings, doors) as app, working(app):
            await app.endpoints.add(NewEndpoint(self.server.url, "studio", device=self.gpu.id))
            await app.models.discover()
            models, _ = await app.models.page(ModelFilter(endpoint="studio"))
            for model in models:
                await app.models.assign(model.id, "studio")
            yield app


async def ran(app: App, *models: str, **request: object) -> Run:
    started = await app.runs.start(RunRequest(models, ("sums",), **request))  # type: ignore[arg-type]  # field names
    return await finished(app, started.run.id)


async def test_two_models_that_do_not_fit_together_take_turns(tmp_path: Path) -> None:
    room = Room()
    room.server.timings.unload_s, room.server.timings.memory_back_s = 2.0, 1.0
    async with room.opened(tmp_path) as app:
        run = await ran(app, "a", "b")
        assert (run.state, run.done, run.errors) == ("completed", 4, 0)
        assert [name for _, name in room.server.memory.loads] == ["a", "b"]
        assert room.server.count(UNLOAD) == 2
        assert room.server.loaded_ids == []
    assert room.gpu.together(10 * GB) == []


async def test_a_model_loaded_by_hand_is_used_as_it_is_and_stays(tmp_path: Path) -> None:
    room = Room()
    async with room.opened(tmp_path) as app:
        await room.server.load_by_other("a")
        run = await ran(app, "a")
        assert (run.state, run.errors) == ("completed", 0)
        assert room.server.count(LOAD) == room.server.count(UNLOAD) == 0
        assert room.server.loaded_ids == ["a"]


async def test_nothing_is_loaded_on_top_of_a_model_loaded_by_hand(tmp_path: Path) -> None:
    room = Room()
    async with room.opened(tmp_path) as app:
        await room.server.load_by_other("a")
        run = await ran(app, "b")
        assert run.jobs[0].state == "blocked"
        assert room.server.count(LOAD) == 0
        assert room.server.loaded_ids == ["a"]


async def test_a_model_that_never_leaves_blocks_the_next(tmp_path: Path) -> None:
    room = Room()
    async with room.opened(tmp_path, release_wait_s=10.0) as app:
        await ran(app, "a", keep_loaded=True)
        room.server.faults.never_unloads = True
        run = await ran(app, "b")
        assert run.jobs[0].state == "blocked"
        assert "'a' is still loaded" in (run.reason or "")
    assert [name for _, name in room.server.memory.loads] == ["a"]


async def test_before_the_native_api_a_model_is_loaded_by_its_first_request(tmp_path: Path) -> None:
    room = Room(native=False)
    async with room.opened(tmp_path) as app:
        room.server.faults.never_unloads = True  # however long this machine takes, it does not become idle
        run = await ran(app, "a")
        assert (run.state, run.errors) == ("completed", 0)
        assert [name for _, name in room.server.memory.loads] == ["a"]


async def test_before_the_native_api_a_model_that_cannot_be_unloaded_blocks_the_next(tmp_path: Path) -> None:
    room = Room(native=False)
    async with room.opened(tmp_path) as app:
        await ran(app, "a", keep_loaded=True)
        room.server.faults.never_unloads = True  # however long this machine takes, it does not become idle
        run = await ran(app, "b")
        assert run.jobs[0].state == "blocked"
        assert "Unload other models" in (run.reason or "")
    assert room.gpu.together(10 * GB) == []
