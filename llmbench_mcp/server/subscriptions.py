"""Clients told when a run they subscribed to has changed, in both protocol eras.

The SDK (2.3) serves ``subscriptions/listen`` of 2026-07-28 from a bus, but leaves the handshake era's
``resources/subscribe`` to whoever registers handlers for it.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, EmptyResult, SubscribeRequestParams, UnsubscribeRequestParams

from llmbench_mcp.domain.errors import BenchError
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.server.compat import connection_of
from llmbench_mcp.server.errors import explain
from llmbench_mcp.server.holder import AppHolder

_LOG = logging.getLogger(__name__)
_RUN = re.compile(r"llmbench://run/([A-Za-z0-9_-]{1,64})")
MOST_PER_CLIENT = 100
MOST_WATCHED = 200
LOOK_S = 1.0
"""A subscriber is told at most this often of one run."""


class RunWatch:
    """Looks at the runs somebody subscribed to, and only while somebody is subscribed."""

    def __init__(self, holder: AppHolder) -> None:
        self.bus = InMemorySubscriptionBus()
        self._holder = holder
        self._held: Counter[str] = Counter()
        self._marks: dict[str, int] = {}
        self._clients: dict[Connection, set[str]] = {}
        self._wanted = anyio.Event()
        self._turn = anyio.Lock()
        self._failing = False

    @property
    def watched(self) -> frozenset[str]:
        """The addresses of the runs that are looked at."""
        return frozenset(self._held)

    async def run(self) -> None:
        """Until cancelled, tell subscribers what changed. Of several callers one works; the next takes over."""
        async with self._turn:
            while True:
                await self._wanted.wait()
                await self._look()
                await anyio.sleep(LOOK_S)

    async def listen(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Middleware: while a ``subscriptions/listen`` stream of 2026-07-28 is open, its runs are watched."""
        if ctx.method != "subscriptions/listen":
            return await call_next(ctx)
        async with self._holding(_uris(ctx.params)):
            return await call_next(ctx)

    def serve_handshake_era(self, server: Server[Any]) -> None:
        """Register ``resources/subscribe`` and ``resources/unsubscribe``."""
        server.add_request_handler("resources/subscribe", SubscribeRequestParams, self._subscribe)
        server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, self._unsubscribe)

    @asynccontextmanager
    async def _holding(self, uris: Sequence[str]) -> AsyncIterator[None]:
        runs = [uri for uri in uris if _RUN.fullmatch(uri)]
        self._hold(runs)
        try:
            await self._note(runs)
            yield
        finally:
            self._let_go(runs)

    async def _subscribe(self, ctx: ServerRequestContext[Any, Any], params: SubscribeRequestParams) -> EmptyResult:
        client, uri = connection_of(ctx), str(params.uri)
        if client not in self._clients:
            self._clients[client] = set()
            client.exit_stack.callback(self._forget, client)
        mine = self._clients[client]
        if len(mine) >= MOST_PER_CLIENT and uri not in mine:
            raise MCPError(
                INVALID_PARAMS, f"One client may subscribe to {MOST_PER_CLIENT} resources. Unsubscribe some."
            )
        if uri not in mine and _RUN.fullmatch(uri):
            self._hold([uri])
            mine.add(uri)
            await self._note([uri])
        return EmptyResult()

    async def _unsubscribe(self, ctx: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams) -> EmptyResult:
        uri, mine = str(params.uri), self._clients.get(connection_of(ctx), set())
        if uri in mine:
            mine.discard(uri)
            self._let_go([uri])
        return EmptyResult()

    def _forget(self, client: Connection) -> None:
        self._let_go(self._clients.pop(client, ()))

    def _hold(self, uris: Sequence[str]) -> None:
        fresh = sum(uri not in self._held for uri in uris)
        if len(self._held) + fresh > MOST_WATCHED:
            raise MCPError(INVALID_PARAMS, f"{MOST_WATCHED} runs are watched already. Use run_status with wait_s.")
        self._held.update(uris)
        if self._held:
            self._wanted.set()

    async def _note(self, uris: Sequence[str]) -> None:
        """Remember how the runs stand, so that no change from here on is missed."""
        for uri, mark in (await self._now([uri for uri in uris if uri not in self._marks])).items():
            if uri in self._held:
                self._marks.setdefault(uri, mark)

    def _let_go(self, uris: Sequence[str] | set[str]) -> None:
        self._held.subtract(uris)
        for uri in uris:
            if self._held[uri] <= 0:
                del self._held[uri]
                self._marks.pop(uri, None)
        if not self._held and self._wanted.is_set():
            self._wanted = anyio.Event()

    async def _look(self) -> None:
        now = await self._now(list(self._held))
        for uri, mark in now.items():
            if uri in self._held and self._marks.get(uri) != mark:
                self._marks[uri] = mark
                await self._announce(uri)

    async def _now(self, uris: Sequence[str]) -> Mapping[str, int]:
        """By address, a number that grows with every change of that run; nothing where they cannot be read."""
        ids = {uri: uri.removeprefix("llmbench://run/") for uri in uris}
        try:
            marks = await (await self._holder.get()).runs.marks(list(ids.values())) if ids else {}
        except BenchError as error:
            if not self._failing:
                _LOG.warning("subscribed runs cannot be looked at: %s", explain(error))
            self._failing = True
            return {}
        self._failing = False
        return {uri: marks.get(run_id, 0) for uri, run_id in ids.items()}

    async def _announce(self, uri: str) -> None:
        await self.bus.publish(ResourceUpdated(uri=uri))
        async with anyio.create_task_group() as group:
            for client, uris in list(self._clients.items()):
                if uri in uris:
                    group.start_soon(_tell, client, uri)


async def _tell(client: Connection, uri: str) -> None:
    with anyio.move_on_after(1):  # a client that does not read keeps nobody else from being told
        await client.send_resource_updated(uri)


def _uris(params: Mapping[str, Any] | None) -> list[str]:
    """The resources a listen request names, not yet validated. Raises MCPError for too many."""
    wanted = (params or {}).get("notifications")
    named = wanted.get("resourceSubscriptions") if isinstance(wanted, dict) else None
    uris = [uri for uri in named if isinstance(uri, str)] if isinstance(named, list) else []
    if len(uris) > MOST_PER_CLIENT:
        shown = one_line(str(len(uris)), 20)
        raise MCPError(INVALID_PARAMS, f"{shown} resources were named. One stream takes {MOST_PER_CLIENT}.")
    return list(dict.fromkeys(uris))
