"""What other tests rely on in the simulators."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from contextlib import ExitStack, suppress

import anyio
import pytest

from llmbench_mcp.backends.ollama import OllamaBackend
from llmbench_mcp.domain.endpoint import Resident
from llmbench_mcp.domain.errors import UnreachableError
from llmbench_mcp.testing.clocks import ManualClock
from llmbench_mcp.testing.fake_ollama import CHAT, FakeOllama
from llmbench_mcp.testing.fake_ollama_models import OllamaStore, StoredModel
from llmbench_mcp.testing.fake_ollama_wire import keep_alive_s
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedDevices, SimulatedGpu
from tests.backends.ollama_support import ollama_at
from tests.backends.support import ask

BIG, NEXT = StoredModel("big:30b", 20 * GB), StoredModel("next:14b", 9 * GB)


def gpu_24() -> SimulatedGpu:
    return SimulatedGpu(24 * GB, clock=ManualClock())


async def load(server: FakeOllama, *names: str) -> None:
    async with ollama_at(server.url, server.clock) as backend:
        for name in names:
            await backend.load(name)


async def test_two_servers_on_one_gpu_are_seen_to_hold_two_big_models_at_once() -> None:
    gpu, store = gpu_24(), OllamaStore([BIG, NEXT])
    async with FakeOllama(store, gpu=gpu) as x, FakeOllama(store, gpu=gpu) as y:
        await load(x, "big:30b")
        assert gpu.together(5 * GB) == []
        await load(y, "next:14b")
    moment = gpu.together(5 * GB)[0]
    assert {allocation.model for allocation in moment.held} == {"big:30b", "next:14b"}
    assert gpu.together(10 * GB) == []
    assert gpu.most_used_bytes() == 24 * GB


async def test_one_server_makes_room_by_itself() -> None:
    gpu = gpu_24()
    async with FakeOllama([BIG, NEXT], gpu=gpu) as server:
        await load(server, "big:30b", "next:14b")
        assert server.loaded_names == ["next:14b"]
    assert gpu.together(5 * GB) == []


async def test_no_more_models_are_loaded_than_allowed_and_the_longest_unused_goes() -> None:
    gpu = gpu_24()
    async with FakeOllama(["a", "b", "c"], gpu=gpu, max_loaded=2) as server:
        await load(server, "a")
        await gpu.clock.sleep(1)
        await load(server, "b")
        await gpu.clock.sleep(1)
        await load(server, "a")
        await load(server, "c")
        assert server.loaded_names == ["a", "c"]


async def test_a_model_leaves_when_its_keep_alive_is_over() -> None:
    gpu = gpu_24()
    async with FakeOllama(gpu=gpu) as server, ollama_at(server.url) as backend:
        await ask(backend)
        await gpu.clock.sleep(299)
        assert server.loaded_names == ["m"]
        await gpu.clock.sleep(1)
        assert server.loaded_names == []
        assert gpu.used_bytes == 0


async def test_a_model_in_use_leaves_only_when_it_is_done() -> None:
    async with FakeOllama(gpu=SimulatedGpu()) as server, ollama_at(server.url) as backend:
        server.chat_s = 3600.0
        async with anyio.create_task_group() as group:
            group.start_soon(ask, backend)
            await server.arrived(CHAT)
            await backend.unload(Resident("m"))
            assert server.loaded_names == ["m"]
            group.cancel_scope.cancel()
        await server.scheduler.until_idle("m")  # the server notices that its client has hung up
        assert server.loaded_names == []


async def test_a_load_whose_client_hangs_up_is_given_up() -> None:
    gpu = SimulatedGpu()
    async with FakeOllama(gpu=gpu) as server, ollama_at(server.url) as backend:
        server.timings.load_s = 3600.0
        async with anyio.create_task_group() as group:
            group.start_soon(backend.load, "m")
            while not gpu.used_bytes:
                await anyio.lowlevel.checkpoint()
            assert server.loaded_names == ["m"]
            group.cancel_scope.cancel()
        with anyio.fail_after(10):
            while gpu.used_bytes:
                await anyio.lowlevel.checkpoint()
        assert server.loaded_names == []


async def test_faults_happen_once_or_until_healed() -> None:
    gpu = gpu_24()
    async with FakeOllama(gpu=gpu) as server, ollama_at(server.url) as backend:
        server.faults.lost_unloads = 1
        await backend.load("m")
        await backend.unload(Resident("m"))
        assert server.loaded_names == ["m"]
        await backend.unload(Resident("m"))
        assert server.loaded_names == []
        await server.load_by_other("m")
        server.evict("m")
        assert (server.loaded_names, gpu.used_bytes) == ([], 0)


async def test_a_restart_forgets_residents_and_may_leave_their_memory_behind() -> None:
    gpu = gpu_24()
    async with FakeOllama(gpu=gpu) as server:
        await server.load_by_other("m")
        await server.restart(memory_too=False)
        assert (server.loaded_names, gpu.used_bytes) == ([], GB)
        server.heal()
        assert gpu.used_bytes == 0
        await server.load_by_other("m")
        await server.restart()
        assert (server.loaded_names, gpu.used_bytes) == ([], 0)


async def test_no_request_is_left_hanging_by_restarts() -> None:
    ended: list[bool] = []

    async def look(backend: OllamaBackend) -> None:
        for _ in range(10):
            with suppress(UnreachableError):
                await backend.residents()
        ended.append(True)

    async with FakeOllama() as server, ollama_at(server.url) as backend:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for _ in range(10):
                    group.start_soon(look, backend)
                    group.start_soon(server.restart)
    assert ended == [True] * 10


async def test_every_request_is_logged_with_its_times() -> None:
    gpu = gpu_24()
    async with FakeOllama(gpu=gpu) as server:
        server.timings.load_s = 5.0
        await load(server, "m")
        entry = next(entry for entry in server.log if entry.path == "/api/generate")
    assert (entry.model, entry.status) == ("m", 200)
    assert entry.ended is not None
    assert entry.ended - entry.started == 5.0


async def test_a_reader_lists_the_gpus_and_the_cpu_last() -> None:
    gpu = SimulatedGpu(24 * GB, reserved_bytes=GB, clock=ManualClock())
    devices = await SimulatedDevices([gpu]).read()
    assert [(device.id, device.memory_used_bytes) for device in devices] == [("nvidia:0", GB), ("cpu", 16 * GB)]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(None, None), (0, 0.0), (-1, -1.0), ("5m", 300.0), ("1h30m", 5400.0), ("-1", -1.0), ("500ms", 0.5), ("-1s", -1.0)],
)
def test_keep_alive_is_a_number_or_a_duration(value: object, seconds: float | None) -> None:
    assert keep_alive_s(value) == seconds


def test_it_runs_as_a_process_with_the_gpu_readable_from_outside() -> None:
    command = [sys.executable, "-m", "llmbench_mcp.testing.fake_ollama", "--port", "0", "--port", "0"]
    popen = subprocess.Popen([*command, "--model", "big:30b=20"], stdout=subprocess.PIPE, text=True)
    with popen as process, ExitStack() as stack:
        stack.callback(process.kill)
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        x, _ = (f"http://127.0.0.1:{port}" for port in ready["ports"])
        order = json.dumps({"model": "big:30b", "stream": False}).encode()
        with urllib.request.urlopen(f"{x}/api/generate", order, timeout=10) as answer:
            assert json.load(answer)["done_reason"] == "load"
        with urllib.request.urlopen(f"http://127.0.0.1:{ready['exporter']}/metrics", timeout=10) as page:
            used = next(line for line in page.read().decode().splitlines() if line.startswith("DCGM_FI_DEV_FB_USED"))
    assert float(used.split()[-1]) == pytest.approx(20 * GB / 2**20)
