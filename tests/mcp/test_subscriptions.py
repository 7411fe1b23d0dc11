"""Runs that are watched: subscribers of both eras are told, and nobody looks while nobody asks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.client.sse import sse_client
from mcp.types import INVALID_PARAMS, ResourceUpdatedNotification

from llmbench_mcp.domain.errors import StorageBusy
from llmbench_mcp.server import subscriptions
from llmbench_mcp.server.build import BenchServer, build_server
from llmbench_mcp.server.holder import AppHolder
from tests.mcp.bench import Era, open_bench, settings_in
from tests.mcp.sites import open_site
from tests.mcp.test_run_tools import Held, start
from tests.support.waiting import until

# The handshake era's way to subscribe is what is tested here; the client says that it is the old one.
pytestmark = pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed:mcp.MCPDeprecationWarning")

ONE, TWO = "llmbench://run/run_1", "llmbench://run/run_2"


class Told:
    """What a subscriber was told, in order."""

    def __init__(self) -> None:
        self.uris: list[str] = []

    async def __call__(self, message: Any) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            self.uris.append(str(message.params.uri))

    async def of(self, uri: str, times: int = 1) -> None:
        async def heard() -> bool:
            return self.uris.count(uri) >= times

        await until(heard)


class Histories:
    """Stands for the service: how far each run's history goes, and how often somebody looked."""

    def __init__(self) -> None:
        self.seqs = {"run_1": 1, "run_2": 1}
        self.looks = 0
        self.busy = False
        self.let_later_looks_through = anyio.Event()
        self.let_later_looks_through.set()

    async def marks(self, run_ids: Sequence[str]) -> Mapping[str, int]:
        self.looks += 1
        if self.looks > 1:
            await self.let_later_looks_through.wait()
        if self.busy:
            raise StorageBusy("The database is busy.")
        return {run_id: self.seqs[run_id] for run_id in run_ids if run_id in self.seqs}


@pytest.fixture
def histories(monkeypatch: pytest.MonkeyPatch) -> Histories:
    made = Histories()

    async def get(_: AppHolder) -> Any:
        return SimpleNamespace(runs=made)

    monkeypatch.setattr(AppHolder, "get", get)
    monkeypatch.setattr(subscriptions, "LOOK_S", 0.01)
    return made


@pytest.fixture
def server(tmp_path: Path, histories: Histories) -> BenchServer:
    return build_server(AppHolder(settings_in(tmp_path)))


@asynccontextmanager
async def subscribed(server: Any, era: Era, *uris: str) -> AsyncIterator[Told]:
    """A client of one era, subscribed; it leaves without a word."""
    told = Told()
    async with Client(server, mode=era, message_handler=told) as client:
        if era == "legacy":
            for uri in uris:
                await client.subscribe_resource(uri)
            yield told
            return
        async with client.listen(resource_subscriptions=list(uris)) as stream, anyio.create_task_group() as group:
            group.start_soon(_hear, stream, told)
            yield told
            group.cancel_scope.cancel()


async def _hear(stream: Any, told: Told) -> None:
    async for event in stream:
        told.uris.append(event.uri)


async def nothing_watched(server: BenchServer) -> None:
    async def idle() -> bool:
        return not server.watch.watched

    await until(idle)


async def test_a_subscriber_is_told_as_a_run_goes_on(tmp_path: Path, era: Era) -> None:
    held = Held()
    async with open_bench(tmp_path, script=held) as bench, bench.client(era) as client:
        run_id = await start(bench, client)
        uri = f"llmbench://run/{run_id}"
        await held.gate.reached()
        async with subscribed(bench.server, era, uri) as told:
            held.gate.open()
            await told.of(uri)
            await client.finish(run_id)
            assert set(told.uris) == {uri}
        await nothing_watched(bench.server)


@pytest.mark.parametrize("door", ["http", "sse"])
async def test_a_subscriber_is_told_over_the_wire(tmp_path: Path, door: str, era: Era) -> None:
    held = Held()
    async with open_site(tmp_path, script=held) as site, site.client("http", era) as client:
        run_id = await start(site.bench, client)
        uri = f"llmbench://run/{run_id}"
        await held.gate.reached()
        wire: Any = f"{site.url}/mcp" if door == "http" else sse_client(f"{site.url}/sse")
        async with subscribed(wire, era, uri) as told:
            held.gate.open()
            await told.of(uri)
        await nothing_watched(site.http.server)


