"""The tool run_cancel."""

from __future__ import annotations

from typing import Annotated

from mcp.types import CallToolResult

from llmbench_mcp.server.arguments import RunId
from llmbench_mcp.server.present import reply
from llmbench_mcp.server.results import Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, writes


class RunCancelled(Result):
    """The run after the request."""

    run_id: str
    state: str
    planned: int
    done: int
    errors: int
    next: str


async def run_cancel(ctx: Call, run_id: RunId) -> Annotated[CallToolResult, RunCancelled]:
    """Stop a run for good; what is done is kept. Harmless on a run that is over."""
    app = await app_of(ctx)
    run = await app.runs.cancel(run_id)
    step = f"run_results run_id={run.id}" if run.is_over else f"run_status run_id={run.id} wait_s=30"
    return reply(
        RunCancelled(run_id=run.id, state=run.state, planned=run.planned, done=run.done, errors=run.errors, next=step)
    )


TOOL = ToolSpec(run_cancel, "Cancel a run", writes(destructive=True, idempotent=True))
