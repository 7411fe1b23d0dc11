"""The tool models_discover."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from llmbench_mcp.domain.model import DiscoveryReport
from llmbench_mcp.server.arguments import Names
from llmbench_mcp.server.present import MESSAGE_LIMIT, names, reply, shown_or_none
from llmbench_mcp.server.results import Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, writes

_REPORTS = 50


class Change(Result):
    """Models one look found to be new, changed, and so on."""

    count: int
    names: list[str] = Field(description="untrusted; the first 20")


class Report(Result):
    """What one look at one server found."""

    endpoint: str
    seen: int = Field(description="models offered now")
    added: Change | None = None
    changed: Change | None = Field(default=None, description="same name, other weights")
    missing: Change | None = Field(default=None, description="no longer offered")
    removed: Change | None = Field(default=None, description="missing for long, dropped from the list")
    back: Change | None = None
    untrusted_warnings: list[str] | None = None
    untrusted_error: str | None = Field(default=None, description="why this server could not be asked")
    next_step: str | None = None


class Discovery(Result):
    """All looks."""

    reports: list[Report]
    endpoints_asked: int
    next: str = Field(description="the next call to make")


async def models_discover(
    ctx: Call,
    endpoints: Annotated[Names, Field(description="endpoint names; empty: all")] = [],  # noqa: B006 - never changed
) -> Annotated[CallToolResult, Discovery]:
    """Ask the inference servers which models they offer and update the stored list. Returns what is new, changed or
    gone per server; one that fails reports its error and does not stop the others."""
    app = await app_of(ctx)
    reports = await app.models.discover(endpoints)
    rows = [_report(report) for report in reports[:_REPORTS]]
    return reply(Discovery(reports=rows, endpoints_asked=len(reports), next=_next(reports)))


def _next(reports: Sequence[DiscoveryReport]) -> str:
    if any(report.seen for report in reports):
        return "model_list, then model_assign for the models to benchmark"
    return "endpoint_list to see why no model was found"


def _report(report: DiscoveryReport) -> Report:
    return Report(
        endpoint=report.endpoint_name,
        seen=report.seen,
        added=_change(report.added),
        changed=_change(report.changed),
        missing=_change(report.missing),
        removed=_change(report.removed),
        back=_change(report.back),
        untrusted_warnings=names(report.warnings, 5) or None,
        untrusted_error=shown_or_none(report.error, MESSAGE_LIMIT),
        next_step=shown_or_none(report.next_step, MESSAGE_LIMIT),
    )


def _change(found: Sequence[str]) -> Change | None:
    return Change(count=len(found), names=names(found)) if found else None


TOOL = ToolSpec(models_discover, "Discover models", writes(idempotent=True, asks_servers=True))
