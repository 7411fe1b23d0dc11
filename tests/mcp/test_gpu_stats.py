from __future__ import annotations

from pathlib import Path

from tests.mcp.bench import Era, open_bench


async def test_a_device_is_read_with_units_and_reasons_for_what_is_null(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake)
        assert await client.call("gpu_stats") == {
            "devices": [
                {
                    "id": "nvidia:0",
                    "name": "Test GPU",
                    "kind": "nvidia",
                    "vram_used_gib": 0.3333,
                    "vram_total_gib": 24.0,
                    "utilisation_pct": 12.35,
                    "temperature_c": None,
                    "power_w": None,
                    "processes": [{"pid": 42, "untrusted_name": "server\\x1b[31m", "memory_gib": 0.5}],
                    "endpoints": ["fake"],
                    "unknown": ["power: not supported"],
                }
            ],
            "total": 1,
        }
