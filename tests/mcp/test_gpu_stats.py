from __future__ import annotations

import os
import threading
from pathlib import Path

import anyio

from llmbench_mcp.gpu.reader import MachineDevices
from llmbench_mcp.testing.fake_nvml import FakeCard, FakeNvml
from tests.mcp.bench import BenchClient, Era, open_bench


async def test_a_device_is_read_with_units_and_reasons_for_what_is_null(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake)
        assert await client.call("gpu_stats") == {
            "devices": [
                {
                    "id": "nvidia:0",
                    "name": "Test GPU",
                    "kind": "nvidia",
                    "memory": "vram",
                    "vram_used_gib": 0.3333,
                    "vram_total_gib": 24.0,
                    "utilisation_pct": 12.35,
                    "temperature_c": None,
                    "power_w": None,
                    "energy_j": 123500.0,
                    "processes": [
                        {"pid": 42, "untrusted_name": "server\\x1b[31m", "memory_gib": 0.5, "endpoint": None},
                        {"pid": os.getpid(), "untrusted_name": None, "memory_gib": None, "endpoint": "fake"},
                    ],
                    "endpoints": ["fake"],
                    "unknown": ["power: not supported"],
                }
            ],
            "total": 1,
        }


async def test_a_hung_driver_holds_up_no_other_call(tmp_path: Path, era: Era) -> None:
    free = threading.Event()
    hung = MachineDevices(FakeNvml([FakeCard()], hang=free), limit_s=60.0)
    stats: list[str] = []

    async def ask(client: BenchClient) -> None:
        stats.extend(device["id"] for device in (await client.call("gpu_stats"))["devices"])

    async with (
        open_bench(tmp_path, devices=hung) as bench,
        bench.client(era) as client,
        anyio.create_task_group() as group,
    ):
        group.start_soon(ask, client)
        await anyio.wait_all_tasks_blocked()
        assert (await client.call("endpoint_list"))["total"] == 0
        assert stats == []
        free.set()
    assert stats == ["nvidia:0", "cpu"]
