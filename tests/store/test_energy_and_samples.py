"""Energy and device samples in databases that older programs wrote."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from llmbench_mcp.domain.clock import SystemClock
from llmbench_mcp.domain.errors import LeaseLost
from llmbench_mcp.domain.hardware import Device
from llmbench_mcp.store.attempts import AttemptFilter, AttemptStore
from llmbench_mcp.store.database import open_database
from llmbench_mcp.store.runs import RunStore
from llmbench_mcp.store.samples import SampleStore

OLD_DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize("old", sorted(OLD_DATA.glob("v*.sql")), ids=lambda path: path.stem)
async def test_of_older_results_the_energy_is_unknown_and_samples_can_be_kept(tmp_path: Path, old: Path) -> None:
    path = tmp_path / "llmbench.db"
    plain = sqlite3.connect(path)
    plain.executescript(old.read_text(encoding="utf-8"))
    plain.close()
    async with open_database(path) as database:
        run = await RunStore(database, SystemClock()).get("run_old")
        records, _ = await AttemptStore(database).page("run_old", AttemptFilter(), 10, 0)
        assert run is not None
        assert {(job.energy_j, job.energy_note) for job in run.jobs} == {(None, None)}
        assert not [name for record in records for name in record.facts if "energy" in name or "joules" in name]
        samples = SampleStore(database)
        await samples.add("2026-01-01T00:00:00.000Z", [Device("cpu", "CPU", "cpu")])
        await samples.add("2026-01-01T00:00:00.000Z", [Device("cpu", "CPU", "cpu")])
        assert [sample.device for sample in await samples.since("2025")] == ["cpu"]
        assert await samples.drop_before("2027") == 1


async def test_samples_of_an_executor_that_lost_its_lease_are_refused(tmp_path: Path) -> None:
    async with open_database(tmp_path / "llmbench.db") as database:
        with pytest.raises(LeaseLost):
            await SampleStore(database).add("2026", [Device("cpu", "CPU", "cpu")], ("executor", "nobody", 1))
        assert await SampleStore(database).since("2000") == []
