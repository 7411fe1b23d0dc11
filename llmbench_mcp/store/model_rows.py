"""What every change to a model's row shares: its history, its facts, and what becomes of it without a home."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import Any

from llmbench_mcp.domain.capability import Capability, present
from llmbench_mcp.domain.model import ModelStatus
from llmbench_mcp.store.database import Row, Transaction

FIELDS = ("family", "parameter_count", "quantisation", "size_bytes", "context_length")
"""What servers tell of a model, or hands set."""
_GONE = "no endpoint offers it any more"


async def event(
    transaction: Transaction, now: str, model_id: str, what: tuple[str, str], reason: str | None = None
) -> None:
    """Add to a model's history; ``what`` is kind and value."""
    await transaction.run("model_event_insert", now, model_id, *what, reason)


async def change_status(
    transaction: Transaction, now: str, row: Row, status: ModelStatus, reason: str | None = None
) -> None:
    """Set a status; the history gets a line only when something is different."""
    if (row["status"], row["status_reason"]) == (status, reason):
        return
    await transaction.run("model_status", row["id"], status, reason)
    await event(transaction, now, row["id"], ("status", status), reason)


def well(row: Row) -> ModelStatus:
    """The status of a model of which nothing bad is known."""
    return "new" if row["assigned_endpoint_id"] is None else "active"


async def back(transaction: Transaction, now: str, model_id: str) -> None:
    """A missing model was seen again."""
    row = await transaction.one("model_row", model_id)
    if row is not None and row["status"] == "missing":
        await change_status(transaction, now, row, well(row))


async def homeless(transaction: Transaction, now: str, model_id: str) -> bool:
    """A model lost a home: without any left it is removed (True) when new, else ``missing``; disabled stays so."""
    left = await transaction.one("model_homes_left", model_id)
    if left and left["n"]:
        return False
    if await transaction.one("model_without_history", model_id):
        await transaction.run("model_delete", model_id)
        return True
    await miss_if_homeless(transaction, now, model_id)
    return False


async def miss_if_homeless(transaction: Transaction, now: str, model_id: str) -> None:
    """``missing`` for a model that no endpoint offers, unless it is disabled."""
    left = await transaction.one("model_homes_left", model_id)
    row = await transaction.one("model_row", model_id)
    if row is not None and row["status"] != "disabled" and not (left and left["n"]):
        await change_status(transaction, now, row, "missing", _GONE)


def capabilities(row: Row) -> tuple[Capability, ...]:
    """The capability facts of a row; those of rows of before the facts count as the server's."""
    facts = json.loads(row["capability_facts"])
    if facts:
        return tuple(Capability(name, bool(can), source) for name, can, source in facts)
    return tuple(Capability(name, True, "server") for name in json.loads(row["capabilities"]))


async def write_capabilities(transaction: Transaction, model_id: str, facts: Iterable[Capability]) -> None:
    """Store the facts, and beside them the plain list of what is present."""
    await transaction.run("model_capabilities", model_id, *capability_texts(tuple(facts)))


def capability_texts(facts: Sequence[Capability]) -> tuple[str, str]:
    """As stored: the names of what is present, and all facts."""
    return (json.dumps(list(present(facts))), json.dumps([astuple(fact) for fact in facts]))


async def write_facts(
    transaction: Transaction, model_id: str, facts: Mapping[str, Any], marks: tuple[Sequence[str], Sequence[str]]
) -> None:
    """Store the FIELDS; ``marks`` are the names of the guessed and of the pinned ones."""
    values = [facts[name] for name in FIELDS]
    await transaction.run("model_facts", model_id, *values, json.dumps(list(marks[0])), json.dumps(list(marks[1])))
