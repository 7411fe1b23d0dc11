"""A run as people see it, and whether it ended well."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from llmbench_mcp.cli import figures
from llmbench_mcp.cli.progress import counts, step
from llmbench_mcp.domain.run import Run

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
    left = f", about {figures.duration(run.eta_s)} left" if run.eta_s else ""
    head = f"Run {run.id}: {run.state}{reason}, {run.done + run.errors} of {run.planned} done, {counts(run)}{left}"
    yield tables.sentence(head)
    doing = step(run)
    if not run.is_over and doing and doing != run.reason:
        yield tables.sentence(f"Now: {doing}")
    if run.jobs:
        yield tables.jobs(run.jobs, run.reason)
    if run.failures:
        words = ", ".join(f"{word} {count}" for word, count in sorted(run.failures.items(), key=lambda f: -f[1]))
        yield tables.sentence(f"Failures: {words}")
    follow = f"run results {run.id}" if run.is_over else f"run status {run.id} --wait"
    yield tables.sentence(f"Next: llmbench-mcp {follow}")
