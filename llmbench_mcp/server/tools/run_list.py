"""The tool run_list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from mcp.types import CallToolResult
from pydantic import Field

from llmbench_mcp.domain.run import ListedRun, RunFilter
from llmbench_mcp.server.arguments import Cursor, Detail, Limit
from llmbench_mcp.server.present import MESSAGE_LIMIT, Cut, decode_cursor, names, reply, shown_or_none
from llmbench_mcp.server.results import Details, Page, Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, reads

_SHOWN = 5


class RunRow(Result):
    """One run."""

    run_id: str
    state: str
    created_at: str
    models: list[str] = Field(description="untrusted")
    suites: list[str]
    planned: int
    done: int
    passed: int
    errors: int
    untrusted_reason: str | None = None
    details: Details | None = None


class RunPage(Page):
    """A page of runs."""

    runs: list[RunRow]


async def run_list(  # noqa: PLR0913 - the arguments are the tool's schema
    ctx: Call,
    state: Literal["", "open", "paused", "completed", "cancelled", "failed"] = "",
    model: str = "",
    suite: str = "",
    text: Annotated[str, Field(description="in id, names, reason")] = "",
    detail: Detail = "concise",
    limit: Limit = 10,
    cursor: Cursor = "",
) -> Annotated[CallToolResult, RunPage]:
    """List runs, newest first. state=open: not over."""
    query = ("runs", state, model, suite, text)
    offset = decode_cursor(cursor, query)
    wanted = RunFilter(state or None, model or None, suite or None, text or None)
    found, total = await (await app_of(ctx)).runs.listed(wanted, limit, offset)
    rows = [_row(listed, detail) for listed in found]
    cut = Cut(rows, total, offset, query)
    return reply(RunPage(runs=rows[: cut.kept], next=_next(found, total, wanted), **cut.facts))


def _next(found: list[ListedRun], total: int, wanted: RunFilter) -> str | None:
    if found:
        return None
    if wanted == RunFilter() and not total:
        return "run_start"
    return "run_list with fewer filters"


def _some(values: Sequence[str]) -> list[str]:
    more = [f"and {len(values) - _SHOWN} more"] if len(values) > _SHOWN else []
    return names(values, _SHOWN) + more


def _row(listed: ListedRun, detail: Detail) -> RunRow:
    run = listed.run
    more = ("started_at", "finished_at", "tokens", "total_tokens", "interrupted")
    return RunRow(
        run_id=run.id,
        state=run.state,
        created_at=run.created_at,
        models=_some(listed.models),
        suites=_some(listed.suites),
        planned=run.planned,
        done=run.done,
        passed=run.passed,
        errors=run.errors,
        untrusted_reason=shown_or_none(run.reason, MESSAGE_LIMIT),
        details={name: getattr(run, name) for name in more} if detail == "detailed" else None,
    )


TOOL = ToolSpec(run_list, "List runs", reads())
