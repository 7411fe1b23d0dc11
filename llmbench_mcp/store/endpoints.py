"""Endpoints as rows."""

from __future__ import annotations

from collections.abc import Callable

from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.errors import ConflictError
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.store.database import Database, Row, Transaction


class EndpointStore:
    """Add, change, find and remove endpoints."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def all(self) -> list[Endpoint]:
        """Every endpoint, by name."""
        return [_endpoint(row) for row in await self._database.all("endpoints_all")]

    async def find(self, key: str) -> Endpoint | None:
        """By id, name or base URL."""
        row = await self._database.one("endpoint_by_key", key)
        return _endpoint(row) if row else None

    async def insert(self, endpoint: Endpoint) -> None:
        """Store a new one, seen now. Raises ConflictError when its name or URL is taken."""
        async with self._database.transaction() as transaction:
            if row := await transaction.one("endpoint_by_key", endpoint.id):
                raise ConflictError(
                    f"Endpoint {row['name']!r}, now at {row['url']}, has the id that {endpoint.url} would get.",
                    "Remove that one first (endpoint remove).",
                )
            await _check_free(transaction, endpoint)
            e = endpoint
            facts = (e.id, e.name, e.url, e.backend, e.device, e.credential_ref, e.concurrency, e.evict)
            seen = (e.added_by, e.server_version, _bit(e.reachable), self._clock.utc_now())
            await transaction.run("endpoint_insert", *facts, *seen)

    async def change(self, endpoint_id: str, change: Callable[[Endpoint], Endpoint]) -> None:
        """Make of it, as it is now, what ``change`` does, all but the id; seen now. One that is gone stays so.

        Raises ConflictError when another has its name or URL.
        """
        async with self._database.transaction() as transaction:
            row = await transaction.one("endpoint_by_key", endpoint_id)
            if row is None:
                return
            e = change(_endpoint(row))
            await _check_free(transaction, e)
            facts = (e.id, e.name, e.url, e.backend, e.device, e.credential_ref, e.concurrency, e.evict)
            seen = (e.server_version, _bit(e.reachable), self._clock.utc_now())
            await transaction.run("endpoint_update", *facts, *seen, e.added_by)

    async def seen(self, endpoint_id: str, server_version: str | None) -> None:
        """It answered just now."""
        async with self._database.transaction() as transaction:
            await transaction.run("endpoint_seen", endpoint_id, server_version, self._clock.utc_now())

    async def failed(self, endpoint_id: str, error: str, kind: str | None = None) -> None:
        """It did not answer, or not as it should; ``kind`` is the error's word: ``auth`` is a state of its own."""
        async with self._database.transaction() as transaction:
            await transaction.run("endpoint_failed", endpoint_id, error, kind)

    async def remove(self, endpoint: Endpoint) -> None:
        """Delete it and its new models; results stay, and other models that it alone offered become missing.

        Raises ConflictError while jobs for it are open.
        """
        async with self._database.transaction() as transaction:
            row = await transaction.one("endpoint_open_jobs", endpoint.id)
            if row and row["n"]:
                jobs, runs = ("job", "its run") if row["n"] == 1 else ("jobs", "their runs")
                raise ConflictError(
                    f"Endpoint {endpoint.name!r} has {row['n']} unfinished {jobs}.", f"Cancel {runs} first."
                )
            await transaction.run("endpoint_delete", endpoint.id)
            await transaction.run("models_forgotten")
            await transaction.run("models_abandoned_events", self._clock.utc_now())
            await transaction.run("models_abandoned")


async def _check_free(transaction: Transaction, endpoint: Endpoint) -> None:
    for key, kind in ((endpoint.name, "name"), (endpoint.url, "port")):
        for row in await transaction.all("endpoint_by_key", key):
            if row["id"] != endpoint.id:
                raise ConflictError(
                    f"Endpoint {row['name']!r}, {row['url']}, has {key!r} already.",
                    f"Choose another {kind} or remove that one (endpoint remove).",
                )


def _bit(value: bool | None) -> int | None:
    return None if value is None else int(value)


def _endpoint(row: Row) -> Endpoint:
    reachable = None if row["reachable"] is None else bool(row["reachable"])
    names = ("id", "name", "url", "backend", "device", "credential_ref", "concurrency", "evict", "added_by")
    seen = ("server_version", "last_seen", "last_error", "last_error_kind")
    return Endpoint(**{name: row[name] for name in names + seen}, reachable=reachable)
