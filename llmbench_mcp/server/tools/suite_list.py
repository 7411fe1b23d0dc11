"""The tool suite_list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mcp.types import CallToolResult
from pydantic import Field

from llmbench_mcp.domain.task import Suite, Task
from llmbench_mcp.domain.text import visible
from llmbench_mcp.server.arguments import Cursor, Detail, Limit
from llmbench_mcp.server.present import Cut, decode_cursor, names, reply, shown, shown_or_none
from llmbench_mcp.server.results import Page, Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, reads

if TYPE_CHECKING:
    from llmbench_mcp.services.suites import SuiteView

_PROMPT_LIMIT = 600


class SuiteRow(Result):
    """One suite."""

    name: str
    title: str
    version: int
    tasks: int
    licence: str | None = Field(default=None, description="of imported data")
    description: str | None = None


class TaskRow(Result):
    """One task of a suite."""

    id: str
    title: str | None = None
    difficulty: str
    weight: float
    tags: list[str] | None = None
    needs: list[str] | None = Field(default=None, description="model capabilities")
    max_tokens: int | None = None
    prompt: str | None = Field(default=None, description="detailed")


class SuitePage(Page):
    """A page of suites, or of one suite's tasks."""

    suites: list[SuiteRow]
    tasks: list[TaskRow] | None = Field(default=None, description="of one suite")


async def suite_list(
    ctx: Call,
    suite: Annotated[str, Field(description="a name: list its tasks")] = "",
    detail: Detail = "concise",
    limit: Limit = 10,
    cursor: Cursor = "",
) -> Annotated[CallToolResult, SuitePage]:
    """List the benchmark suites, or one suite's tasks with weights and (detailed) prompts; never hidden tests or
    answers."""
    query = ("suites", suite)
    offset = decode_cursor(cursor, query)
    app = await app_of(ctx)
    if suite:
        return _one(await app.suites.get(suite), detail, (offset, limit), query)
    suites = await app.suites.heads()
    rows = [_suite_row(one) for one in suites[offset : offset + limit]]
    cut = Cut(rows, len(suites), offset, query)
    return reply(SuitePage(suites=rows[: cut.kept], next="run_start", **cut.facts))


def _one(view: SuiteView, detail: Detail, page: tuple[int, int], query: object) -> CallToolResult:
    offset, limit = page
    weights = view.weights
    rows = [_task_row(task, weights[task.id], detail) for task in view.tasks[offset : offset + limit]]
    cut = Cut(rows, len(view.tasks), offset, query)
    return reply(SuitePage(suites=[_suite_row(view.suite)], tasks=rows[: cut.kept], next="run_start", **cut.facts))


def _suite_row(suite: Suite) -> SuiteRow:
    return SuiteRow(
        name=suite.name,
        title=shown(suite.title),
        version=suite.version,
        tasks=len(suite.items),
        licence=shown_or_none(suite.licence),
        description=shown_or_none(suite.description, 300),
    )


def _task_row(task: Task, weight: float, detail: Detail) -> TaskRow:
    return TaskRow(
        id=task.id,
        title=shown_or_none(task.title),
        difficulty=task.difficulty,
        weight=weight,
        tags=names(task.tags) or None,
        needs=list(task.needs) or None,
        max_tokens=task.max_tokens,
        prompt=_prompt(task) if detail == "detailed" else None,
    )


def _prompt(task: Task) -> str:
    text = visible(task.prompt)
    return text if len(text) <= _PROMPT_LIMIT else f"{text[:_PROMPT_LIMIT]}… [cut, {len(text)} characters]"


TOOL = ToolSpec(suite_list, "List suites", reads())
