"""Models, the endpoints that offer them, and their assignment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from llmbench_mcp.domain.endpoint import Endpoint, OfferedModel
from llmbench_mcp.domain.ids import new_id
from llmbench_mcp.domain.model import DiscoveryReport, Home, Model, ModelStatus
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.store.database import Database, Row, Transaction


@dataclass(slots=True)
class _Changes:
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    back: list[str] = field(default_factory=list)


class ModelStore:
    """The registry: discovery merges into it, assignment and status change it."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def all(self) -> list[Model]:
        """Every model with its homes, by name."""
        homes: dict[str, list[Home]] = {}
        for row in await self._database.all("homes_all"):
            home = Home(row["endpoint_id"], row["endpoint_name"], row["served_name"], bool(row["present"]))
            homes.setdefault(row["model_id"], []).append(home)
        rows = await self._database.all("models_all")
        return [_model(row, tuple(homes.get(row["id"], ()))) for row in rows]

    async def merge(self, endpoint: Endpoint, offered: Sequence[OfferedModel]) -> DiscoveryReport:
        """Take in one endpoint's list: one transaction, nothing half done.

        One model by digest with several homes; without a digest by endpoint and served name. A model that
        is gone is removed when it is ``new`` and has no history, else it becomes ``missing``.
        """
        changes = _Changes()
        async with self._database.transaction() as transaction:
            rows = await transaction.all("homes_of_endpoint", endpoint.id)
            known = {row["served_name"]: row for row in rows}
            for model in offered:
                await self._merge_one(transaction, endpoint, model, known.pop(model.served_name, None), changes)
            for row in known.values():
                if row["present"]:
                    await self._gone(transaction, row, changes)
        warnings = tuple(warning for model in offered for warning in model.warnings)
        c = changes
        lists = (tuple(c.added), tuple(c.changed), tuple(c.missing), tuple(c.removed), tuple(c.back))
        return DiscoveryReport(endpoint.name, len(offered), *lists, warnings=warnings)

    async def _merge_one(
        self,
        transaction: Transaction,
        endpoint: Endpoint,
        offered: OfferedModel,
        home: Row | None,
        changes: _Changes,
    ) -> None:
        by_digest = await transaction.one("model_by_digest", offered.digest) if offered.digest else None
        model_id = by_digest["id"] if by_digest else None
        if model_id is None and home is not None and not offered.digest:
            model_id = home["model_id"]
        if model_id is None and not offered.digest:
            model_id = await self._found_again(transaction, offered)
        if model_id is None:
            model_id = await self._insert(transaction, offered)
        if home is None:
            changes.added.append(offered.served_name)
        elif home["model_id"] != model_id:
            changes.changed.append(offered.served_name)
        elif not home["present"]:
            changes.back.append(offered.served_name)
            await transaction.run("model_back", model_id)
        facts = (offered.family, offered.parameter_count, offered.quantisation, offered.size_bytes)
        capabilities = json.dumps(list(offered.capabilities))
        now = self._clock.utc_now()
        await transaction.run("model_refresh", model_id, *facts, offered.context_length, capabilities, now)
        await transaction.run("home_upsert", model_id, endpoint.id, offered.served_name, now)
        if home is not None and home["model_id"] != model_id:
            await self._homeless(transaction, home["model_id"])

    async def _found_again(self, transaction: Transaction, offered: OfferedModel) -> str | None:
        """A model of that name and quantisation which lost its last home: its history goes on."""
        row = await transaction.one("model_homeless", offered.served_name, offered.quantisation)
        if row is None:
            return None
        await transaction.run("model_back", row["id"])
        return str(row["id"])

    async def _insert(self, transaction: Transaction, offered: OfferedModel) -> str:
        model_id = new_id("model")
        facts = (offered.family, offered.parameter_count, offered.quantisation, offered.size_bytes)
        values = (offered.digest, *facts, offered.context_length, json.dumps(list(offered.capabilities)))
        await transaction.run("model_insert", model_id, offered.served_name, *values, self._clock.utc_now())
        return model_id

    async def _gone(self, transaction: Transaction, home: Row, changes: _Changes) -> None:
        await transaction.run("home_gone", home["endpoint_id"], home["served_name"])
        removed = await self._homeless(transaction, home["model_id"])
        (changes.removed if removed else changes.missing).append(home["served_name"])

    async def _homeless(self, transaction: Transaction, model_id: str) -> bool:
        """A model lost a home: without any left it is removed (True) when new, else ``missing``."""
        left = await transaction.one("model_homes_left", model_id)
        if left and left["n"]:
            return False
        if await transaction.one("model_without_history", model_id):
            await transaction.run("model_delete", model_id)
            return True
        await transaction.run("model_status", model_id, "missing", "no endpoint offers it any more")
        return False

    async def assign(self, model_id: str, endpoint_id: str | None) -> None:
        """Assign to an endpoint (status active) or to none (status new)."""
        status = "active" if endpoint_id else "new"
        async with self._database.transaction() as transaction:
            await transaction.run("model_assign", model_id, endpoint_id, status)

    async def set_status(self, model_id: str, status: ModelStatus, reason: str | None) -> None:
        """Record a status with its reason."""
        async with self._database.transaction() as transaction:
            await transaction.run("model_status", model_id, status, reason)


def _model(row: Row, homes: tuple[Home, ...]) -> Model:
    names = ("id", "name", "status", "digest", "family", "parameter_count", "quantisation", "size_bytes")
    more = ("context_length", "assigned_endpoint_id", "status_reason", "first_seen", "last_seen")
    facts = {name: row[name] for name in names + more}
    return Model(**facts, capabilities=tuple(json.loads(row["capabilities"])), homes=homes)
