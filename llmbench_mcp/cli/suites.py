"""``suites``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from llmbench_mcp.cli.session import session

if TYPE_CHECKING:
    from llmbench_mcp.app import App
    from llmbench_mcp.services.suites import SuiteView


def suites(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Show the tasks of this one.")] = None,
) -> None:
    """List the suites of tasks, or the tasks of one."""
    from llmbench_mcp.cli import shapes, tables

    here = session(context)

    async def work(app: App) -> list[SuiteView]:
        return await app.suites.all() if name is None else [await app.suites.get(name)]

    views = here.use(work)
    document = {"suites": [shapes.suite(view) for view in views]}
    here.show(document, lambda: [tables.suites(views) if name is None else tables.suite_tasks(views[0])])
