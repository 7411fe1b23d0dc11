"""The executor's side of the store: every write carries the lease's fence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from llmbench_mcp.domain.attempt import AttemptOutcome, PlannedAttempt
from llmbench_mcp.domain.chat import Budget, Usage
from llmbench_mcp.domain.hardware import Energy
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.domain.run import AnyJob, Job, JobState, OpenJob
from llmbench_mcp.domain.task import Task
from llmbench_mcp.store.attempts import finished
from llmbench_mcp.store.codec import load_task
from llmbench_mcp.store.database import Database, Row, Statement, Transaction
from llmbench_mcp.store.leases import Lease
from llmbench_mcp.store.retries import replace_tries
from llmbench_mcp.store.runs import add_event, end_cancelled, end_given_up, job_of
from llmbench_mcp.store.tally import tally_failed
from llmbench_mcp.store.worn_out import give_up_worn_out


class WorkStore:
    """Claim, finish, postpone and end work under one lease. Every method may raise LeaseLost."""

    def __init__(self, database: Database, clock: Clock, lease: Lease) -> None:
        self._database = database
        self._clock = clock
        self._fence = lease.key
        self.owner = lease.owner
        self._began: dict[str, float] = {}

    async def recover(self) -> list[str]:
        """Take over from a dead owner: jobs and attempts in flight are pending again. Returns the runs touched.

        An attempt interrupted again and again ends in an error.
        """
        async with self._database.transaction(self._fence) as transaction:
            runs = [row["run_id"] for row in await transaction.all("runs_interrupted")]
            await give_up_worn_out(transaction, self._clock.utc_now())
            await transaction.run("attempts_interrupt")
            await transaction.run("jobs_interrupt")
            for run_id in runs:
                await transaction.run("run_interrupt", run_id)
                await add_event(transaction, self._clock.utc_now(), run_id, "interrupted", {})
        return runs

    async def end_half_written(self) -> None:
        """Runs that their writers left half written are cancelled: else they would be waited for without end."""
        await end_given_up(self._database, self._clock, self._fence)

    async def open_jobs(self) -> list[OpenJob]:
        """Jobs not yet over whose run is not being cancelled, oldest first."""
        return [_open_job(row) for row in await self._database.all("jobs_open")]

    async def job(self, job_id: str) -> Job:
        """One of them whole."""
        row = await self._database.one("job_get", job_id)
        assert row is not None, "jobs are deleted with their run only, and an open run is not deleted"
        budget = json.loads(row["manifest"]).get("budget", {})
        return job_of(row)._replace(budget=Budget(**budget))

    async def cancel_requests(self) -> list[str]:
        """Runs somebody asked to stop."""
        return [row["id"] for row in await self._database.all("run_cancel_requests")]

    async def end_cancelled(self, run_id: str) -> None:
        """The run's work has stopped: record its end, unless it ended by itself, and perhaps goes on again."""
        async with self._database.transaction(self._fence) as transaction:
            if await transaction.one("run_is_to_be_cancelled", run_id):
                await end_cancelled(transaction, run_id, self._clock.utc_now())

    async def job_loading(self, job: Job) -> bool:
        """The job's model is being made ready; the run counts as running from here. False when it is over already."""
        now = self._clock.utc_now()
        async with self._database.transaction(self._fence) as transaction:
            if not await transaction.run("job_state", job.id, "loading", None, f"loading {job.served_name}"):
                return False
            if await transaction.run("run_started", job.run_id, now):
                await add_event(transaction, now, job.run_id, "running", {})
            await add_event(transaction, now, job.run_id, "loading", {"job": job.id})
        return True

    async def job_ready(self, job: Job, load_s: float, residency: str, unloaded: Sequence[str] = ()) -> None:
        """The model answers; ``unloaded`` is what had to leave for it."""
        async with self._database.transaction(self._fence) as transaction:
            if await transaction.run("job_loaded", job.id, load_s, residency):
                data: dict[str, object] = {"job": job.id} | ({"unloaded": list(unloaded)} if unloaded else {})
                await add_event(transaction, self._clock.utc_now(), job.run_id, "job_running", data)

    async def job_postponed(self, job: AnyJob, reason: str) -> float:
        """An outage: the job waits, its run is paused with the reason. Returns how long the outage lasts, seconds."""
        now = self._clock.utc_now()
        async with self._database.transaction(self._fence) as transaction:
            if await transaction.run("job_postpone", job.id, reason, now):
                await transaction.run("run_state", job.run_id, "paused", reason)
                await add_event(transaction, now, job.run_id, "paused", {"job": job.id, "reason": reason})
            row = await transaction.one("job_outage", job.id)
        since = row["outage_since"] if row else None
        return _seconds_between(since, now) if since else 0.0

    async def job_released(self, job: AnyJob) -> None:
        """The executor is leaving in good order: the job is pending for the next one."""
        async with self._database.transaction(self._fence) as transaction:
            await transaction.run("job_state", job.id, "pending", None, None)

    async def reset_job(self, job: Job) -> None:
        """Attempts of this job left in flight by a failed write are pending again."""
        await self._database.write(self._fence, [("attempts_reset", job.id)])

    async def job_ended(self, job: AnyJob, state: JobState, reason: str | None, failure: str | None = None) -> None:
        """The job is over; attempts still open get ``failure``. Ends the run when it was the last job.

        One that was cancelled meanwhile and told to go on again is not done: it waits to be begun.
        """
        async with self._database.transaction(self._fence) as transaction:
            now = self._clock.utc_now()
            if state == "done" and await transaction.one("job_waits_again", job.id):
                return
            if failure is not None:
                rows = await transaction.all("attempts_open_of_job", job.id)
                await transaction.run("attempts_fail_pending", job.id, failure, reason, now)
                await tally_failed(transaction, job.id, failure, rows)
            else:  # given back after a limit was reached
                await transaction.run("attempts_cancel_open", job.id)
            left = await transaction.one("job_left", job.id)
            ended = "cancelled" if state == "done" and left and left["n"] else state  # stopped at a limit
            if await transaction.run("job_state", job.id, ended, reason, None):
                await add_event(transaction, now, job.run_id, f"job_{ended}", {"job": job.id, "reason": reason})
                await self._maybe_end_run(transaction, job.run_id, now)

    async def void_answers(self, job: Job) -> None:
        """None of the job's answers counts that came since its weights were last known to be the ones asked for.

        They stay to be read; in place of each one an attempt is open, which the job's end gives its failure.
        """
        async with self._database.transaction(self._fence) as transaction:
            rows = await transaction.all("answers_unproven", job.id)
            await replace_tries(transaction, job.run_id, rows)
            await transaction.run("attempts_cancel_of_cancelled", job.id)

    async def _maybe_end_run(self, transaction: Transaction, run_id: str, now: str) -> None:
        left = await transaction.one("run_open_jobs", run_id)
        if left and left["n"]:
            return
        totals, run = await transaction.one("run_totals", run_id), await transaction.one("run_get", run_id)
        assert totals is not None, "sums give one row"
        assert run is not None, "jobs reference their run by foreign key"
        reasons = [row["reason"] for row in await transaction.all("run_jobs", run_id) if row["reason"]]
        state = "completed" if totals["done"] else "failed"
        if totals["done"] + totals["errors"] < totals["planned"]:
            state, reasons = "cancelled", [run["reason"] or "stopped early", *reasons]
        if await transaction.run("run_finished", run_id, state, "; ".join(dict.fromkeys(reasons)) or None, now):
            await add_event(transaction, now, run_id, state, {})

    async def job_client_bound(self, job: Job, why: str | None, *, speeds: bool = False) -> None:
        """Whether this program was too busy to time the job's answers, their ``speeds`` too; once said, it stays."""
        async with self._database.transaction(self._fence) as transaction:
            await transaction.run("job_client_bound", job.id, why, int(speeds))

    async def is_limited(self, run_id: str) -> bool:
        """Whether the run may use only so many tokens, seconds or attempts."""
        run = await self._database.one("run_get", run_id)
        return bool(run and run["limits"])

    async def stop_at_limit(self, run_id: str) -> bool:
        """Whether the run has used up what it may: then nothing of it is asked any more; what is in flight goes on."""
        found, now = await self._database.look(*_use(run_id)), self._clock.utc_now()
        reason = self._limit_reached(found, now)
        if reason is not None:
            await self._stop_asking(run_id, reason, now)
        return reason is not None

    def _limit_reached(self, found: Sequence[list[Row]], now: str) -> str | None:
        if not all(found) or not found[0][0]["limits"]:
            return None
        run, use, flying = (rows[0] for rows in found)
        used = {name: use[name] + flying[name] for name in ("attempts", "tokens")}
        used["seconds"] = self._lasted(run, now)
        return _limit_reached(json.loads(run["limits"]), used)

    def _lasted(self, run: Row, now: str) -> float:
        """Seconds since the run's first step: by the wall clock once, from then on by the clock that never jumps."""
        if not run["started_at"]:
            return 0.0
        now_s = self._clock.monotonic()
        return now_s - self._began.setdefault(run["id"], now_s - _seconds_between(run["started_at"], now))

    async def _stop_asking(self, run_id: str, reason: str, now: str) -> None:
        async with self._database.transaction(self._fence) as transaction:
            await transaction.run("run_reason", run_id, reason)
            await transaction.run("run_cancel_pending_attempts", run_id)
            await transaction.run("run_cancel_pending_jobs", run_id)
            await add_event(transaction, now, run_id, "limit", {"reason": reason})

    async def job_remark(self, job: Job, residency: str) -> None:
        """What has to be said about where the model's answers come from."""
        async with self._database.transaction(self._fence) as transaction:
            await transaction.run("job_remark", job.id, residency)

    async def energy_opens(self, job: Job) -> None:
        """The job's asking begins; were it to end without ``energy_closes``, its total would be unknown."""
        async with self._database.transaction(self._fence) as transaction:
            await transaction.run("job_energy_opens", job.id)

    async def energy_closes(self, job: Job, energy: Energy) -> None:
        """What the job's asking took, on top of what it took before."""
        async with self._database.transaction(self._fence) as transaction:
            await transaction.run("job_energy_closes", job.id, energy.joules, energy.reason)

    async def next_attempts(self, job_id: str, limit: int) -> list[PlannedAttempt]:
        """Up to ``limit`` pending attempts of a job, in order."""
        rows = await self._database.all("attempts_pending", job_id, limit)
        return [PlannedAttempt(**row) for row in rows]

    async def claim(self, attempt: PlannedAttempt, step: str) -> bool:
        """Mark it generating; False when it is no longer pending."""
        statements = [("attempt_claim", attempt.id, self._clock.utc_now()), ("job_step", attempt.job_id, step)]
        return bool(await self._database.write(self._fence, statements))

    async def claim_within_limits(self, attempt: PlannedAttempt, step: str) -> bool:
        """As ``claim``; False also where another job of its run has used up what the run may."""
        now = self._clock.utc_now()
        async with self._database.transaction(self._fence) as transaction:
            found = [await transaction.all(*query) for query in _use(attempt.run_id)]
            if self._limit_reached(found, now) or not await transaction.run("attempt_claim", attempt.id, now):
                return False
            await transaction.run("job_step", attempt.job_id, step)
        return True

    async def grading(self, attempt: PlannedAttempt, usage: Usage | None) -> None:
        """Mark it grading; its tokens count from here."""
        spent = (usage.prompt_tokens, usage.completion_tokens) if usage else (None, None)
        await self._database.write(self._fence, [("attempt_grading", attempt.id, *spent)])

    async def release(self, attempt: PlannedAttempt) -> None:
        """Give it back: it will be asked again."""
        await self._database.write(self._fence, [("attempt_release", attempt.id)])

    async def task(self, task_hash: str) -> Task:
        """The task as frozen when the run was made."""
        row = await self._database.one("task_body", task_hash)
        assert row is not None, "attempts reference tasks by foreign key"
        return load_task(row["body"])

    async def finish(self, outcome: AttemptOutcome) -> bool:
        """Commit completion, timings and verdict in one transaction; False when it was over already."""
        # Its time is that of the writing: of a day that was summed up meanwhile it would be lost.
        return bool(await self._database.write(self._fence, lambda: finished(outcome, self._clock.utc_now())))


def _use(run_id: str) -> list[Statement]:
    return [(name, run_id) for name in ("run_get", "run_use", "run_in_flight")]


def _open_job(row: Row) -> OpenJob:
    created = datetime.fromisoformat(row.pop("created_at")).timestamp()
    return OpenJob(**row, created_s=created)


def _limit_reached(limits: Mapping[str, float], used: Mapping[str, float]) -> str | None:
    for name, limit in limits.items():
        if used[name] >= limit:
            return f"stopped at its limit of {limit:g} {name}"
    return None


def _seconds_between(earlier: str, later: str) -> float:
    span = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
    return max(0.0, span.total_seconds())
