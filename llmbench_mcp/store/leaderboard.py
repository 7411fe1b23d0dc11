"""Leaderboard rows: aggregated in SQL per task, grouped by what must be equal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from llmbench_mcp.domain.leaderboard import Row, TaskResult
from llmbench_mcp.store.database import Database
from llmbench_mcp.store.database import Row as SqlRow


class LeaderboardStore:
    """Reads comparable results of one suite."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rows(self, suite: str, weights: Mapping[str, float], hashes: Mapping[str, str]) -> list[Row]:
        """One row per (model identity, endpoint, sampling).

        Args:
            suite: suite name.
            weights: by task id.
            hashes: by task id, the content hash now in force; results of other versions are left out.
        """
        groups: dict[tuple[str, str, str], list[SqlRow]] = {}
        for row in await self._database.all("leaderboard_tasks", suite):
            if hashes.get(row["task_id"]) == row["task_hash"]:
                key = (row["identity_key"], row["sampling_key"], row["endpoint_id"])
                groups.setdefault(key, []).append(row)
        runs = {
            (r["identity_key"], r["sampling_key"], r["endpoint_id"]): r["runs"]
            for r in await self._database.all("leaderboard_runs", suite)
        }
        found = [await self._row(suite, key, rows, weights, runs.get(key, 0)) for key, rows in groups.items()]
        return await self._with_energy(suite, found)

    async def _row(
        self, suite: str, key: tuple[str, ...], rows: list[SqlRow], weights: Mapping[str, float], runs: int
    ) -> Row:
        newest = max(row["newest_job"] for row in rows)
        label = await self._database.one("job_labels", newest.partition(" ")[2])
        assert label is not None, "results reference their job by foreign key"
        tasks = tuple(_task(row, weights[row["task_id"]]) for row in _newest_validators(rows))
        names = (label["model_name"], label["endpoint_name"], label["device"])
        return Row("/".join(key), *names, suite, json.loads(label["manifest"]), runs, tasks)

    async def _with_energy(self, suite: str, rows: list[Row]) -> list[Row]:
        measured = {
            "/".join((r["identity_key"], r["sampling_key"], r["endpoint_id"])): r
            for r in await self._database.all("leaderboard_energy", suite)
        }
        return [_measured(row, measured[row.key]) if row.key in measured else row for row in rows]

    async def suites(self) -> list[str]:
        """Suites that have results."""
        return [row["suite"] for row in await self._database.all("suites_with_results")]


def _measured(row: Row, sums: SqlRow) -> Row:
    joules = sums["measured_j"]
    return replace(row, energy_j=joules, joules_per_token=joules / sums["measured_tokens"])


def _newest_validators(rows: list[SqlRow]) -> list[SqlRow]:
    """Per task, the graded rows of the newest validator version, errors of any kept for coverage."""
    best: dict[str, SqlRow] = {}
    for row in rows:
        held = best.get(row["task_id"])
        if held is None or _rank(row) > _rank(held):
            best[row["task_id"]] = row
    errors: dict[str, int] = {}
    for row in rows:
        errors[row["task_id"]] = errors.get(row["task_id"], 0) + row["errors"]
    return [{**row, "errors": errors[task_id]} for task_id, row in best.items()]


def _rank(row: SqlRow) -> tuple[bool, str]:
    return (row["graded"] > 0, row["last_at"] or "")


def _task(row: SqlRow, weight: float) -> TaskResult:
    graded = row["graded"]
    names = (
        "task_id",
        "graded",
        "errors",
        "non_logic",
        "decode_tps",
        "prefill_tps",
        "ttft_s",
        "e2e_s",
        "tokens",
    )
    facts = {name: row[name] for name in names}
    rate = row["passed"] / graded if graded else 0.0
    return TaskResult(**facts, pass_rate=rate, score=row["mean_score"] or 0.0, weight=weight, last_at=row["last_at"])
