"""Leaderboard rows: aggregated in SQL per task, grouped by what must be equal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any
from weakref import WeakValueDictionary

import anyio

from llmbench_mcp.domain.leaderboard import Row, TaskResult
from llmbench_mcp.store.database import Database
from llmbench_mcp.store.database import Row as SqlRow

_KEPT_SUITES = 16
_KEPT_ROWS = 10_000

_Key = tuple[str, str, str]
"""(identity, sampling, endpoint)."""


@dataclass(frozen=True, slots=True)
class LastAsked:
    """Of each task the content hash last asked, and the suite's version then; ``changed`` tasks had others before."""

    hashes: dict[str, str]
    version: int
    changed: int


class LeaderboardStore:
    """Reads comparable results of one suite."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: dict[str, tuple[object, list[Row]]] = {}
        self._turns: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    async def rows(self, suite: str, weights: Mapping[str, float], hashes: Mapping[str, str]) -> list[Row]:
        """One row per (model identity, endpoint, sampling); the same list as before where nothing has changed.

        Args:
            suite: suite name.
            weights: by task id.
            hashes: by task id, the content hash now in force; results of other versions are left out.
        """
        # One at a time, so that of many who ask at once after a change one reads it all and the others have it.
        async with self._turns.setdefault(suite, anyio.Lock()):
            [marks] = await self._database.look(("leaderboard_mark", suite))
            kept = self._kept.get(suite)
            if kept is not None and kept[0] == _mark(marks, weights, hashes):
                self._kept[suite] = self._kept.pop(suite)  # asked for last
                return kept[1]
            return await self._read(suite, weights, hashes)

    async def _read(self, suite: str, weights: Mapping[str, float], hashes: Mapping[str, str]) -> list[Row]:
        queries = ("leaderboard_mark", "leaderboard_tasks", "leaderboard_runs", "leaderboard_energy")
        rows = None
        while rows is None:  # again where results were removed between the two looks
            marks, *found = await self._database.look(*((query, suite) for query in queries))
            rows = await self._built(suite, found, weights, hashes)
        self._kept.pop(suite, None)
        if len(found[0]) <= _KEPT_ROWS:
            self._kept[suite] = (_mark(marks, weights, hashes), rows)
            while len(self._kept) > _KEPT_SUITES:
                self._kept.pop(next(iter(self._kept)))
        return rows

    async def _built(
        self, suite: str, found: list[list[SqlRow]], weights: Mapping[str, float], hashes: Mapping[str, str]
    ) -> list[Row] | None:
        groups = _grouped([row for row in found[0] if hashes.get(row["task_id"]) == row["task_hash"]])
        runs = {_key(row): row for row in found[1]}
        measured = {_key(row): row for row in found[2]}
        if (labels := await self._labels(groups)) is None:
            return None
        result = []
        for key, rows in groups.items():
            counted = runs.get(key, {"runs": 0, "speed_bound": 0})
            row = _row(suite, key, labels[key], (counted["runs"], _tasks(rows, weights)))
            row = replace(row, speed_bound=counted["speed_bound"])
            result.append(_measured(row, measured[key]) if key in measured else row)
        return result

    async def _labels(self, groups: Mapping[_Key, list[SqlRow]]) -> dict[_Key, SqlRow] | None:
        """How each group's newest job names it; None when one is no longer there."""
        newest = {key: max(row["newest_job"] for row in rows).partition(" ")[2] for key, rows in groups.items()}
        found = await self._database.look(*(("job_labels", job) for job in newest.values()))
        return {key: rows[0] for key, rows in zip(newest, found, strict=True)} if all(found) else None

    async def run_rows(self, run_id: str, suite: str) -> tuple[list[Row], int]:
        """What one run alone found, and how many tasks it asked; each manifest tells the run's ``repeats``, too."""
        found, [extent] = await self._database.look(("run_tasks", run_id, suite), ("run_extent", run_id, suite))
        groups = _grouped(found)
        if (labels := await self._labels(groups)) is None:  # the run was removed just now
            return [], 0
        rows = [_row(suite, key, labels[key], (1, _tasks(rows, {}))) for key, rows in groups.items()]
        return [_repeated(row, extent["repeats"]) for row in rows], extent["tasks"]

    async def last_asked(self, suite: str) -> LastAsked | None:
        """The tasks of a suite as results know them; None for one that no job was ever made for."""
        tasks, newest = await self._database.look(("suite_last_asked", suite), ("suite_newest_manifest", suite))
        if not newest:
            return None
        manifest: dict[str, Any] = json.loads(newest[0]["manifest"] or "{}")
        hashes = {row["task_id"]: row["task_hash"] for row in tasks}
        changed = {row["task_id"] for row in tasks if row["task_hash"] != hashes[row["task_id"]]}
        return LastAsked(hashes, manifest.get("suite_version", 1), len(changed))

    async def suites(self) -> list[str]:
        """Suites that have results."""
        return [row["suite"] for row in await self._database.all("suites_with_results")]


def _mark(found: list[SqlRow], weights: Mapping[str, float], hashes: Mapping[str, str]) -> object:
    """Equal only where nothing that rows are made of has changed."""
    return found[0]["mark"] if found else 0, dict(weights), dict(hashes)


def _key(row: SqlRow) -> _Key:
    return (row["identity_key"], row["sampling_key"], row["endpoint_id"])


def _grouped(rows: list[SqlRow]) -> dict[_Key, list[SqlRow]]:
    groups: dict[_Key, list[SqlRow]] = {}
    for row in rows:
        groups.setdefault(_key(row), []).append(row)
    return groups


def _row(suite: str, key: _Key, label: SqlRow, content: tuple[int, tuple[TaskResult, ...]]) -> Row:
    names = (label["model_name"], label["endpoint_name"], label["device"])
    return Row("/".join(key), *names, suite, json.loads(label["manifest"]), *content)


def _tasks(rows: list[SqlRow], weights: Mapping[str, float]) -> tuple[TaskResult, ...]:
    return tuple(_task(row, weights.get(row["task_id"], 1.0)) for row in _newest_validators(rows))


def _measured(row: Row, sums: SqlRow) -> Row:
    joules = sums["measured_j"]
    return replace(row, energy_j=joules, joules_per_token=joules / sums["measured_tokens"])


def _repeated(row: Row, repeats: int) -> Row:
    return replace(row, manifest={**row.manifest, "repeats": repeats})


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
    rate = row["passed"] / graded if graded else 0.0
    # By position: twice as fast as by name, and a leaderboard has thousands.
    return TaskResult(row["task_id"], graded, row["errors"], rate, row["mean_score"] or 0.0, weight, *_rest(row))


_rest = itemgetter(
    "non_logic",
    "decode_tps",
    "prefill_tps",
    "ttft_s",
    "e2e_s",
    "tokens",
    "last_at",
    "non_logic_score",
    "task_hash",
    "validator_version",
)
