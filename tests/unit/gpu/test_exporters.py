"""GPUs of other machines, through exporters that speak HTTP."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator

import pytest

from llmbench_mcp.domain.address import parse_address
from llmbench_mcp.domain.hardware import Device
from llmbench_mcp.gpu.reader import MachineDevices
from llmbench_mcp.testing.fake_exporters import RemoteCard, dcgm, nvidia_smi
from llmbench_mcp.testing.fake_nvml import FakeCard, FakeNvml
from llmbench_mcp.testing.fake_server import FakeServer
from llmbench_mcp.testing.replies import Gate, Reply


@pytest.fixture
async def exporter() -> AsyncIterator[FakeServer]:
    async with FakeServer() as server:
        yield server


def serve(exporter: FakeServer, reply: Reply | str) -> None:
    exporter.routes["GET /metrics"] = lambda request: reply if isinstance(reply, Reply) else Reply(body=reply)


async def read(*urls: str, limit_s: float = 20.0) -> list[Device]:
    addresses = [parse_address(url) for url in urls]
    devices = await MachineDevices(FakeNvml(), limit_s, addresses).read()
    assert devices[0].id == "cpu"
    return list(devices[1:])


async def test_a_dcgm_exporters_cards_are_read_in_bytes_and_joules(exporter: FakeServer) -> None:
    serve(exporter, dcgm([RemoteCard(), RemoteCard(index="1", name='A "b" {c}')]))
    first, second = await read(exporter.url)
    assert (first.id, first.kind, first.name) == ("remote:127.0.0.1:0", "remote", "NVIDIA A100-SXM4-40GB")
    assert (first.memory_total_bytes, first.memory_used_bytes) == (40_535 * 2**20, 4845 * 2**20)
    assert (first.utilisation_pct, first.temperature_c, first.power_w) == (37.0, 31.0, 77.5)
    assert first.energy_j == pytest.approx(319_159.391)
    assert first.unknown == ("processes: not told by the exporter",)
    assert (second.id, second.name) == ("remote:127.0.0.1:1", 'A "b" {c}')


async def test_a_nvidia_gpu_exporters_cards_are_read(exporter: FakeServer) -> None:
    serve(exporter, nvidia_smi([RemoteCard(index="1"), RemoteCard(index="0", use=0)]))
    first, second = await read(exporter.url + "/metrics")
    assert (first.id, first.name) == ("remote:127.0.0.1:1", "NVIDIA A100-SXM4-40GB")
    assert first.memory_total_bytes == pytest.approx(40_535 * 2**20, rel=1e-6)
    assert (first.utilisation_pct, first.temperature_c, first.power_w, first.energy_j) == (37.0, 31.0, 77.5, None)
    assert first.unknown == ("energy: not told by the exporter", "processes: not told by the exporter")
    assert second.utilisation_pct == 0.0


@pytest.mark.parametrize("page", [dcgm, nvidia_smi])
async def test_what_an_exporter_leaves_out_is_null_with_a_reason(exporter: FakeServer, page: object) -> None:
    bare = RemoteCard(used=None, free=None, use=None, heat=None, watts=1.0, millijoules=None)
    serve(exporter, page([bare]))  # type: ignore[operator]  # either of the two
    [card] = await read(exporter.url)
    assert (card.memory_total_bytes, card.memory_used_bytes, card.utilisation_pct) == (None,) * 3
    assert (card.temperature_c, card.energy_j, card.power_w) == (None, None, 1.0)
    assert {"memory total: not told", "memory used: not told", "utilisation: not told"} <= set(card.unknown)


async def test_values_that_mean_nothing_are_null(exporter: FakeServer) -> None:
    serve(exporter, dcgm([RemoteCard(used=1e30)]))
    assert (await read(exporter.url))[0].memory_used_bytes is None
    blank = RemoteCard(used=2147483632, heat=9223372036854775794, millijoules=0)
    serve(exporter, dcgm([blank]).replace(" 37\n", " NaN\n").replace(" 77.5\n", " many\n"))
    [card] = await read(exporter.url)
    assert (card.memory_used_bytes, card.memory_total_bytes, card.temperature_c) == (None,) * 3
    assert (card.utilisation_pct, card.power_w, card.energy_j) == (None,) * 3


async def test_figures_of_a_reading_that_failed_are_not_believed(exporter: FakeServer) -> None:
    serve(exporter, nvidia_smi([RemoteCard()], succeeded=False))
    [card] = await read(exporter.url)
    assert card.memory_used_bytes is None
    assert card.unknown[0] == "all: the exporter's last reading of its cards failed"


async def test_parts_of_a_card_and_cards_of_several_hosts_are_told_apart(exporter: FakeServer) -> None:
    part = RemoteCard(labels={"GPU_I_ID": "3", "GPU_I_PROFILE": "1g.5gb"})
    serve(exporter, dcgm([part, RemoteCard(labels={"Hostname": "node-b"})]))
    assert [card.id for card in await read(exporter.url)] == ["remote:node-a:0.3", "remote:node-b:0"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(503, "busy"), "answers with status 503"),
        (Reply(302, "", {"Location": "http://127.0.0.1:1/metrics"}), "answers with status 302"),
        (Reply(body="node_load1 0.5\n"), "tells of no NVIDIA card"),
        (Reply(body=b"\xff\x00" * 1000), "tells of no NVIDIA card"),
        (Reply(body=b"x" * 4_200_000), "sends more than 4194304 bytes"),
        (Reply(body="DCGM_FI_DEV_FB_USED{gpu=" + '"' * 9000 + "}" * 900 + " 1\n"), "tells of no NVIDIA card"),
        (Reply(body="DCGM_FI_DEV_FB_USED{" + "a" * 9000 + "} 1\n" * 400), "tells of no NVIDIA card"),
    ],
)
async def test_an_exporter_without_cards_is_a_device_of_which_all_is_unknown(
    exporter: FakeServer, reply: Reply, reason: str
) -> None:
    serve(exporter, reply)
    [silent] = await read(exporter.url)
    assert (silent.id, silent.memory_used_bytes) == ("remote:127.0.0.1", None)
    assert silent.unknown == (f"all: the exporter {exporter.url}/metrics {reason}",)


async def test_a_hung_exporter_hides_neither_another_one_nor_this_machine(exporter: FakeServer) -> None:
    serve(exporter, dcgm([RemoteCard()]))
    async with FakeServer() as hung:
        serve(hung, Reply(before=Gate()))
        url = hung.url.replace("127.0.0.1", "localhost")
        silent, card = await read(url, exporter.url, limit_s=2.0)
    assert silent.unknown == (f"all: the exporter {url}/metrics did not answer within 2 s",)
    assert card.id == "remote:127.0.0.1:0"


async def test_nothing_listening_is_told() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        [silent] = await read(f"http://127.0.0.1:{free.getsockname()[1]}")
    assert "cannot be read" in silent.unknown[0]


async def test_loopback_exporters_are_asked_past_any_proxy(
    exporter: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    serve(exporter, dcgm([RemoteCard()]))
    assert [card.id for card in await read(exporter.url)] == ["remote:127.0.0.1:0"]


async def test_of_two_exporters_of_one_card_the_first_counts(exporter: FakeServer) -> None:
    serve(exporter, dcgm([RemoteCard()]))
    async with FakeServer() as second:
        serve(second, nvidia_smi([RemoteCard(name="again"), RemoteCard(index="1")]))
        first, other = await read(exporter.url, second.url)
    assert (first.name, other.id) == ("NVIDIA A100-SXM4-40GB", "remote:127.0.0.1:1")


async def test_remote_counters_are_too_coarse_for_attempts(exporter: FakeServer) -> None:
    energy = await MachineDevices(FakeNvml([FakeCard()])).energy("remote:127.0.0.1:0")
    assert energy.joules is None
    assert energy.reason == "energy: remote:127.0.0.1:0 has no counter that can be read"
