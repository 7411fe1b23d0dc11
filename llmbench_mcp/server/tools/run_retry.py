"""The tool run_retry."""

from __future__ import annotations

from typing import Annotated, Literal

from mcp.types import CallToolResult
from pydantic import Field

from llmbench_mcp.server.arguments import RunId
from llmbench_mcp.server.present import reply
from llmbench_mcp.server.results import Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, writes


class Retried(Result):
    """What was queued again."""

    run_id: str
    state: str
    attempts: int = Field(description="queued again")
    limits_lifted: dict[str, float] | None = None
    next: str


async def run_retry(
    ctx: Call,
    run_id: RunId,
    what: Annotated[
        Literal["errors", "failed", "regrade"],
        Field(
            description="errors: what ended without a verdict; failed: wrong answers, to look at (the score stays); "
            "regrade: only grade stored answers"
        ),
    ] = "errors",
) -> Annotated[CallToolResult, Retried]:
    """Do part of a finished run again."""
    runs = (await app_of(ctx)).runs
    limits = await runs.limits(run_id)
    run, count = await runs.retry(run_id, what)
    step = f"run_status run_id={run.id} wait_s=30"
    return reply(Retried(run_id=run.id, state=run.state, attempts=count, limits_lifted=limits or None, next=step))


TOOL = ToolSpec(run_retry, "Retry part of a run", writes(asks_servers=True), toolset="manage")
