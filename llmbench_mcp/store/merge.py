"""One endpoint's list taken into the registry: who is new, who came back, whose weights changed, who is gone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from llmbench_mcp.domain.capability import Capability, offered_capabilities, renewed
from llmbench_mcp.domain.endpoint import Endpoint, ModelList, OfferedModel
from llmbench_mcp.domain.ids import new_id
from llmbench_mcp.domain.model import DiscoveryReport
from llmbench_mcp.store import model_rows
from llmbench_mcp.store.database import Row, Transaction


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
        rows = await self._transaction.all("homes_of_endpoint", self._endpoint.id)
        homes = {row["served_name"]: row for row in rows}
        for model in offered:
            await self.take_one(model, homes.pop(model.served_name, None))
        for home in homes.values():
            if home["present"] and not home["pinned"]:
                await self._gone(home)
        of_list = offered.warnings if isinstance(offered, ModelList) else ()
        warnings = (*of_list, *(warning for model in offered for warning in model.warnings))
        c = self._changes
        lists = (tuple(c.added), tuple(c.changed), tuple(c.missing), tuple(c.removed), tuple(c.back))
        return DiscoveryReport(self._endpoint.name, len(offered), *lists, warnings=warnings)

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
            await model_rows.event(
                self._transaction, self._now, model_id, ("home", f"{offered.served_name}@{self._endpoint.name}")
            )
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
        row = await self._transaction.one("model_row", home["model_id"]) if home is not None else None
        if row is None or row["digest"] is not None:
            return await self._insert(offered)
        await self._transaction.run("model_digest", row["id"], offered.digest)
        return str(row["id"])

    async def _insert(self, offered: OfferedModel) -> str:
        model_id = new_id("model")
        await self._transaction.run("model_insert", model_id, offered.served_name, offered.digest, self._now)
        await model_rows.event(self._transaction, self._now, model_id, ("status", "new"))
        return model_id

    async def _refresh(self, model_id: str, offered: OfferedModel) -> None:
        row = await self._transaction.one("model_row", model_id)
        assert row is not None, "it was found or inserted in this transaction"
        await self._transaction.run("model_seen", model_id, self._now)
        facts, guessed = _facts(row, offered)
        await model_rows.write_facts(self._transaction, model_id, facts, (guessed, json.loads(row["pinned"])))
        homes = await self._transaction.one("model_homes_left", model_id)
        alone = not homes or homes["n"] <= 1
        known = model_rows.capabilities(row)
        found: tuple[Capability, ...] = offered_capabilities(offered)
        await model_rows.write_capabilities(self._transaction, model_id, renewed(known, found, alone))

    async def _gone(self, home: Row) -> None:
        await self._transaction.run("home_gone", home["endpoint_id"], home["served_name"])
        removed = await self._homeless(home["model_id"])
        (self._changes.removed if removed else self._changes.missing).append(home["served_name"])

    async def _homeless(self, model_id: str) -> bool:
        return await model_rows.homeless(self._transaction, self._now, model_id)


def _facts(row: Row, offered: OfferedModel) -> tuple[dict[str, Any], list[str]]:
    """Fields after a look: set by hand stays, a guess never replaces what a server said. And which are guesses."""
    facts = {name: row[name] for name in model_rows.FIELDS}
    pinned, guessed = json.loads(row["pinned"]), set(json.loads(row["guessed"]))
    for name in model_rows.FIELDS:
        value, is_guess = _told(getattr(offered, name)), name in offered.guessed
        if value is None or name in pinned or (is_guess and facts[name] is not None and name not in guessed):
            continue
        facts[name] = value
        guessed = guessed | {name} if is_guess else guessed - {name}
    return facts, sorted(guessed)


def _told(value: Any) -> Any:
    """None for what says nothing: no text, and numbers that no model can have."""
    return value if value and (isinstance(value, str) or value > 0) else None
