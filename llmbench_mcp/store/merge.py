"""One endpoint's list taken into the registry: who is new, who came back, whose weights changed, who is gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from llmbench_mcp.domain.endpoint import Endpoint, ModelList, OfferedModel
from llmbench_mcp.domain.errors import NotFoundError
from llmbench_mcp.domain.ids import new_id
from llmbench_mcp.domain.model import DiscoveryReport
from llmbench_mcp.store import model_rows
from llmbench_mcp.store.database import Row, Transaction
from llmbench_mcp.store.offers import Renewed, renewal


@dataclass(slots=True)
class _Changes:
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    back: list[str] = field(default_factory=list)


class Merge:
    """One look's changes, inside one transaction.

    One model by digest with several homes; without a digest by endpoint and served name. A model that is gone
    is removed when it is ``new`` and has no history, else it becomes ``missing``. Pinned homes stay.
    """

    def __init__(self, transaction: Transaction, endpoint: Endpoint, now: str) -> None:
        self._transaction = transaction
        self._endpoint = endpoint
        self._now = now
        self._changes = _Changes()

    async def take(self, offered: Sequence[OfferedModel]) -> DiscoveryReport:
        """Take the whole list in and tell what changed."""
        homes = await self.homes()
        unique = {model.served_name: model for model in offered if model.served_name}
        gone = [home for name, home in homes.items() if name not in unique]
        others = await self._take_plain(list(unique.values()), homes)
        for model in others:
            await self.take_one(model, homes.get(model.served_name))
        for home in gone:
            if home["present"] and not home["home_pinned"]:
                await self._gone(home)
        of_list = offered.warnings if isinstance(offered, ModelList) else ()
        warnings = (*of_list, *(warning for model in unique.values() for warning in model.warnings))
        c = self._changes
        lists = (tuple(c.added), tuple(c.changed), tuple(c.missing), tuple(c.removed), tuple(c.back))
        return DiscoveryReport(self._endpoint.name, len(unique), *lists, warnings=warnings)

    async def homes(self) -> dict[str, Row]:
        """What is known to be offered here, by served name. Raises NotFoundError for an endpoint that is gone."""
        await check_there(self._transaction, self._endpoint)
        rows = await self._transaction.all("homes_with_models", self._endpoint.id)
        return {row["served_name"]: row for row in rows}

    async def _take_plain(self, offered: list[OfferedModel], homes: dict[str, Row]) -> list[OfferedModel]:
        """Write all at once what is plainly new or the same as before; returns the others, each a case of its own.

        A server may list thousands, and nobody else can write meanwhile.
        """
        digests = {row["digest"] for row in await self._transaction.all("model_digests")}
        lost = {row["name"] for row in await self._transaction.all("models_lost")}
        fresh: list[OfferedModel] = []
        same: list[Row] = []
        others: list[OfferedModel] = []
        for model in offered:
            home = homes.get(model.served_name)
            if home is not None and _is_same(home, model):
                same.append(home)
            elif home is None and not (model.digest in digests if model.digest else model.served_name in lost):
                fresh.append(model)
                digests.add(model.digest)
            else:
                others.append(model)
        await self._write_same(same)
        await self._write_fresh(fresh)
        return others

    async def _write_same(self, homes: list[Row]) -> None:
        await self._transaction.many("model_seen", [(home["model_id"], self._now) for home in homes])
        await self._transaction.many(
            "home_seen", [(self._endpoint.id, home["served_name"], self._now) for home in homes]
        )

    async def _write_fresh(self, offered: list[OfferedModel]) -> None:
        ids = {model.served_name: new_id("model") for model in offered}
        models, homes, events = [], [], []
        for model in offered:
            model_id, name = ids[model.served_name], model.served_name
            models.append((model_id, name, model.digest, *renewal(None, model, alone=True).values, self._now))
            homes.append((model_id, self._endpoint.id, name, self._now, int(model.remote)))
            events.append((self._now, model_id, "status", "new", None))
            events.append((self._now, model_id, "home", f"{name}@{self._endpoint.name}", None))
            self._changes.added.append(name)
        await self._transaction.many("model_insert_whole", models)
        await self._transaction.many("home_upsert", homes)
        await self._transaction.many("model_event_insert", events)

    async def take_one(self, offered: OfferedModel, home: Row | None) -> str:
        """Take in one model; ``home`` is where it was before, under this name here. Returns the model's id."""
        model_id = await self._identify(offered, home)
        moved = home is not None and home["model_id"] != model_id
        values = (self._endpoint.id, offered.served_name, self._now, int(offered.remote))
        await self._transaction.run("home_upsert", model_id, *values)
        await self._note(model_id, offered, home, moved)
        await self._refresh(model_id, offered)
        if home is not None and moved:
            await self._homeless(home["model_id"])
        return model_id

    async def _note(self, model_id: str, offered: OfferedModel, home: Row | None, moved: bool) -> None:
        if home is None:
            self._changes.added.append(offered.served_name)
            at = f"{offered.served_name}@{self._endpoint.name}"
            await model_rows.event(self._transaction, self._now, model_id, ("home", at))
        elif moved:
            self._changes.changed.append(offered.served_name)
        elif not home["present"]:
            self._changes.back.append(offered.served_name)
        await model_rows.back(self._transaction, self._now, model_id)

    async def _identify(self, offered: OfferedModel, home: Row | None) -> str:
        if offered.digest:
            found = await self._transaction.one("model_by_digest", offered.digest)
            return str(found["id"]) if found else await self._learnt_digest(offered, home)
        if home is not None:
            return str(home["model_id"])
        again = await self._transaction.one("model_homeless", offered.served_name, offered.quantisation)
        return str(again["id"]) if again else await self._insert(offered)

    async def _learnt_digest(self, offered: OfferedModel, home: Row | None) -> str:
        """A digest nobody had: of a model known here without one, else of a new model."""
        if home is None or home["digest"] is not None:
            return await self._insert(offered)
        await self._transaction.run("model_digest", home["model_id"], offered.digest)
        return str(home["model_id"])

    async def _insert(self, offered: OfferedModel) -> str:
        model_id = new_id("model")
        await self._transaction.run("model_insert", model_id, offered.served_name, offered.digest, self._now)
        await model_rows.event(self._transaction, self._now, model_id, ("status", "new"))
        return model_id

    async def _refresh(self, model_id: str, offered: OfferedModel) -> None:
        row = await self._transaction.one("model_row", model_id)
        left = await self._transaction.one("model_homes_left", model_id)
        fresh: Renewed = renewal(row, offered, alone=not left or left["n"] <= 1)
        await self._transaction.run("model_seen", model_id, self._now)
        await model_rows.write_facts(self._transaction, model_id, fresh.facts, (fresh.guessed, fresh.pinned))
        await model_rows.write_capabilities(self._transaction, model_id, fresh.capabilities)

    async def _gone(self, home: Row) -> None:
        await self._transaction.run("home_gone", self._endpoint.id, home["served_name"])
        removed = await self._homeless(home["model_id"])
        (self._changes.removed if removed else self._changes.missing).append(home["served_name"])

    async def _homeless(self, model_id: str) -> bool:
        return await model_rows.homeless(self._transaction, self._now, model_id)


async def check_there(transaction: Transaction, endpoint: Endpoint) -> None:
    """Raises NotFoundError for an endpoint that is gone."""
    if not await transaction.one("endpoint_by_key", endpoint.id):
        raise NotFoundError(f"Endpoint {endpoint.name!r} was removed meanwhile.", "Add it again first.")


def _is_same(home: Row, offered: OfferedModel) -> bool:
    """Whether a look adds nothing but that the model was seen."""
    there = home["present"] and home["status"] != "missing" and bool(home["remote"]) is offered.remote
    known = not offered.digest or offered.digest == home["digest"]
    return bool(there) and known and renewal(home, offered, alone=home["homes_left"] <= 1).changes_nothing
