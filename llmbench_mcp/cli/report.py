"""``report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from llmbench_mcp.cli.results import exported
from llmbench_mcp.cli.session import session

if TYPE_CHECKING:
    from llmbench_mcp.app import App
    from llmbench_mcp.services.exports import Exported


def report(
    context: typer.Context,
    run_ids: Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs by id; see run list.")],
    model: Annotated[str | None, typer.Option(help="Only this model, by name or id.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where to; else a new file in the data directory.")] = None,
) -> None:
    """Write a page to read in a browser: rankings, then what every model did well and badly. Prints where it lies."""
    from llmbench_mcp.domain.results import Selected

    here = session(context)

    async def work(app: App) -> Exported:
        return await app.exports.export(Selected(tuple(run_ids), model), "html", out=out)

    made = here.use(work)
    here.show({"exported": made}, lambda: exported(made))
