from __future__ import annotations

import os
import platform
import threading

import psutil
import pytest

from llmbench_mcp.domain.hardware import Device, DeviceProcess
from llmbench_mcp.gpu.reader import MachineDevices
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


async def test_the_processor_shows_the_systems_memory() -> None:
    [cpu] = await read()
    total = psutil.virtual_memory().total
    assert cpu.memory_total_bytes == total
    assert cpu.memory_used_bytes is not None
    assert 0 < cpu.memory_used_bytes < total
    assert cpu.name
    assert cpu.utilisation_pct is None or 0 <= cpu.utilisation_pct <= 100


async def test_the_real_library_is_asked_by_default() -> None:
    devices = await MachineDevices().read()
    assert devices[-1].id == "cpu"
    assert len(devices) > 1 or any("nvidia" in reason for reason in devices[-1].unknown)


async def test_apple_silicon_is_unified_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    apple, cpu = await read()
    assert (apple.id, apple.kind) == ("apple:0", "apple")
    assert apple.memory_total_bytes == cpu.memory_total_bytes
