"""The tool model_compare."""

from __future__ import annotations

from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from llmbench_mcp.domain.comparison import Item
from llmbench_mcp.domain.leaderboard import Row
from llmbench_mcp.server.arguments import Cursor, Limit
from llmbench_mcp.server.present import MESSAGE_LIMIT, Cut, decode_cursor, reply, shown
from llmbench_mcp.server.results import Page, Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, reads


class ItemRow(Result):
    """A task where the two differ."""

    task: str
    a: float
    b: float


class ComparisonPage(Page):
    """Two rows of results and a page of what differs."""

    a: str = Field(description="model@endpoint; untrusted")
    b: str
    verdict: str = Field(description="tie, a or b")
    p: float = Field(description="exact, two-sided")
    test: str
    difference: float = Field(description="pass rate a - b")
    interval_low: float = Field(description="95 %")
    interval_high: float
    a_only: int = Field(description="tasks a alone passes")
    b_only: int
    both: int
    neither: int
    tasks_shared: int
    tasks_in_suite: int
    items: list[ItemRow] = Field(description="that differ")
    remarks: list[str] | None = None


async def model_compare(
    ctx: Call,
    a: Annotated[str, Field(description="model, model@endpoint, run_id or run_id:model")],
    b: Annotated[str, Field(description="like a")],
    suite: str,
    limit: Limit = 10,
    cursor: Cursor = "",
) -> Annotated[CallToolResult, ComparisonPage]:
    """Compare two models, or two runs, on the tasks of a suite that both answered: which is better, how sure, where
    they differ. A tie: the data cannot tell. What was asked differently is refused."""
    query = ("comparison", a, b, suite)
    offset = decode_cursor(cursor, query)
    app = await app_of(ctx)
    found = await app.comparisons.compare(a, b, suite)
    rows = [_item(item) for item in found.items[offset : offset + limit]]
    cut = Cut(rows, len(found.items), offset, query)
    return reply(
        ComparisonPage(
            a=_label(found.a),
            b=_label(found.b),
            verdict=found.verdict,
            p=found.p,
            test=found.test,
            difference=found.difference,
            interval_low=found.interval[0],
            interval_high=found.interval[1],
            a_only=found.a_only,
            b_only=found.b_only,
            both=found.both,
            neither=found.neither,
            tasks_shared=found.shared,
            tasks_in_suite=found.tasks_in_suite,
            items=rows[: cut.kept],
            remarks=[shown(remark, MESSAGE_LIMIT) for remark in found.remarks] or None,
            **cut.facts,
        )
    )


def _item(item: Item) -> ItemRow:
    return ItemRow(task=item.task_id, a=item.a, b=item.b)


def _label(row: Row) -> str:
    return shown(f"{row.model}@{row.endpoint}")


TOOL = ToolSpec(model_compare, "Compare two", reads())
