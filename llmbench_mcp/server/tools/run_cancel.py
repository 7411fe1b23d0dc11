"""The tool run_cancel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult
from pydantic import Field

from llmbench_mcp.domain.run import Run
from llmbench_mcp.server.arguments import RunId
from llmbench_mcp.server.present import reply
from llmbench_mcp.server.results import Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, writes

_MOST = 20


class RunCancelled(Result):
    """The run after the request; of several, the first."""

    run_id: str | None = None
    state: str | None = None
    planned: int | None = None
    done: int | None = None
    errors: int | None = None
    runs: list[str] | None = Field(default=None, description="all that had jobs there, with state")
    next: str


async def run_cancel(
    ctx: Call, run_id: RunId = "", device: Annotated[str, Field(description="id from gpu_stats")] = ""
) -> Annotated[CallToolResult, RunCancelled]:
    """Stop a run for good; with device only what it has queued or running there, without run_id what all runs have.
    What is done is kept. Harmless on a run that is over."""
    app = await app_of(ctx)
    if device:
        found = await app.runs.cancel_on(device, run_id or None)
        return reply(_on_device(found, device))
    if not run_id:
        raise ToolError("run_cancel needs run_id or device. Call run_list or gpu_stats for them.")
    return reply(_cancelled(await app.runs.cancel(run_id)))


def _cancelled(run: Run, runs: list[str] | None = None) -> RunCancelled:
    step = f"run_results run_id={run.id}" if run.is_over else f"run_status run_id={run.id} wait_s=30"
    figures = {name: getattr(run, name) for name in ("state", "planned", "done", "errors")}
    return RunCancelled(run_id=run.id, runs=runs, next=step, **figures)


def _on_device(found: Sequence[Run], device: str) -> RunCancelled:
    if not found:
        return RunCancelled(next=f"nothing was open on {device}: run_list")
    return _cancelled(found[0], [f"{run.id} {run.state}" for run in found[:_MOST]])


TOOL = ToolSpec(run_cancel, "Cancel a run", writes(destructive=True, idempotent=True))
