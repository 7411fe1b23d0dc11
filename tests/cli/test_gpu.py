"""``gpu``: devices now, and what they showed while work ran."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.domain.clock import SystemClock
from llmbench_mcp.domain.hardware import Device
from llmbench_mcp.store.database import open_database
from llmbench_mcp.store.samples import SampleStore
from llmbench_mcp.testing.fake_amd import AmdCard, FakeAmdTools
from llmbench_mcp.testing.fake_exporters import RemoteCard, dcgm
from llmbench_mcp.testing.fake_server import FakeServer
from llmbench_mcp.testing.replies import Reply
from tests.cli.conftest import Cli
from tests.cli.support import running


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeAmdTools:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return FakeAmdTools(tmp_path)


def test_cards_of_every_kind_are_shown_with_their_processes(
    cli: Cli, tools: FakeAmdTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools.amd_smi([AmdCard(processes={4_194_399: 2**30})])
    page = dcgm([RemoteCard(index="1", used=1000, free=None)])
    with running(FakeServer()) as exporter:
        exporter.routes["GET /metrics"] = lambda request: Reply(body=page)
        monkeypatch.setenv("LLMBENCH_GPU_EXPORTERS", f" {exporter.url} ,")
        document, shown = cli("gpu", "--json").json, cli("gpu").out
    devices = {device["id"]: device for device in document["devices"]}
    assert list(devices) == ["amd:0", "cpu", "remote:127.0.0.1:1"]
    process = {"pid": 4_194_399, "name": "llama-server", "memory_bytes": 2**30, "endpoint": None}
    assert devices["amd:0"]["processes"] == [process]
    assert (devices["amd:0"]["energy_j"], devices["amd:0"]["memory"]) == (1004.108, "vram")
    assert devices["remote:127.0.0.1:1"]["memory_total_bytes"] is None
    for text in ("AMD Instinct MI300X", "542 W", "4194399 llama-server 1 GiB", "memory total: not told", "system"):
        assert text in shown


def test_a_tool_that_prints_na_and_one_that_hangs_give_no_zeros(cli: Cli, tools: FakeAmdTools) -> None:
    tools.hanging("amd-smi")
    tools.rocm_smi([AmdCard(used_mb=None, total_mb=None)])
    card, cpu = cli("gpu", "--json").json["devices"]
    assert (card["memory_used_bytes"], card["memory_total_bytes"]) == (None, None)
    assert "amd: amd-smi: it did not answer in time and was stopped" in cpu["unknown"]


def test_an_exporter_that_is_no_address_is_refused_by_name(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMBENCH_GPU_EXPORTERS", "http://user:secret@box:9400")
    refused = cli("gpu")
    assert refused.code == exit_codes.FAILED
    assert "LLMBENCH_GPU_EXPORTERS" in refused.err
    assert "secret" not in refused.err


def test_what_devices_showed_while_work_ran_is_looked_up(cli: Cli, data_dir: Path) -> None:
    assert cli("gpu", "--minutes", "60", "--json").json == {"samples": []}

    async def keep() -> None:
        card = Device("nvidia:0", "Card", "nvidia", 24 * 10**9, 6 * 10**9, 87.0, None, 250.0)
        async with open_database(data_dir / "llmbench.db") as database:
            await SampleStore(database).add(SystemClock().utc_now(), [card])
            await SampleStore(database).add("2020-01-01T00:00:00.000Z", [card])

    asyncio.run(keep())
    [sample] = cli("gpu", "--minutes", "60", "--json").json["samples"]
    assert (sample["device"], sample["memory_used_bytes"], sample["temperature_c"]) == ("nvidia:0", 6 * 10**9, None)
    shown = cli("gpu", "--minutes", "60").out
    assert "87 %" in shown
    assert "250 W" in shown
