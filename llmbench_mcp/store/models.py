"""Models, the endpoints that offer them, and their assignment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from llmbench_mcp.domain.capability import Capability, with_fact, without_hand
from llmbench_mcp.domain.endpoint import Endpoint, OfferedModel
from llmbench_mcp.domain.model import (
    TROUBLED,
    DiscoveryReport,
    Home,
    Model,
    ModelEvent,
    ModelStatus,
    PastJob,
    ToolCalling,
)
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.store import model_rows
from llmbench_mcp.store.database import Database, Row, Transaction
from llmbench_mcp.store.merge import Merge, check_there


class ModelStore:
    """The registry: discovery merges into it, assignment and status change it; each change is in the history."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def all(self) -> list[Model]:
        """Every model with its homes, by name."""
        homes: dict[str, list[Home]] = {}
        found, rows = await self._database.look(("homes_all",), ("models_all",))
        for row in found:
            homes.setdefault(row["model_id"], []).append(_home(row))
        return [_model(row, tuple(homes.get(row["id"], ()))) for row in rows]

    async def merge(self, endpoint: Endpoint, offered: Sequence[OfferedModel]) -> DiscoveryReport:
        """Take in one endpoint's list: one transaction, nothing half done; see ``Merge`` for the rules."""
        async with self._database.transaction() as transaction:
            return await Merge(transaction, endpoint, self._clock.utc_now()).take(offered)

    async def register(self, endpoint: Endpoint, offered: OfferedModel) -> str:
        """Register by hand what the endpoint does not list; stays until unregistered. Returns the model's id."""
        async with self._database.transaction() as transaction:
            merge = Merge(transaction, endpoint, self._clock.utc_now())
            home = (await merge.homes()).get(offered.served_name)
            model_id = await merge.take_one(offered, home)
            await transaction.run("home_pin", endpoint.id, offered.served_name, 1)
            return model_id

    async def unregister(self, model_id: str) -> bool:
        """Take back registrations by hand; a later look may find the model again. False when there was none."""
        async with self._database.transaction() as transaction:
            if not await transaction.run("homes_unpin", model_id):
                return False
            await model_rows.homeless(transaction, self._clock.utc_now(), model_id)
            return True

    async def assign(self, model_id: str, endpoint: Endpoint | None) -> None:
        """Assign to an endpoint (status active) or to none (status new); a disabled model stays disabled.

        Raises NotFoundError for an endpoint that is gone.
        """
        async with self._database.transaction() as transaction:
            if endpoint is not None:
                await check_there(transaction, endpoint)
            now = self._clock.utc_now()
            await transaction.run("model_assign", model_id, endpoint.id if endpoint else None)
            await model_rows.event(transaction, now, model_id, ("assigned", endpoint.name if endpoint else "nowhere"))
            row = await transaction.one("model_row", model_id)
            if row is not None and row["status"] != "disabled":
                await model_rows.change_status(transaction, now, row, model_rows.well(row))

    async def set_status(self, model_id: str, status: ModelStatus, reason: str | None) -> None:
        """Record a status with its reason; a model that is disabled stays so."""
        async with self._database.transaction() as transaction:
            row = await transaction.one("model_row", model_id)
            if row is not None and row["status"] != "disabled":
                await model_rows.change_status(transaction, self._clock.utc_now(), row, status, reason)

    async def recover(self, model_id: str, reason: str) -> None:
        """It behaved well: a status it earned by trouble ends, with the reason in the history."""
        async with self._database.transaction() as transaction:
            row = await transaction.one("model_row", model_id)
            if row is not None and row["status"] in TROUBLED:
                await self._restore(transaction, row, reason)

    async def set_enabled(self, model_id: str, enabled: bool) -> None:
        """Disable, or enable again: then missing without a home, else as assigned."""
        async with self._database.transaction() as transaction:
            row = await transaction.one("model_row", model_id)
            if row is None or (row["status"] != "disabled") is enabled:
                return
            if not enabled:
                await model_rows.change_status(
                    transaction, self._clock.utc_now(), row, "disabled", "disabled on request"
                )
                return
            await self._restore(transaction, row, "enabled on request")
            await model_rows.miss_if_homeless(transaction, self._clock.utc_now(), model_id)

    async def _restore(self, transaction: Transaction, row: Row, reason: str) -> None:
        status = model_rows.well(row)
        await transaction.run("model_status", row["id"], status, None)
        await model_rows.event(transaction, self._clock.utc_now(), row["id"], ("status", status), reason)

    async def set_capability(self, model_id: str, fact: Capability, reason: str | None = None) -> None:
        """Record what a probe saw or a hand set; a surer fact stays."""
        async with self._database.transaction() as transaction:
            row = await transaction.one("model_row", model_id)
            if row is None:
                return
            known = model_rows.capabilities(row)
            facts = with_fact(known, fact)
            if facts != known:
                value = f"{fact.name}: {'yes' if fact.present else 'no'} ({fact.source})"
                await model_rows.write_capabilities(transaction, model_id, facts)
                await model_rows.event(transaction, self._clock.utc_now(), model_id, ("capability", value), reason)

    async def forget_capability(self, model_id: str, name: str) -> None:
        """Drop what was set by hand; the next look says again what the server says."""
        async with self._database.transaction() as transaction:
            row = await transaction.one("model_row", model_id)
            if row is not None:
                facts = without_hand(model_rows.capabilities(row), name)
                await model_rows.write_capabilities(transaction, model_id, facts)

    async def set_tools(self, model_id: str, home: Home, tools: ToolCalling) -> None:
        """Record what the tools check saw at one home."""
        async with self._database.transaction() as transaction:
            await transaction.run("home_tools", home.endpoint_id, home.served_name, tools)
            if tools != home.tools:
                value = f"{tools} at {home.endpoint_name}"
                await model_rows.event(transaction, self._clock.utc_now(), model_id, ("tools", value))

    async def set_facts(self, model_id: str, facts: Mapping[str, Any]) -> None:
        """Set fields by hand: looks no longer change them. None gives a field back to the servers."""
        async with self._database.transaction() as transaction:
            row = await transaction.one("model_row", model_id)
            if row is None:
                return
            merged = {name: facts.get(name, row[name]) for name in model_rows.FIELDS}
            set_now = {name for name, value in facts.items() if value is not None}
            pinned = (set(json.loads(row["pinned"])) - set(facts)) | set_now
            guessed = set(json.loads(row["guessed"])) - set(facts)
            await model_rows.write_facts(transaction, model_id, merged, (sorted(guessed), sorted(pinned)))
            value = ", ".join(f"{name}={facts[name]}" for name in sorted(facts))
            await model_rows.event(transaction, self._clock.utc_now(), model_id, ("set", value))

    async def history(self, model_id: str, limit: int) -> list[ModelEvent]:
        """The newest events of a model, newest first."""
        return [ModelEvent(**row) for row in await self._database.all("model_events", model_id, limit)]

    async def last_jobs(self, model_ids: Sequence[str], limit: int) -> dict[str, list[PastJob]]:
        """By model, its newest jobs that graded anything, newest first."""
        found = await self._database.look(*(("model_last_jobs", model_id, limit) for model_id in model_ids))
        return {model: [PastJob(**row) for row in rows] for model, rows in zip(model_ids, found, strict=True)}

    async def jobs_at_work(self, device: str) -> int:
        """How many jobs are loading or running on that device now."""
        row = await self._database.one("jobs_at_work_on_device", device)
        return int(row["n"]) if row else 0


def _home(row: Row) -> Home:
    names = ("endpoint_id", "endpoint_name", "served_name", "tools")
    plain: dict[str, Any] = {name: row[name] for name in names}
    return Home(**plain, present=bool(row["present"]), pinned=bool(row["pinned"]), remote=bool(row["remote"]))


def _model(row: Row, homes: tuple[Home, ...]) -> Model:
    names = ("id", "name", "status", "digest", "assigned_endpoint_id", "status_reason", "first_seen", "last_seen")
    facts = {name: row[name] for name in (*names, *model_rows.FIELDS)}
    guessed, pinned = (tuple(json.loads(row[name])) for name in ("guessed", "pinned"))
    known = model_rows.capabilities(row)
    return Model(**facts, known_capabilities=known, guessed=guessed, pinned=pinned, homes=homes)
