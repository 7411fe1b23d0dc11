"""Daily summaries: added up from attempts once a day has ended, kept when those are removed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from llmbench_mcp.domain.daily import DailySummary, day_after
from llmbench_mcp.store.database import Database, Row

_KEY = ("day", "suite", "identity_key", "sampling_key", "endpoint_id")
_SUMS = ("graded", "errors", "passed", "score_sum", "decode_sum", "decode_n", "ttft_sum", "ttft_n")
_FACTS = ("model_name", "endpoint_name", "sampling", "digest", "server_version", "suite_version")
_FIGURES = ("graded", "errors", "passed", "score", "decode_tps", "ttft_s")


class SummaryStore:
    """Writing and reading the days."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def first_day(self) -> str | None:
        """A day before which nothing was ever done; None while there are no runs."""
        row = await self._database.one("summaries_begin")
        return row["day"] if row else None

    async def write(self, first: str, until: str) -> int:
        """Write the days from ``first`` to the one before ``until``; again changes nothing. Returns how many rows."""
        rows = await self._added_up(first, until, None)
        async with self._database.transaction() as transaction:
            await transaction.many("summary_put", [tuple(row[name] for name in _written()) for row in rows])
        return len(rows)

    async def of_model(self, name: str, suite: str | None, limit: int) -> list[DailySummary]:
        """The days written, newest first, of every model that ever had that name."""
        rows = await self._database.all("summaries_of_model", name, suite, limit)
        return [_summary(row) for row in rows]

    async def unwritten(self, name: str, first: str, last: str) -> list[DailySummary]:
        """The days from ``first`` to ``last``, which may not have ended, added up now."""
        return [_summary(row) for row in await self._added_up(first, day_after(last), name)]

    async def _added_up(self, first: str, until: str, name: str | None) -> list[Row]:
        """Run by run, each a read of its own: nobody waits for all of them."""
        days: dict[tuple[Any, ...], Row] = {}
        for run in await self._database.all("summary_runs", first, until):
            _add(days, await self._database.all("summary_of_run", run["id"], first, until, name))
        return [_means(row) for row in days.values()]


def _written() -> tuple[str, ...]:
    return (*_KEY, *_FACTS, *_FIGURES)


def _add(days: dict[tuple[Any, ...], Row], rows: Iterable[Row]) -> None:
    for row in rows:
        held = days.get(key := tuple(row[name] for name in _KEY))
        days[key] = {**row, **{name: row[name] + held[name] for name in _SUMS}} if held else row


def _means(row: Row) -> Row:
    manifest = json.loads(row["manifest"])
    facts = {name: manifest.get(name) for name in ("server_version", "suite_version")}
    means = {
        "score": row["score_sum"] / row["graded"] if row["graded"] else None,
        "decode_tps": row["decode_sum"] / row["decode_n"] if row["decode_n"] else None,
        "ttft_s": row["ttft_sum"] / row["ttft_n"] if row["ttft_n"] else None,
    }
    return {**row, **facts, **means, "digest": manifest.get("model_digest")}


def _summary(row: Row) -> DailySummary:
    names = ("day", "suite", "digest", "server_version", "suite_version", *_FIGURES)
    facts: dict[str, Any] = {name: row[name] for name in names}
    return DailySummary(
        **facts, model=row["model_name"], endpoint=row["endpoint_name"], sampling=json.loads(row["sampling"])
    )
