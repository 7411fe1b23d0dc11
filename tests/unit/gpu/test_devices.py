from __future__ import annotations

import os
import platform
import socket
import sys
import threading
from pathlib import Path

import anyio
import psutil
import pytest

from llmbench_mcp.domain.hardware import Device, DeviceProcess, Energy
from llmbench_mcp.gpu.cgroup import memory_limit
from llmbench_mcp.gpu.reader import MachineDevices
from llmbench_mcp.testing.fake_amd import FakeAmdTools
from llmbench_mcp.testing.fake_nvml import FakeCard, FakeNvml


async def read(nvml: FakeNvml | None = None) -> list[Device]:
    return list(await MachineDevices(nvml or FakeNvml(init_error="Driver Not Loaded")).read())


async def test_a_card_is_read_in_bytes_percent_degrees_and_watts() -> None:
    card, cpu = await read(FakeNvml([FakeCard()]))
    assert (card.id, card.kind, card.name) == ("nvidia:0", "nvidia", "NVIDIA Test 24GB")
    assert (card.memory_total_bytes, card.memory_used_bytes) == (24 * 2**30, 2**30)
    assert (card.utilisation_pct, card.temperature_c, card.power_w) == (37.0, 55.0, 120.5)
    assert card.unknown == ()
    assert cpu.id == "cpu"


async def test_what_a_card_does_not_support_is_unknown_with_its_reason() -> None:
    card, _ = await read(FakeNvml([FakeCard(total=None, use=None, milliwatts=None)]))
    assert (card.memory_total_bytes, card.memory_used_bytes, card.utilisation_pct, card.power_w) == (None,) * 4
    assert card.temperature_c == 55.0
    assert card.unknown == ("memory: Not Supported", "utilisation: Not Supported", "power: Not Supported")


async def test_the_processes_on_a_card_are_named_and_counted_once() -> None:
    pid = os.getpid()
    card, _ = await read(FakeNvml([FakeCard(compute={pid: 7, 2**22 + 5: None}, graphics={pid: None})]))
    assert card.processes == (
        DeviceProcess(pid, psutil.Process().name(), 7),
        DeviceProcess(2**22 + 5, None, None),
    )


async def test_cards_are_numbered_and_a_lost_one_keeps_its_place() -> None:
    first, second, third, _ = await read(FakeNvml([FakeCard(), FakeCard(lost=True), FakeCard(name=b"old\x1b driver")]))
    assert [card.id for card in (first, second, third)] == ["nvidia:0", "nvidia:1", "nvidia:2"]
    assert second.unknown == ("card: GPU is lost",)
    assert third.name == "old\\x1b driver"


async def test_without_a_driver_there_is_the_processor_and_a_hint() -> None:
    [cpu] = await read(FakeNvml(init_error="NVML Shared Library Not Found"))
    assert (cpu.id, cpu.kind) == ("cpu", "cpu")
    assert "nvidia: NVML Shared Library Not Found; run nvidia-smi to see why" in cpu.unknown


async def test_a_driver_without_cards_is_told_from_no_driver() -> None:
    [cpu] = await read(FakeNvml())
    assert "nvidia: the driver finds no card" in cpu.unknown


async def test_every_reading_starts_and_ends_with_the_driver() -> None:
    nvml = FakeNvml([FakeCard()])
    devices = MachineDevices(nvml)
    await devices.read()
    await devices.read()
    assert (nvml.inits, nvml.shutdowns) == (2, 2)


async def test_a_hung_driver_is_given_up_and_not_asked_again_until_it_answers() -> None:
    free = threading.Event()
    nvml = FakeNvml([FakeCard()], hang=free)
    devices = MachineDevices(nvml, limit_s=0.02)
    for _ in range(2):
        [cpu] = await devices.read()
        assert any("did not answer within 0.02 s" in reason for reason in cpu.unknown)
    assert nvml.inits == 1
    free.set()


async def test_the_processor_shows_the_memory_that_may_be_used() -> None:
    [cpu] = await read()
    machine = psutil.virtual_memory().total
    limit = memory_limit(machine)
    assert cpu.memory_total_bytes == (limit.total if limit else machine)
    assert cpu.memory_used_bytes is not None
    assert 0 < cpu.memory_used_bytes < machine
    assert cpu.name
    assert cpu.utilisation_pct is None or 0 <= cpu.utilisation_pct <= 100
    assert {"power: not read for the processor", "energy: not read for the processor"} <= set(cpu.unknown)