async def test_what_happens_before_the_first_look_is_told(server: BenchServer, histories: Histories, era: Era) -> None:
    histories.let_later_looks_through = anyio.Event()
    async with subscribed(server, era, ONE) as told:
        histories.seqs["run_1"] += 1
        histories.let_later_looks_through.set()
        await told.of(ONE)


async def test_only_what_changed_is_told(server: BenchServer, histories: Histories, era: Era) -> None:
    async with subscribed(server, era, ONE, TWO) as told:
        for times in (1, 2):
            histories.seqs["run_2"] += 1
            await told.of(TWO, times)
        assert ONE not in told.uris


async def test_a_run_that_is_removed_is_told(server: BenchServer, histories: Histories, era: Era) -> None:
    async with subscribed(server, era, ONE) as told:
        del histories.seqs["run_1"]
        await told.of(ONE)


async def test_nobody_looks_while_nobody_is_subscribed(server: BenchServer, histories: Histories, era: Era) -> None:
    async with Client(server, mode=era) as client:
        await client.list_tools()
        assert histories.looks == 0
        async with subscribed(server, era, "llmbench://gpus", "test://other", "llmbench://run/a/attempt/1"):
            assert server.watch.watched == frozenset()
        assert histories.looks == 0


async def test_a_client_that_leaves_is_forgotten(server: BenchServer, era: Era) -> None:
    async with subscribed(server, era, ONE):
        assert server.watch.watched == {ONE}
    await nothing_watched(server)


async def test_unsubscribing_ends_it(server: BenchServer, histories: Histories) -> None:
    told = Told()
    async with Client(server, mode="legacy", message_handler=told) as client:
        await client.subscribe_resource(ONE)
        await client.subscribe_resource(ONE)
        await client.subscribe_resource(TWO)
        await client.unsubscribe_resource(ONE)
        await client.unsubscribe_resource("llmbench://run/never")
        assert server.watch.watched == {TWO}
        histories.seqs |= {"run_1": 9, "run_2": 9}
        await told.of(TWO)
        assert told.uris == [TWO]


async def test_the_next_connection_takes_over_when_the_one_that_watches_ends(
    server: BenchServer, histories: Histories, era: Era
) -> None:
    ended = anyio.Event()

    async def first() -> None:
        async with subscribed(server, era, ONE) as told:
            histories.seqs["run_1"] += 1
            await told.of(ONE)
            await ended.wait()

    async with anyio.create_task_group() as group:
        group.start_soon(first)

        async def watching() -> bool:
            return ONE in server.watch.watched

        await until(watching)
        async with subscribed(server, "legacy", ONE) as told:
            ended.set()
            for times in (1, 2, 3):
                histories.seqs["run_1"] += 1
                await told.of(ONE, times)


async def test_a_database_that_is_busy_ends_no_subscription(
    server: BenchServer, histories: Histories, era: Era, caplog: pytest.LogCaptureFixture
) -> None:
    histories.busy = True
    async with subscribed(server, era, ONE) as told:

        async def complained() -> bool:
            return "cannot be looked at" in caplog.text

        await until(complained)
        histories.busy = False
        histories.seqs["run_1"] += 1
        await told.of(ONE)


async def test_one_client_may_watch_so_many(server: BenchServer, era: Era) -> None:
    many = [f"llmbench://run/run_{number}" for number in range(subscriptions.MOST_PER_CLIENT + 1)]
    with pytest.RaisesGroup(pytest.RaisesExc(MCPError, match=r"\b100\b"), flatten_subgroups=True):
        async with subscribed(server, era, *many):
            pass
    await nothing_watched(server)


async def test_all_together_may_watch_so_many(server: BenchServer, era: Era, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "MOST_WATCHED", 1)
    async with subscribed(server, era, ONE), Client(server, mode="legacy") as client:
        await client.subscribe_resource(ONE)
        with pytest.raises(MCPError, match="run_status with wait_s") as refusal:
            await client.subscribe_resource(TWO)
        assert refusal.value.error.code == INVALID_PARAMS
