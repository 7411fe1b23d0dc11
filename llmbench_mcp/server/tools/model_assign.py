"""The tool model_assign."""

from __future__ import annotations

from typing import Annotated, Literal

from mcp.types import CallToolResult
from pydantic import Field

from llmbench_mcp.server.present import reply, shown
from llmbench_mcp.server.results import Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, writes
from llmbench_mcp.server.tools.model_list import assigned_to


class Assignment(Result):
    """Where a model runs now."""

    model: str = Field(description="untrusted")
    status: str
    assigned_to: str | None = Field(default=None, description="endpoint; absent: none")
    next: str


async def model_assign(
    ctx: Call,
    model: Annotated[str, Field(description="name, id or name@endpoint")],
    endpoint: Annotated[str, Field(description="empty: the only one offering it")] = "",
    action: Literal["assign", "unassign"] = "assign",
) -> Annotated[CallToolResult, Assignment]:
    """Choose the inference server that runs a model in benchmarks, or take the choice back. Runs need it unless
    run_start names an endpoint. Loads nothing."""
    app = await app_of(ctx)
    if action == "unassign":
        changed = await app.models.assign(model, None)
    elif endpoint:
        changed = await app.models.assign(model, endpoint)
    else:
        changed = await app.models.assign_only_home(model)
    step = "run_start with a suite from suite_list" if action == "assign" else "model_list"
    return reply(
        Assignment(model=shown(changed.name), status=changed.status, assigned_to=assigned_to(changed), next=step)
    )


TOOL = ToolSpec(model_assign, "Assign a model to a server", writes(idempotent=True))