async def test_the_real_library_is_asked_by_default() -> None:
    devices = await MachineDevices().read()
    assert devices[-1].id == "cpu"
    assert len(devices) > 1 or any("nvidia" in reason for reason in devices[-1].unknown)


SYSCTL = "Apple M3 Max\n68719476736\n"
VM_STAT = """Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                              150000.
Pages active:                            1000000.
Pages inactive:                           900000.
Pages speculative:                          1234.
Pages wired down:                         200000.
Pages purgeable:                            4321.
Pages stored in compressor:               999999.
Pages occupied by compressor:              50000.
"""


def on_a_mac(monkeypatch: pytest.MonkeyPatch, folder: Path, vm_stat: str) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    tools = FakeAmdTools(folder)
    tools.program("sysctl", f"cat <<'END'\n{SYSCTL}END\n")
    tools.program("vm_stat", f"cat <<'END'\n{vm_stat}END\n")


async def test_apple_silicon_is_unified_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on_a_mac(monkeypatch, tmp_path, VM_STAT)
    apple, cpu = await read()
    assert (apple.id, apple.kind, apple.memory, apple.name) == ("apple:0", "apple", "unified", "Apple M3 Max")
    assert (apple.memory_total_bytes, apple.memory_used_bytes) == (64 * 2**30, 1_250_000 * 16_384)
    assert (apple.utilisation_pct, apple.power_w) == (None, None)
    assert "power: the system tells it to the superuser only" in apple.unknown
    assert (cpu.id, cpu.memory) == ("cpu", "system")


async def test_an_output_of_vm_stat_that_is_not_understood_gives_no_figure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    on_a_mac(monkeypatch, tmp_path, VM_STAT.replace("wired down", "bound"))
    apple, _ = await read()
    assert apple.memory_used_bytes is None
    assert apple.unknown[0] == "memory used: vm_stat's output is not understood"


async def test_the_energy_counter_is_told_in_joules_and_null_on_cards_without_one() -> None:
    nvml = FakeNvml([FakeCard(millijoules=1_234_567), FakeCard(millijoules=None)])
    counting, silent, _ = await read(nvml)
    assert (counting.energy_j, silent.energy_j) == (1234.567, None)
    assert silent.unknown == ("energy: Not Supported",)
    devices = MachineDevices(nvml)
    assert await devices.energy("nvidia:0") == Energy(1234.567)
    assert await devices.energy("nvidia:1") == Energy(reason="energy: Not Supported")
    assert (await devices.energy("cpu")).reason == "energy: cpu has no counter that can be read"


async def test_the_parts_of_a_divided_card_are_devices_of_their_own() -> None:
    parts = [FakeCard("MIG 1g.5gb", total=5 * 2**30, used=2**30), None, FakeCard("MIG 2g.10gb", compute={1: 5})]
    card, first, third, _ = await read(FakeNvml([FakeCard(use=None, parts=parts)]))
    assert (card.id, card.utilisation_pct) == ("nvidia:0", None)
    assert (first.id, first.name, first.memory_total_bytes) == ("nvidia:0.0", "MIG 1g.5gb", 5 * 2**30)
    assert (third.id, [process.pid for process in third.processes]) == ("nvidia:0.2", [1])
    assert first.unknown == ("utilisation, temperature, power, energy: told for the whole card only",)


async def test_a_driver_that_breaks_in_an_unforeseen_way_hides_nothing_else(tmp_path: Path) -> None:
    class Broken(FakeNvml):
        def nvmlDeviceGetCount(self) -> int:  # noqa: N802  # NVML's name
            raise AttributeError("undefined symbol")

    [cpu] = await read(Broken())
    assert "nvidia: the reading failed: AttributeError: undefined symbol" in cpu.unknown


async def test_readings_at_the_same_time_share_one_look_at_the_driver() -> None:
    free = threading.Event()
    nvml = FakeNvml([FakeCard()], hang=free)
    devices = MachineDevices(nvml, limit_s=20.0)
    found: list[str] = []

    async def look() -> None:
        found.append((await devices.read())[0].id)

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(look)
        await anyio.wait_all_tasks_blocked()
        free.set()
    assert (found, nvml.inits) == (["nvidia:0"] * 3, 1)


async def test_a_process_belongs_to_the_server_that_listens_or_started_it() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        child = await anyio.open_process([sys.executable, "-c", "input()"])
        async with child:
            owners = await MachineDevices(FakeNvml()).owners([os.getpid(), child.pid, 1, 2**22 + 5], [port, 1])
            child.kill()
    assert owners == {os.getpid(): port, child.pid: port}
