"""Two servers, one store, one GPU, hundreds of jobs, everything going wrong: never two big models at once."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.address import parse_address
from llmbench_mcp.domain.errors import BenchError
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.gpu.reader import MachineDevices
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_ollama_models import OllamaStore, StoredModel
from llmbench_mcp.testing.fake_server import Received
from llmbench_mcp.testing.simulated_gpu import GB, GpuExporter, SimulatedGpu
from tests.support.processes import environment, no_survivors, processes_of
from tests.support.rooms import opened_real, write_suite
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(290)

JOBS = 200
BIG = [StoredModel(f"big{n}:30b", size * GB) for n, size in enumerate((20, 18, 15, 13))]
GPU = "remote:127.0.0.1:0"
FAULTS_S = 2.0


def right(request: Received) -> str:
    return request.prompt.strip().rsplit(" ", 1)[-1]


@dataclass
class Chaos:
    """Breaks things at random until told to stop; ``counts`` says how often which."""

    rng: random.Random
    servers: list[FakeOllama]
    app: App
    data_dir: Path
    counts: dict[str, int] = field(default_factory=dict)

    async def run(self) -> None:
        while True:
            await anyio.sleep(self.rng.uniform(0.1, 2 * FAULTS_S))
            what = self.rng.choice(
                ["hang", "lost_unload", "restart", "evict", "refuse", "kill", "by_hand", "by_hand", "evict"]
            )
            self.counts[what] = self.counts.get(what, 0) + 1
            await getattr(self, what)(self.rng.choice(self.servers))

    async def hang(self, server: FakeOllama) -> None:
        server.hang(self.rng.choice(["/api/chat", "/api/ps", "/api/generate"]))

    async def lost_unload(self, server: FakeOllama) -> None:
        server.faults.lost_unloads += 1

    async def restart(self, server: FakeOllama) -> None:
        await server.restart()

    async def evict(self, server: FakeOllama) -> None:
        for name in server.loaded_names:
            server.evict(name)

    async def refuse(self, server: FakeOllama) -> None:
        server.refuse(self.rng.choice(["/api/chat", "/api/generate"]), 500, "out of luck")

    async def kill(self, server: FakeOllama) -> None:
        for process in processes_of(self.data_dir, "executor run")[:1]:
            process.kill()

    async def by_hand(self, server: FakeOllama) -> None:
        """A person at another front end loads or unloads; mostly refused, for the device is in use."""
        where = "x" if server is self.servers[0] else "y"
        try:
            if self.rng.random() < 0.5:
                await self.app.residencies.load(self.rng.choice(BIG).name, where)
            else:
                await self.app.residencies.unload(self.rng.choice(BIG).name, where)
        except BenchError:
            pass  # refusing is its right


def executor(env: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "llmbench_mcp", "executor", "run"]
    with (Path(env["LLMBENCH_DATA_DIR"]) / "executors.log").open("ab") as log:
        return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


@asynccontextmanager
async def executors(env: dict[str, str]) -> AsyncIterator[None]:
    """Two executors that compete, each started again when it has left or was killed."""

    async def keep_one() -> None:
        while True:
            process = await anyio.to_thread.run_sync(executor, env)
            try:
                await anyio.to_thread.run_sync(process.wait, abandon_on_cancel=True)
            finally:
                process.kill()
                process.wait()
            await anyio.sleep(1)

    async with anyio.create_task_group() as group:
        group.start_soon(keep_one)
        group.start_soon(keep_one)
        yield
        group.cancel_scope.cancel()


async def test_never_two_big_models_at_once_whatever_happens(tmp_path: Path) -> None:
    gpu, store, rng = SimulatedGpu(24 * GB), OllamaStore(BIG), random.Random(20261130)
    write_suite(tmp_path, 1)
    changes = {"release_wait_s": 2.0, "load_timeout_s": 4.0, "stall_timeout_s": 3.0, "lease_s": 2.0}
    async with (
        FakeOllama(store, right, gpu=gpu) as x,
        FakeOllama(store, right, gpu=gpu) as y,
        GpuExporter([gpu]) as exporter,
        no_survivors(tmp_path / "data"),
    ):
        variables = {f"LLMBENCH_{name.upper()}": str(value) for name, value in changes.items()}
        variables |= {"LLMBENCH_GPU_EXPORTERS": exporter.url, "LLMBENCH_TASKS_DIR": str(tmp_path / "tasks")}
        env = environment(tmp_path / "data", **variables)
        async with opened_real(tmp_path, reader_of(exporter.url), gpu.clock, **changes) as app:
            await app.endpoints.add(NewEndpoint(x.url, "x", device=GPU))
            await app.endpoints.add(NewEndpoint(y.url, "y", device=GPU))
            await app.models.discover()
            runs = [await queued(app, rng) for _ in range(JOBS)]
            chaos = Chaos(rng, [x, y], app, tmp_path / "data")
            async with executors(env):
                with anyio.fail_after(280):
                    async with anyio.create_task_group() as group:
                        group.start_soon(chaos.run)
                        await until_over(app, runs)
                        group.cancel_scope.cancel()
                    x.heal()
                    y.heal()
                    await until_all_answered(app, runs)
    assert gpu.together(10 * GB) == []
    assert gpu.most_used_bytes() <= 24 * GB
    assert min(chaos.counts.get(what, 0) for what in ("hang", "lost_unload", "restart", "evict", "kill", "by_hand")) > 0


def reader_of(url: str) -> MachineDevices:
    return MachineDevices(exporters=(parse_address(url),))


async def queued(app: App, rng: random.Random) -> str:
    request = RunRequest((rng.choice(BIG).name,), ("sums",), rng.choice("xy"), priority=rng.randrange(40))
    return (await app.runs.start(request)).run.id


async def until_over(app: App, runs: list[str]) -> None:
    for run_id in runs:

        async def over(run_id: str = run_id) -> bool:
            return (await app.runs.get(run_id)).is_over

        await until(over, 280)


async def until_all_answered(app: App, runs: list[str]) -> None:
    """What was blocked or failed by a fault is asked for again, now that all is well."""
    for run_id in runs:
        while (run := await app.runs.get(run_id)).done < run.planned:
            if run.is_over:
                await app.runs.retry(run_id, "errors")
            await until_over(app, [run_id])
