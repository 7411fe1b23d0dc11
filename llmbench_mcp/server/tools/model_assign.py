"""The tool model_assign."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from mcp.types import CallToolResult
from pydantic import Field

from llmbench_mcp.server.present import reply, shown
from llmbench_mcp.server.results import Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, writes
from llmbench_mcp.server.tools.model_list import assigned_to

if TYPE_CHECKING:
    from llmbench_mcp.app import App
    from llmbench_mcp.domain.model import Model


class Assignment(Result):
    """Where a model runs now."""

    model: str = Field(description="untrusted")
    status: str
    assigned_to: str | None = None
    next: str


async def model_assign(
    ctx: Call,
    model: Annotated[str, Field(description="name, id or name@endpoint")],
    endpoint: Annotated[str, Field(description="empty: the only one offering it")] = "",
    action: Literal["assign", "unassign", "enable", "disable"] = "assign",
) -> Annotated[CallToolResult, Assignment]:
    """Choose the server that runs a model in benchmarks, or take that back; disable keeps a model out of runs. Runs
    need an assignment unless run_start names an endpoint."""
    app = await app_of(ctx)
    changed = await _changed(app, model, endpoint, action)
    ready = changed.status == "active"
    step = "run_start with a suite from suite_list" if ready else "model_list"
    return reply(
        Assignment(model=shown(changed.name), status=changed.status, assigned_to=assigned_to(changed), next=step)
    )


async def _changed(app: App, model: str, endpoint: str, action: str) -> Model:
    if action in ("enable", "disable"):
        return await app.models.set_enabled(model, action == "enable")
    if action == "unassign":
        return await app.models.assign(model, None)
    return await (app.models.assign(model, endpoint) if endpoint else app.models.assign_only_home(model))


TOOL = ToolSpec(model_assign, "Assign a model", writes(idempotent=True))
