"""Discovery: which models the servers offer now, taken into the registry."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import anyio

from llmbench_mcp.config import Settings
from llmbench_mcp.domain.endpoint import Endpoint, ModelList, OfferedModel, ServerInfo
from llmbench_mcp.domain.errors import BenchError, EndpointTimeout, InputError, StorageError
from llmbench_mcp.domain.model import DiscoveryReport
from llmbench_mcp.domain.ports import BackendFactory, Clock
from llmbench_mcp.services.endpoints import Endpoints
from llmbench_mcp.services.lent import lent
from llmbench_mcp.services.neighbourhood import Neighbourhood, Neighbours
from llmbench_mcp.store.endpoints import EndpointStore
from llmbench_mcp.store.models import ModelStore

log = logging.getLogger(__name__)

Look = Callable[[], Awaitable[Sequence[DiscoveryReport]]]

_ADD_IT = "Add it with endpoint_add (endpoint add)."


class Discovery:
    """Looks at endpoints concurrently, each with its own time limit; a failing one stops and delays no other."""

    def __init__(
        self,
        store: ModelStore,
        endpoint_store: EndpointStore,
        endpoints: Endpoints,
        backends: BackendFactory,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._store = store
        self._endpoint_store = endpoint_store
        self._endpoints = endpoints
        self._backends = backends
        self._settings = settings
        self._clock = clock
        self._neighbourhood = Neighbourhood(endpoints, settings)

    async def look(
        self, names: Sequence[str] = (), *, around: bool = False, by_agent: bool = False
    ) -> list[DiscoveryReport]:
        """Look at all or the named endpoints; with ``around``, or when none is known, at the usual ports too.

        Raises:
            InputError: no endpoint is known and none was found. NotFoundError: a name is not one.
        """
        known = await self._endpoint_store.all()
        wanted = [await self._endpoints.get(name) for name in dict.fromkeys(names)] or known
        new = Neighbours()
        if around or not wanted:
            new = await self._neighbourhood.look(known, by_agent)
        if not (wanted or new.added or new.refused):
            raise self._nothing()
        reports = await self._look_at([*wanted, *new.added], {endpoint.id for endpoint in new.added})
        return reports + [
            DiscoveryReport(url, error=error.what, next_step=error.next_step or _ADD_IT) for url, error in new.refused
        ]

    def _nothing(self) -> InputError:
        ports = ", ".join(str(port) for port in self._neighbourhood.ports)
        where = f", and no inference server answers on this machine at port {ports}" if ports else " yet"
        return InputError(f"No endpoint is known{where}.", "Call endpoint_add (endpoint add) with a server's address.")

    async def _look_at(self, endpoints: Sequence[Endpoint], new: set[str]) -> list[DiscoveryReport]:
        reports: dict[str, DiscoveryReport] = {}

        async def one(endpoint: Endpoint) -> None:
            reports[endpoint.id] = await self._one(endpoint, endpoint.id in new)

        async with anyio.create_task_group() as group:
            for endpoint in endpoints:
                group.start_soon(one, endpoint)
        return [reports[endpoint.id] for endpoint in endpoints]

    async def _one(self, endpoint: Endpoint, is_new: bool) -> DiscoveryReport:
        try:
            info, offered = await self._ask(endpoint)
            await self._endpoint_store.seen(endpoint.id, info.version)
            report = await self._store.merge(
                endpoint, ModelList([model.believable() for model in offered], getattr(offered, "warnings", ()))
            )
            return replace(report, new_on=endpoint.device) if is_new else report
        except StorageError:
            raise
        except BenchError as problem:
            error = problem
        new_on = endpoint.device if is_new else None
        await self._endpoint_store.failed(endpoint.id, error.what, error.word)
        return DiscoveryReport(endpoint.name, error=error.what, next_step=error.next_step, new_on=new_on)

    async def _ask(self, endpoint: Endpoint) -> tuple[ServerInfo, Sequence[OfferedModel]]:
        limit = self._settings.discover_timeout_s
        async with lent(self._backends, endpoint) as backend:
            try:
                with anyio.fail_after(limit):
                    return await backend.inspect(), await backend.list_models()
            except TimeoutError as error:
                raise EndpointTimeout(f"{endpoint.url} gave no list within {limit:g} s.", "Try again.") from error

    async def keep_looking(self, look: Look | None = None) -> None:
        """Look at all known endpoints, or as ``look`` does, every ``discover_every_s`` until cancelled; 0: never.

        For a background process: nothing is shown, failures are stored with the endpoints and logged.
        """
        while self._settings.discover_every_s:
            await self._clock.sleep(self._settings.discover_every_s)
            try:
                for report in await (look or self._look_at_known)():
                    _log(report)
            except* StorageError as failed:
                # A full disk or a lock may pass; what is to be said of it, runs say.
                log.warning("discovery could not be stored: %s", failed.exceptions[0])

    async def _look_at_known(self) -> Sequence[DiscoveryReport]:
        return await self._look_at(await self._endpoint_store.all(), set())


def _log(report: DiscoveryReport) -> None:
    if report.error:
        log.warning("discovery at %s: %s", report.endpoint_name, report.error)
    changed = {kind: getattr(report, kind) for kind in ("added", "changed", "missing", "removed", "back")}
    told = ", ".join(f"{len(names)} {kind}" for kind, names in changed.items() if names)
    if told:
        log.info("discovery at %s: %s", report.endpoint_name, told)
