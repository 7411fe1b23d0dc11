"""What devices show while work runs, kept and shown through the services."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.errors import StorageError
from llmbench_mcp.domain.hardware import Device, DeviceSample
from llmbench_mcp.domain.run import Run, RunRequest
from llmbench_mcp.store.database import open_database
from llmbench_mcp.store.samples import SampleStore
from tests.support.meters import CARD, MeteredCard, metered
from tests.support.rooms import server, settings_in, write_suite
from tests.support.waiting import until
from tests.support.work import finished, right, working


async def run_once(app: App) -> Run:
    async with working(app):
        return await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)


def until_read(card: MeteredCard, times: int) -> object:
    """Right answers, but not before the devices have been read so often."""

    async def answer(request: ChatRequest, again: int) -> Completion:
        async def enough() -> bool:
            return card.readings >= times

        await until(enough)
        return right(request, again)

    return answer


async def test_devices_are_read_while_work_runs_and_what_they_show_is_kept(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    card = MeteredCard()
    async with metered(tmp_path, card, server("m", answer=until_read(card, 4)), device_sample_s=0.5) as app:
        await run_once(app)
        samples = await app.devices.history(60, CARD)
        assert len(samples) >= 3
        assert [sample.at for sample in samples] == sorted((sample.at for sample in samples), reverse=True)
        newest = samples[0]
        assert newest == DeviceSample(newest.at, CARD, 2**30, 24 * 2**30, 50.0, None, 100.0, 1000.0)
        assert {sample.device for sample in await app.devices.history(60)} == {CARD, "cpu"}


async def test_an_idle_executor_reads_nothing(tmp_path: Path) -> None:
    card = MeteredCard()
    async with metered(tmp_path, card, server("m"), device_sample_s=0.5) as app:
        before = card.readings
        assert await app.executor.run(idle_exit_s=20)
        assert card.readings == before


async def test_no_samples_are_taken_where_that_is_turned_off(tmp_path: Path) -> None:
    write_suite(tmp_path, 2)
    card = MeteredCard()
    async with metered(tmp_path, card, server("m", answer=right), device_sample_s=0) as app:
        await run_once(app)
        assert await app.devices.history(60) == []


async def test_what_cannot_be_read_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_suite(tmp_path, 1)
    card = MeteredCard(unknown=("power: the tool hangs",))
    with caplog.at_level(logging.INFO, "llmbench_mcp.engine.sampler"):
        async with metered(tmp_path, card, server("m", answer=until_read(card, 5)), device_sample_s=0.5) as app:
            await run_once(app)
    told = [record.message for record in caplog.records if "the tool hangs" in record.message]
    assert told == [f"device {CARD}, unknown: power: the tool hangs"]


async def test_a_full_disk_stops_the_samples_and_not_the_work(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise StorageError("No space is left.")

    monkeypatch.setattr(SampleStore, "add", full)
    write_suite(tmp_path, 1)
    card = MeteredCard()
    async with metered(tmp_path, card, server("m", answer=until_read(card, 5)), device_sample_s=0.5) as app:
        run = await run_once(app)
    assert run.passed == 1
    assert len([record for record in caplog.records if "device samples cannot be stored" in record.message]) == 1


async def test_old_samples_are_forgotten(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    async with open_database(settings_in(tmp_path).database_path) as database:
        for at in ("2020-01-01T00:00:00.000Z", "2999-01-01T00:00:00.000Z"):
            await SampleStore(database).add(at, [Device("old:0", "Old", "nvidia")])
    card = MeteredCard()
    async with metered(tmp_path, card, server("m", answer=until_read(card, 3)), device_sample_s=0.5) as app:
        await run_once(app)
        samples = await app.devices.history(60 * 24 * 365 * 20, "old:0")
    assert [sample.at[:4] for sample in samples] == ["2999"]


async def test_a_device_shows_whose_servers_its_processes_are(tmp_path: Path) -> None:
    async with metered(tmp_path, MeteredCard(), server("m")) as app:
        card, cpu = await app.devices.read()
    assert (card.device.id, card.endpoints, card.owners) == (CARD, ("box",), {42: "box"})
    assert (cpu.endpoints, cpu.owners) == ((), {})
