"""The tool run_status."""

from __future__ import annotations

from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from llmbench_mcp.domain.run import OPEN_JOB_STATES, Job, JobState, Run
from llmbench_mcp.server.arguments import Cursor, Detail, Limit, RunId
from llmbench_mcp.server.present import MESSAGE_LIMIT, Cut, decode_cursor, reply, shown, shown_or_none
from llmbench_mcp.server.results import Details, Page, Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, reads

_ORDER: tuple[JobState, ...] = ("running", "loading", "blocked", "failed", "pending", "cancelled", "done")


class JobRow(Result):
    """One model, endpoint and suite of the run."""

    model: str = Field(description="untrusted")
    endpoint: str
    suite: str
    state: str
    planned: int
    done: int
    errors: int
    passed: int
    step: str | None = None
    untrusted_reason: str | None = None
    details: Details | None = Field(default=None, description="id, device, load_s, residency, energy_j, client_bound")


class RunStatus(Page):
    """A run's progress; ``total`` counts jobs."""

    run_id: str
    state: str = Field(description="queued, running, paused, completed, cancelled, failed")
    untrusted_reason: str | None = None
    planned: int
    done: int = Field(description="graded")
    errors: int = Field(description="no verdict")
    passed: int
    interrupted: int
    failures: dict[str, int] = Field(description="by word")
    attempts_per_minute: float | None = None
    eta_s: float | None = None
    jobs: list[JobRow]


async def run_status(
    ctx: Call,
    run_id: RunId,
    wait_s: Annotated[float, Field(ge=0, description="for a change of state, up to 45")] = 0.0,
    detail: Detail = "concise",
    limit: Limit = 10,
    cursor: Cursor = "",
) -> Annotated[CallToolResult, RunStatus]:
    """Tell how far a run is: state, attempts, failures, pace, time left, jobs. Use wait_s instead of many polls.
    Cancelling this call never cancels the run."""
    query = ("jobs", run_id)
    offset = decode_cursor(cursor, query)
    app = await app_of(ctx)

    async def tell(run: Run) -> None:
        await ctx.report_progress(run.done + run.errors, run.planned, f"{run.state}, {run.passed} passed")

    run = await app.runs.status(run_id, min(wait_s, app.settings.max_wait_s), tell)
    ordered = sorted(run.jobs, key=lambda job: _ORDER.index(job.state))
    rows = [_job_row(job, detail) for job in ordered[offset : offset + limit]]
    cut = Cut(rows, len(ordered), offset, query)
    return reply(_status(run, rows[: cut.kept], cut))


def _status(run: Run, jobs: list[JobRow], cut: Cut) -> RunStatus:
    return RunStatus(
        run_id=run.id,
        state=run.state,
        untrusted_reason=shown_or_none(run.reason, MESSAGE_LIMIT),
        planned=run.planned,
        done=run.done,
        errors=run.errors,
        passed=run.passed,
        interrupted=run.interrupted,
        failures=dict(run.failures),
        attempts_per_minute=run.attempts_per_minute,
        eta_s=run.eta_s,
        jobs=jobs,
        next=next_call(run),
        **cut.facts,
    )


def next_call(run: Run) -> str:
    """What to call after looking at a run."""
    if run.state == "completed":
        suite = next((job.suite for job in run.jobs), "")
        return f"leaderboard_query suite={suite}, or run_results run_id={run.id}"
    if run.is_over:
        return f"run_results run_id={run.id}"
    if run.jobs and not any(job.state in OPEN_JOB_STATES for job in run.jobs):
        return "endpoint_list: every job left is blocked, see the reasons"
    return f"run_status run_id={run.id} wait_s=30"


def _job_row(job: Job, detail: Detail) -> JobRow:
    more = ("id", "device", "load_s", "residency", "energy_j", "client_bound", "interrupted")
    return JobRow(
        model=shown(job.model),
        endpoint=job.endpoint,
        suite=job.suite,
        state=job.state,
        planned=job.planned,
        done=job.done,
        errors=job.errors,
        passed=job.passed,
        step=shown_or_none(job.step),
        untrusted_reason=shown_or_none(job.reason, MESSAGE_LIMIT),
        details={name: getattr(job, name) for name in more} if detail == "detailed" else None,
    )


TOOL = ToolSpec(run_status, "Follow a run", reads())
