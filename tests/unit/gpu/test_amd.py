"""AMD's tools, as programs on PATH."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest

from llmbench_mcp.domain.hardware import Device, DeviceProcess, Energy
from llmbench_mcp.gpu.reader import MachineDevices
from llmbench_mcp.testing.fake_amd import AmdCard, Envelope, FakeAmdTools
from llmbench_mcp.testing.fake_nvml import FakeCard, FakeNvml
from tests.support.waiting import until

NO_NVIDIA = FakeNvml(init_error="NVML Shared Library Not Found")


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeAmdTools:
    folder = tmp_path / "a folder"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return FakeAmdTools(folder)


async def read(limit_s: float = 20.0, nvml: FakeNvml = NO_NVIDIA) -> list[Device]:
    return list(await MachineDevices(nvml, limit_s).read())


def figures(card: Device) -> tuple[object, ...]:
    return (
        card.memory_total_bytes,
        card.memory_used_bytes,
        card.utilisation_pct,
        card.temperature_c,
        card.power_w,
        card.energy_j,
    )


@pytest.mark.parametrize("envelope", ["list", "gpu_data"])
async def test_amd_smi_is_read_in_both_of_its_envelopes(tools: FakeAmdTools, envelope: Envelope) -> None:
    tools.amd_smi([AmdCard(), AmdCard(name=None, edge=40)], envelope)
    first, second, cpu = await read()
    assert (first.id, first.kind, first.name) == ("amd:0", "amd", "AMD Instinct MI300X")
    assert figures(first) == (196_592 * 2**20, 49_148 * 2**20, 73.0, 61.0, 542.0, 1004.108)
    assert first.unknown == ()
    assert (second.id, second.name, second.temperature_c) == ("amd:1", "AMD card", 40.0)
    assert not [reason for reason in cpu.unknown if reason.startswith("amd")]


async def test_what_amd_smi_does_not_know_is_null_with_its_word_and_never_0(tools: FakeAmdTools) -> None:
    tools.amd_smi([AmdCard(total_mb=None, used_mb=None, use=None, hotspot=None, watts=None, joules=None)])
    card, _ = await read()
    assert figures(card) == (None,) * 6
    names = ("memory total", "memory used", "utilisation", "temperature", "power", "energy")
    assert card.unknown == tuple(f"{name}: the tool says 'N/A'" for name in names)


async def test_processes_hold_memory_of_the_card(tools: FakeAmdTools) -> None:
    tools.amd_smi([AmdCard(processes={4242: 2**30}), AmdCard()])
    first, second, _ = await read()
    assert first.processes == (DeviceProcess(4242, "llama-server", 2**30),)
    assert (second.processes, second.unknown) == ((), ())


async def test_a_version_that_knows_no_flags_is_asked_for_everything(tools: FakeAmdTools) -> None:
    tools.amd_smi([AmdCard()], knows_flags=False)
    card, _ = await read()
    assert card.utilisation_pct == 73.0


@pytest.mark.parametrize("as_list", [False, True])
async def test_rocm_smi_is_read_where_there_is_no_amd_smi(tools: FakeAmdTools, as_list: bool) -> None:
    tools.rocm_smi([AmdCard(name="Radeon RX 7900 XTX", total_mb=24_560, used_mb=1000, edge=47)], as_list=as_list)
    card, _ = await read()
    assert (card.id, card.name) == ("amd:0", "Radeon RX 7900 XTX")
    assert figures(card) == (24_560 * 2**20, 1000 * 2**20, 73.0, 47.0, 542.0, 1004.108)
    assert card.unknown == ("processes: rocm-smi does not tell them by card",)


async def test_rocm_smis_figures_count_although_it_ends_with_an_error(tools: FakeAmdTools) -> None:
    tools.rocm_smi([AmdCard(joules=None, used_mb=None)])
    card, _ = await read()
    assert (card.memory_used_bytes, card.energy_j, card.power_w) == (None, None, 542.0)
    assert "memory used: the tool says 'N/A'" in card.unknown
    assert "energy: not told" in card.unknown


async def test_numbers_that_are_texts_with_units_are_read(tools: FakeAmdTools) -> None:
    card = {"gpu": 3, "usage": {"gfx_activity": "12 %"}, "mem_usage": {"total_vram": "2 GB", "used_vram": 5}}
    tools.program("amd-smi", f"echo '{json.dumps([card])}'\n")
    read_card, _ = await read()
    assert (read_card.id, read_card.utilisation_pct) == ("amd:3", 12.0)
    assert (read_card.memory_total_bytes, read_card.memory_used_bytes) == (2 * 2**30, 5 * 2**20)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'no driver' >&2; exit 3", "amd: amd-smi: it printed no JSON (status 3: no driver)"),
        ("echo '[{\"gpu\": 0'", "amd: amd-smi: its output is no JSON"),
        ("echo '[]'", "amd: amd-smi: it lists no card"),
        ('echo \'[1, null, {"gpu": "x"}, {"gpu": -1}]\'', "amd: amd-smi: it lists no card"),
        ("yes | head -c 5000000", "amd: amd-smi: it printed more than 4194304 bytes"),
        ("printf '\\377\\000[[[[\\033'", "amd: amd-smi: it printed no JSON"),
        ("python3 -c \"print('[' * 200000)\"", "amd: amd-smi: its output is no JSON"),
    ],
)
async def test_a_broken_tool_is_a_reason_and_hides_no_other_device(
    tools: FakeAmdTools, script: str, reason: str
) -> None:
    tools.program("amd-smi", script + "\n")
    card, cpu = await read(nvml=FakeNvml([FakeCard()]))
    assert card.id == "nvidia:0"
    assert reason in cpu.unknown


async def test_a_hung_tool_is_killed_with_what_it_started_and_the_other_one_is_read(tools: FakeAmdTools) -> None:
    tools.hanging("amd-smi")
    tools.rocm_smi([AmdCard()])
    card, cpu = await read(limit_s=2.0)
    assert card.memory_used_bytes == 49_148 * 2**20
    assert "amd: amd-smi: it did not answer in time and was stopped" in cpu.unknown
    started = tools.pids("amd-smi")
    assert started

    async def gone() -> bool:
        return not [pid for pid in started if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"]

    await until(gone)


async def test_once_amd_smi_answered_rocm_smi_is_not_asked(tools: FakeAmdTools) -> None:
    tools.amd_smi([AmdCard()])
    tools.program("rocm-smi", f"echo x >> '{tools.folder}/asked'\n")
    devices = MachineDevices(NO_NVIDIA, 20.0)
    for _ in range(3):
        assert (await devices.read())[0].id == "amd:0"
    assert (tools.folder / "asked").read_text() == "x\n"


async def test_the_energy_counter_of_one_card_is_read_alone(tools: FakeAmdTools) -> None:
    tools.amd_smi([AmdCard(), AmdCard(joules=7.5), AmdCard(joules=None)])
    devices = MachineDevices(NO_NVIDIA, 20.0)
    assert await devices.energy("amd:1") == Energy(7.5)
    assert await devices.energy("amd:2") == Energy(reason="energy: the tool says 'N/A'")
    assert (await devices.energy("amd:9")).reason == "energy: amd-smi lists no card 9"
    (tools.folder / "amd-smi").unlink()
    assert (await devices.energy("amd:0")).reason == "energy: no AMD tool is on PATH"
    tools.rocm_smi([AmdCard(joules=2.5)])
    assert await devices.energy("amd:0") == Energy(2.5)


async def test_a_tool_in_the_current_folder_is_not_run(tools: FakeAmdTools, monkeypatch: pytest.MonkeyPatch) -> None:
    tools.amd_smi([AmdCard()])
    monkeypatch.chdir(tools.folder)
    monkeypatch.setenv("PATH", ".:/usr/bin:/bin")
    assert [device.id for device in await read()] == ["cpu"]
