"""The timings of a run's attempts at tasks that measure speed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from llmbench_mcp.domain.speed import Timed
from llmbench_mcp.domain.task import Task
from llmbench_mcp.store.codec import load_task
from llmbench_mcp.store.database import Database, Row


@dataclass(frozen=True, slots=True)
class Level:
    """One job's attempts at one such task: those answered, and how many were not."""

    model: str
    endpoint: str
    suite: str
    task: Task
    timed: tuple[Timed, ...]
    failed: int


class SpeedStore:
    """Reads speed measurements."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def levels(self, run_id: str) -> list[Level]:
        """Every level of load of a run, in the order they were asked; none for a run that measured no speed."""
        groups: dict[tuple[str, str], list[Row]] = {}
        for row in await self._database.all("speed_attempts", run_id):
            groups.setdefault((row["job_id"], row["task_hash"]), []).append(row)
        hashes = list(dict.fromkeys(task_hash for _, task_hash in groups))
        found = await self._database.look(*(("speed_task", task_hash) for task_hash in hashes)) if hashes else []
        tasks = {task_hash: load_task(rows[0]["body"]) for task_hash, rows in zip(hashes, found, strict=True)}
        return [_level(rows, tasks) for rows in groups.values()]


def _level(rows: list[Row], tasks: Mapping[str, Task]) -> Level:
    first = rows[0]
    answered = [row for row in rows if row["state"] != "error" and row["started_at"]]
    names = (first["model"], first["endpoint"], first["suite"])
    timed = tuple(map(_timed, answered))
    return Level(*names, tasks[first["task_hash"]], timed, len(rows) - len(timed))


def _timed(row: Row) -> Timed:
    figures = [row[name] for name in ("ttft_s", "e2e_s", "decode_tps", "prompt_tokens", "completion_tokens")]
    return Timed(datetime.fromisoformat(row["started_at"]).timestamp(), *figures)
