"""Results as they leave: the jobs selected, and their attempts in pages, so that no number of them fills memory."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmbench_mcp.domain.chat import Sampling
from llmbench_mcp.domain.results import Selected
from llmbench_mcp.store.codec import load_sampling
from llmbench_mcp.store.database import Database, Row
from llmbench_mcp.store.packing import texts_of

PAGE, PAGE_WITH_ANSWERS = 1_000, 50
"""Attempts read at once: with answers, few enough for long ones."""
_FROM_THE_FIRST = ("", 0, 0)


@dataclass(frozen=True, slots=True)
class SelectedJob:
    """A job whose attempts were selected. ``manifest`` is what was frozen when its run was made."""

    id: str
    run_id: str
    model_id: str
    model: str
    served_name: str
    endpoint: str
    device: str
    suite: str
    sampling: Sampling
    manifest: Mapping[str, Any]
    state: str
    reason: str | None
    planned: int
    done: int
    errors: int
    passed: int
    tokens: int
    load_s: float | None
    residency: str | None
    energy_j: float | None
    energy_note: str | None
    client_bound: str | None
    run_state: str
    key: str
    """As ``Row.key`` of a leaderboard."""

    @property
    def endpoint_id(self) -> str:
        """Where it was asked."""
        return self.key.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class AskedTask:
    """A version of a task and the validator that graded it, with the number of attempts."""

    task_id: str
    task_hash: str
    validator: str | None
    validator_version: str | None
    attempts: int


class ExportStore:
    """Reading what is selected."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def jobs(self, wanted: Selected) -> list[SelectedJob]:
        """The jobs, newest run first, in each run as planned."""
        where = (wanted.model, wanted.suite)
        if not wanted.runs:
            return [_job(row) for row in await self._database.all("selected_jobs", *where)]
        found = []
        for run_id in dict.fromkeys(wanted.runs):
            found += await self._database.all("selected_jobs_of_run", *where, run_id)
        return [_job(row) for row in found]

    async def run(self, run_id: str) -> Row | None:
        """A run's own facts; ``request`` is what was asked for."""
        row = await self._database.one("selected_run", run_id)
        return row and {**row, "request": json.loads(row["request"])}

    async def endpoint_name(self, endpoint_id: str) -> str | None:
        """What an endpoint is called now; None for one that was removed."""
        row = await self._database.one("endpoint_name_now", endpoint_id)
        return str(row["name"]) if row else None

    async def extent(self, jobs: Sequence[SelectedJob]) -> int:
        """How many attempts these jobs have now."""
        found = await self._database.look(*(("selected_extent", job.id) for job in jobs)) if jobs else []
        return sum(rows[0]["n"] for rows in found)

    async def tasks(self, job_id: str) -> list[AskedTask]:
        """What a job asked, and what graded it."""
        rows = await self._database.all("selected_tasks", job_id)
        return [AskedTask(*(row[name] for name in ("task_id", "task_hash", *_GRADER, "n"))) for row in rows]

    async def attempts(self, job_id: str, *, with_answers: bool) -> AsyncIterator[list[Row]]:
        """A job's attempts in pages by task, repeat and try; with answers, each has ``texts``: (text, reasoning, tool
        calls as JSON), or None where there was none."""
        query, size = ("export_answers", PAGE_WITH_ANSWERS) if with_answers else ("export_attempts", PAGE)
        after: tuple[str, int, int] = _FROM_THE_FIRST
        while rows := await self._database.all(query, job_id, *after, size):
            yield [{**row, "texts": texts_of(row)} for row in rows] if with_answers else rows
            after = (rows[-1]["task_id"], rows[-1]["repeat"], rows[-1]["try"])

    async def report(self, job_id: str, most: int, most_wrong: int) -> JobFindings:
        """What a report tells of a job: at most ``most`` tasks and verdicts, and ``most_wrong`` wrong answers."""
        tasks, failures, wrong, parts = await self._database.look(
            ("report_tasks", job_id, most),
            ("report_failures", job_id),
            ("report_wrong", job_id, most_wrong),
            ("report_parts", job_id, most),
        )
        told = [(row["validator"], json.loads(row["verdict"]).get("subscores", {})) for row in parts]
        return JobFindings(tasks, {row["failure"]: row["n"] for row in failures}, wrong, told)


@dataclass(frozen=True, slots=True)
class JobFindings:
    """Of one job: its tasks (task_id, graded, passed, score), failures by word, wrong answers (number, task_id, repeat,
    score, failure, message), and of its verdicts (validator, subscores)."""

    tasks: list[Row]
    failures: dict[str, int]
    wrong: list[Row]
    parts: list[tuple[str, dict[str, float]]]


_GRADER = ("validator", "validator_version")


def _job(row: Row) -> SelectedJob:
    labels = {"model": row.pop("model_name"), "endpoint": row.pop("endpoint_name")}
    labels["key"] = "/".join(row.pop(name) for name in ("identity_key", "sampling_key", "endpoint_id"))
    frozen = {"sampling": load_sampling(row["sampling"]), "manifest": json.loads(row["manifest"])}
    return SelectedJob(**{**row, **labels, **frozen})
