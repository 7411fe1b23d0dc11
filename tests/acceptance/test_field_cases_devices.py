"""Memory that does not come back, probes that say nothing or hang, one model store behind two servers."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from llmbench_mcp.gpu.reader import MachineDevices
from llmbench_mcp.testing.clocks import FastClock
from llmbench_mcp.testing.fake_nvml import FakeCard, FakeNvml
from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_ollama_models import OllamaStore, StoredModel
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedDevices, SimulatedGpu
from tests.mcp.bench import BenchClient, open_bench, right

BIG, NEXT = StoredModel("big:30b", 20 * GB), StoredModel("next:14b", 9 * GB)
FAST: dict[str, Any] = {"lease_s": 1000.0, "release_wait_s": 2.0}


@dataclass(frozen=True, slots=True)
class Room:
    """A server with one GPU, as an agent sees it."""

    client: BenchClient
    box: FakeOllama
    gpu: SimulatedGpu

    def loads(self, model: str) -> int:
        """How often the server was told to load the model, or asked it anything, which loads it too."""
        asked = [entry for entry in self.box.log if entry.model == model and entry.path != "/api/show"]
        return len([entry for entry in asked if entry.body.get("keep_alive") != 0])

    async def run(self) -> dict[str, Any]:
        started = await self.client.call("run_start", models=["next:14b"], suites=["sums"], endpoint="box")
        return await self.status(await self.client.finish(started["run_id"]))

    async def status(self, run: dict[str, Any]) -> dict[str, Any]:
        return await self.client.call("run_status", run_id=run["run_id"], detail="detailed")


@asynccontextmanager
async def room(folder: Path) -> AsyncIterator[Room]:
    clock = FastClock()
    gpu = SimulatedGpu(24 * GB, clock=clock)
    async with (
        FakeOllama([BIG, NEXT], right, gpu=gpu) as box,
        open_bench(folder, devices=SimulatedDevices([gpu]), clock=clock, **FAST) as bench,
        bench.client("auto") as client,
    ):
        await client.call("endpoint_add", url=box.url, name="box", device="nvidia:0")
        await client.call("models_discover")
        yield Room(client, box, gpu)


@pytest.mark.parametrize(
    ("fault", "held"),
    [
        ("never_unloads", "'big:30b' (18.6 GiB) is still loaded on box 2 s after"),
        ("keeps_memory", "nvidia:0 still holds 18.6 GiB of it 2 s after"),
    ],
)
async def test_memory_that_is_not_given_back_blocks_the_next_model_by_name_and_size_until_it_is(
    tmp_path: Path, fault: str, held: str
) -> None:
    async with room(tmp_path) as here:
        await here.client.call("model_residency", action="load", model="big:30b", endpoint="box")
        setattr(here.box.faults, fault, True)
        run = await here.run()
        assert (run["state"], run["jobs"][0]["state"]) == ("failed", "blocked")
        assert held in run["jobs"][0]["untrusted_reason"]
        assert here.loads("next:14b") == 0
        here.box.heal()
        assert (await here.client.call("run_retry", run_id=run["run_id"]))["attempts"] == 3
        run = await here.client.finish(run["run_id"])
        assert (run["state"], run["passed"], run["errors"]) == ("completed", 3, 0)
        assert here.gpu.together(5 * GB) == []


async def test_what_somebody_else_loaded_is_not_unloaded_for_a_run(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.box.load_by_other("big:30b")
        run = await here.run()
        assert run["jobs"][0]["state"] == "blocked"
        assert "'big:30b' (18.6 GiB) on box" in run["jobs"][0]["untrusted_reason"]
        assert here.box.loaded_names == ["big:30b"]
        assert here.loads("next:14b") == 0


async def test_memory_that_cannot_be_read_is_unknown_and_the_servers_list_decides(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        here.gpu.unreadable = True
        await here.client.call("model_residency", action="load", model="big:30b", endpoint="box")
        run = await here.run()
        device = (await here.client.call("gpu_stats"))["devices"][0]
        assert (device["vram_used_gib"], device["vram_total_gib"]) == (None, None)
        assert device["unknown"] == ["memory: the driver says [N/A]"]
        assert run["state"] == "completed"
        assert "not verified by GPU" in run["jobs"][0]["details"]["residency"]


async def test_a_probe_that_hangs_is_given_up_and_holds_up_nobody(tmp_path: Path) -> None:
    free = threading.Event()
    devices = MachineDevices(FakeNvml([FakeCard()], hang=free), limit_s=2.0)
    async with (
        FakeOllama([BIG, NEXT], right) as box,
        open_bench(tmp_path, devices=devices, release_wait_s=1.0) as bench,
        bench.client("auto") as client,
    ):
        await client.call("endpoint_add", url=box.url, name="box", device="nvidia:0")
        await client.call("models_discover")
        await client.call("model_residency", action="load", model="big:30b", endpoint="box")
        started = await client.call("run_start", models=["next:14b"], suites=["sums"], endpoint="box")
        with anyio.fail_after(10):
            await client.call("run_status", run_id=started["run_id"])
        run = await client.finish(started["run_id"])
        run = await client.call("run_status", run_id=run["run_id"], detail="detailed")
        free.set()
    assert run["state"] == "completed"
    assert "not verified by GPU" in run["jobs"][0]["details"]["residency"]


async def test_results_of_one_model_on_two_devices_stand_in_two_rows(tmp_path: Path) -> None:
    shared, clock = StoredModel("m:8b"), FastClock()
    gpus = [SimulatedGpu(device_id=f"nvidia:{number}", clock=clock) for number in (0, 1)]
    async with (
        FakeOllama([shared], lambda request: "wrong", gpu=gpus[0]) as x,
        FakeOllama(OllamaStore([shared, StoredModel("only-y:3b")]), right, gpu=gpus[1]) as y,
        open_bench(tmp_path, devices=SimulatedDevices(gpus), clock=clock, **FAST) as bench,
        bench.client("auto") as client,
    ):
        for box, name, gpu in ((x, "x", gpus[0]), (y, "y", gpus[1])):
            await client.call("endpoint_add", url=box.url, name=name, device=gpu.id)
        await client.call("models_discover")
        models = (await client.call("model_list"))["models"]
        assert {row["name"]: row["offered_at"] for row in models} == {"m:8b": ["x", "y"], "only-y:3b": ["y"]}
        await client.refused("run_start", models=["m:8b"], suites=["sums"])
        assert (x.prompts, y.prompts) == ([], [])
        asked = []
        for name in ("y", "x"):
            await client.call("model_assign", model="m:8b", endpoint=name)
            started = await client.call("run_start", models=["m:8b"], suites=["sums"])
            await client.finish(started["run_id"])
            asked.append((tasks(x), tasks(y)))
        assert asked == [(0, 3), (3, 3)]
        board = (await client.call("leaderboard_query", suite="sums"))["entries"]
        rows = {row["device"]: (row["endpoint"], row["pass_rate"], row["runs"]) for row in board}
        assert rows == {"nvidia:1": ("y", 1.0, 1), "nvidia:0": ("x", 0.0, 1)}
        told = await client.refused("run_start", models=["only-y:3b"], suites=["sums"], endpoint="x")
        assert "'x' does not offer 'only-y:3b'" in told
        assert tasks(x) == 3


def tasks(box: FakeOllama) -> int:
    return sum(prompt.startswith("What is") for prompt in box.prompts)
