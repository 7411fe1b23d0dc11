"""Schedules, what became of each due time, and what a model's last result on a suite was made with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from llmbench_mcp.domain.changes import Standing
from llmbench_mcp.domain.chat import Sampling
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.domain.run import PlannedJob, RunLimits, RunRequest
from llmbench_mcp.domain.schedule import Result, Schedule, ScheduleEvent
from llmbench_mcp.store.codec import dump, request_facts, short_hash
from llmbench_mcp.store.database import Database, Row, Statement


class ScheduleStore:
    """Reading and writing schedules."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add(self, schedule: Schedule) -> bool:
        """Keep a new one; False when the name is taken."""
        request, at = dump(request_facts(schedule.request)), (schedule.created_at, schedule.due_at)
        facts = (schedule.id, schedule.name, schedule.when, schedule.zone, request, int(schedule.only_changed), *at)
        return bool(await self._database.write(None, [("schedule_insert", *facts)]))

    async def remove(self, schedule_id: str) -> None:
        """Forget it and what became of its times; its runs stay."""
        await self._database.write(None, [("schedule_delete", schedule_id)])

    async def all(self) -> list[Schedule]:
        """Every schedule, by name."""
        return [_schedule(row) for row in await self._database.all("schedules_all")]

    async def due(self) -> list[Schedule]:
        """Those whose time has come, the longest due first."""
        return [_schedule(row) for row in await self._database.all("schedules_due", self._clock.utc_now())]

    async def move(self, schedule: Schedule, due_at: str) -> None:
        """Make it due at another time, unless somebody else did so first."""
        await self._database.write(None, [("schedule_advance", schedule.id, schedule.due_at, due_at)])

    async def note(self, schedule: Schedule, result: Result) -> None:
        """Something was done out of turn."""
        now = self._clock.utc_now()
        await self._database.write(None, [_event(schedule.id, now, now, result)])

    async def settle(self, schedule: Schedule, result: Result, next_due: str) -> None:
        """A due time has been dealt with: what came of it, and when it is due next.

        Whoever comes second changes nothing.
        """
        async with self._database.transaction() as transaction:
            await transaction.run(*_event(schedule.id, schedule.due_at, self._clock.utc_now(), result))
            await transaction.run("schedule_advance", schedule.id, schedule.due_at, next_due)

    async def events(self, schedule_id: str, limit: int) -> list[ScheduleEvent]:
        """What became of its times, newest first."""
        rows = await self._database.all("schedule_events", schedule_id, limit)
        return [ScheduleEvent(**{**row, "notes": tuple(json.loads(row["notes"]))}) for row in rows]

    async def unfinished_run(self, schedule_id: str) -> str | None:
        """The run of it that is not over yet."""
        row = await self._database.one("schedule_unfinished", schedule_id)
        return row["id"] if row else None

    async def run_of_key(self, key: str) -> str | None:
        """The run made under that idempotency key."""
        row = await self._database.one("run_by_idempotency_key", key)
        return row["id"] if row else None

    async def last_standing(self, job: PlannedJob) -> Standing | None:
        """What the newest counted result of that model's name, there, on that suite was made with; None without one."""
        place = (job.suite, job.endpoint_id, job.manifest["served_name"], short_hash(job.sampling.as_dict()))
        row = await self._database.one("last_job", *place)
        if row is None:
            return None
        group = (row["suite"], row["identity_key"], row["sampling_key"], row["endpoint_id"])
        return _standing(json.loads(row["manifest"]), await self._database.all("last_tasks", *group))


def _event(schedule_id: str, due_at: str, at: str, result: Result) -> Statement:
    facts = (result.outcome, result.run_id, dump(list(result.notes)))
    return ("schedule_event_insert", schedule_id, due_at, at, *facts)


def _standing(manifest: Mapping[str, Any], rows: list[Row]) -> Standing:
    newest = {row["task_id"]: row for row in rows}  # of each task the last, as the query orders them
    attempts: Counter[str] = Counter()
    for row in rows:
        if row["task_hash"] == newest[row["task_id"]]["task_hash"]:
            attempts[row["task_id"]] += row["graded"] + row["errors"]
    return Standing(
        manifest.get("model_digest"),
        manifest.get("server_version"),
        manifest.get("suite_version"),
        {task: row["task_hash"] for task, row in newest.items()},
        {task: ("", row["validator_version"]) for task, row in newest.items() if row["graded"]},
        attempts,
    )


def _schedule(row: Row) -> Schedule:
    names = ("id", "name", "zone", "created_at", "due_at")
    facts: dict[str, Any] = {name: row[name] for name in names}
    request = _request(json.loads(row["request"]))
    return Schedule(**facts, when=row["spec"], request=request, only_changed=bool(row["only_changed"]))


def _request(facts: dict[str, Any]) -> RunRequest:
    """A request from what ``request_facts`` makes of one without own tasks."""
    made: dict[str, Any] = {
        "models": tuple(facts.pop("models")),
        "suites": tuple(facts.pop("suites")),
        "sampling": Sampling(**facts.pop("sampling")),
        "matrix": {name: tuple(values) for name, values in facts.pop("matrix", {}).items()},
        "limits": RunLimits(**facts.pop("limits", {})),
    }
    return RunRequest(**made, **facts)
