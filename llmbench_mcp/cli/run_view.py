"""A run as people see it, and whether it ended well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from llmbench_mcp.cli.grid import Column
from llmbench_mcp.cli.progress import counts, step, time_left
from llmbench_mcp.domain.run import Run, RunEvent

if TYPE_CHECKING:
    from rich.console import RenderableType


def is_clean(run: Run) -> bool:
    """Whether a run that is over was completed with every attempt graded."""
    ended_badly = any(job.state in ("blocked", "failed", "cancelled") for job in run.jobs)
    return run.state == "completed" and not run.errors and not ended_badly


def render_run(run: Run) -> Iterable[RenderableType]:
    """State, jobs, failures and what to call next."""
    from llmbench_mcp.cli import tables

    reason = f" ({run.reason})" if run.reason else ""
    left = f", {time_left(run)}" if time_left(run) else ""
    head = f"Run {run.id}: {run.state}{reason}, {counts(run)}{left}"
    yield tables.sentence(head)
    doing = step(run)
    if not run.is_over and doing and doing != run.reason:
        yield tables.sentence(f"Now: {doing}")
    if run.interrupted:
        yield tables.sentence(f"Interrupted {times(run.interrupted)}: what was in flight was asked again.")
    if run.jobs:
        yield tables.jobs(run.jobs, run.reason)
    unsure = [job for job in run.jobs if job.residency and job.residency != "verified"]
    for told in dict.fromkeys(f"{job.model} on {job.endpoint}: {job.residency}" for job in unsure):
        yield tables.sentence(told)
    for why in dict.fromkeys(job.client_bound for job in run.jobs if job.client_bound):
        yield tables.sentence(f"Timings may be this program's own, not the server's: {why}")
    if run.failures:
        words = ", ".join(f"{word} {count}" for word, count in sorted(run.failures.items(), key=lambda f: -f[1]))
        yield tables.sentence(f"Failures: {words}")
    follow = f"run results {run.id}" if run.is_over else f"run status {run.id} --wait"
    yield tables.sentence(f"Next: llmbench-mcp {follow}")


def times(count: int) -> str:
    """Once, twice, 3 times."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


_HISTORY = (Column("Time"), Column("What"), Column("Model"), Column("Why", wraps=True))
_TOLD = {"job_running": "measuring", "job_done": "job done", "job_failed": "job failed", "job_blocked": "job blocked"}


def render_events(run: Run, events: Sequence[RunEvent]) -> RenderableType:
    """A run's history as a table."""
    from llmbench_mcp.cli import tables

    models = {job.id: job.model for job in run.jobs}
    rows = [
        (
            event.at[:19].replace("T", " "),
            _TOLD.get(event.kind, event.kind.replace("_", " ")),
            models.get(str(event.data.get("job")), ""),
            _why(event),
        )
        for event in events
    ]
    return tables.slim("", _HISTORY, rows, ["Model", "Why"])


def _why(event: RunEvent) -> str:
    if event.data.get("reason"):
        return str(event.data["reason"])
    if event.kind == "attempt":
        verdict = "passed" if event.data.get("passed") else event.data.get("failure") or "failed"
        return f"{event.data.get('task')}: {verdict}"
    facts = {name: value for name, value in event.data.items() if name not in ("job", "reason")}
    return ", ".join(f"{name} {value}" for name, value in facts.items())
