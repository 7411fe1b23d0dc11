"""The tool models_discover."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from llmbench_mcp.domain.model import DiscoveryReport
from llmbench_mcp.server.arguments import Names
from llmbench_mcp.server.present import MESSAGE_LIMIT, names, reply, shown, shown_or_none
from llmbench_mcp.server.results import Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, writes

_REPORTS = 50
_KINDS = ("added", "changed", "missing", "removed", "back")


class Change(Result):
    """Models one look found to be new, changed, and so on."""

    count: int
    names: list[str] = Field(description="untrusted")


class Report(Result):
    """What one look at one server found; a server that could not be added stands under its address."""

    endpoint: str
    seen: int = Field(description="models")
    changes: dict[str, Change] = Field(description="by added, changed, missing, removed, back")
    added_on: str | None = Field(default=None, description="device assumed for a server just found")
    untrusted_warnings: list[str] | None = None
    untrusted_error: str | None = None
    next: str | None = None


class Discovery(Result):
    """All looks."""

    reports: list[Report]
    total: int
    next: str


async def models_discover(
    ctx: Call,
    endpoints: Annotated[Names, Field(description="names; empty: all")] = [],  # noqa: B006 - never changed
    look_around: Annotated[bool, Field(description="find servers at usual ports here")] = False,
) -> Annotated[CallToolResult, Discovery]:
    """Ask the inference servers which models they offer and update the list. While no server is known, it looks around
    this machine."""
    app = await app_of(ctx)
    reports = await app.models.discover(endpoints, around=look_around, by_agent=True)
    rows = [_report(report) for report in reports[:_REPORTS]]
    return reply(Discovery(reports=rows, total=len(reports), next=_next(reports)))


def _next(reports: Sequence[DiscoveryReport]) -> str:
    if any(report.seen for report in reports):
        return "model_list, then model_assign for the models to benchmark"
    return "endpoint_list to see why no model was found"


def _report(report: DiscoveryReport) -> Report:
    changes = {kind: getattr(report, kind) for kind in _KINDS}
    return Report(
        endpoint=shown(report.endpoint_name),
        seen=report.seen,
        changes={kind: Change(count=len(found), names=names(found)) for kind, found in changes.items() if found},
        added_on=report.new_on,
        untrusted_warnings=names(report.warnings, 5) or None,
        untrusted_error=shown_or_none(report.error, MESSAGE_LIMIT),
        next=shown_or_none(report.next_step, MESSAGE_LIMIT),
    )


TOOL = ToolSpec(models_discover, "Discover models", writes(idempotent=True, asks_servers=True))
