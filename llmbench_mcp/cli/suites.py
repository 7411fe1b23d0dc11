"""``suites``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llmbench_mcp.cli import figures, output
from llmbench_mcp.cli.session import session
from llmbench_mcp.cli.usage import UsageError
from llmbench_mcp.domain.reliability import Reliability, reliability

if TYPE_CHECKING:
    from llmbench_mcp.app import App
    from llmbench_mcp.services.suites import SuiteView

_MOST_ROWS = 200
"""Of a table for people."""


def suites(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Show the tasks of this one; NAME@SEED draws it anew.")] = None,
    how_reliable: Annotated[
        bool, typer.Option("--reliability", help="Say how well it tells models apart, by simulation.")
    ] = False,
) -> None:
    """List the suites of tasks, or the tasks of one."""
    from llmbench_mcp.cli import shapes, tables

    here = session(context)
    if how_reliable and name is None:
        raise UsageError("--reliability needs the name of a suite.", context)

    async def work(app: App) -> list[SuiteView]:
        return await app.suites.listed() if name is None else [await app.suites.get(name)]

    views = here.use(work)
    found = reliability(views[0].tasks, views[0].weights) if how_reliable else None
    document: dict[str, Any] = {"suites": [shapes.suite(view) for view in views]}
    document |= {"reliability": found} if how_reliable else {}
    if name is not None and len(views[0].tasks) > _MOST_ROWS and not here.as_json:
        output.note(f"The first {_MOST_ROWS} of {len(views[0].tasks)} tasks; --json has all.")
        views = [replace(views[0], tasks=views[0].tasks[:_MOST_ROWS])]
    told = [tables.sentence(reliability_told(found))] if how_reliable else []
    here.show(document, lambda: [tables.suites(views) if name is None else tables.suite_tasks(views[0]), *told])


def reliability_told(found: Reliability | None) -> str:
    """The figures in words."""
    if found is None:
        return "Reliability: too few tasks that are passed or failed."
    far, near = figures.percent(found.told_apart_1), figures.percent(found.told_apart)
    return (
        f"Reliability, by ten imaginary models half a logit apart: separation {found.separation:.2f}, KR-20 "
        f"{found.kr20:.2f}, Kendall's tau of the ranking {found.tau:.2f}; of all pairs {near} are told apart at 5 %, "
        f"of those a logit apart or more {far}, wrongly {figures.percent(found.reversed)}."
    )
