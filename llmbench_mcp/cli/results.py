"""``results clear | export``."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from llmbench_mcp.cli import figures, output
from llmbench_mcp.cli.session import session
from llmbench_mcp.cli.usage import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from llmbench_mcp.app import App
    from llmbench_mcp.services.clearing import Cleared, ClearPlan
    from llmbench_mcp.services.exports import Exported

_NONE: list[str] = []
_TENTHS = 10
_SHOWN = 20
RunIds = Annotated[list[str] | None, typer.Argument(metavar="[RUN]...", help="Runs by id; see run list.")]
Model = Annotated[str | None, typer.Option(help="Only this model, by name or id.")]
SuiteName = Annotated[str | None, typer.Option("--suite", help="Only this suite.")]
Moved = Callable[[int, int], Awaitable[None]]


@contextmanager
def counted(what: str) -> Iterator[Moved]:
    """A bar of attempts on a terminal, about ten lines elsewhere; call what it gives with (done, in all)."""
    if not sys.stderr.isatty():
        yield _lines(what)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what, markup=False), BarColumn(30), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=output.console(sys.stderr), transient=True) as bars:
        task = bars.add_task(what, total=None)

        async def move(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total)

        yield move


def _lines(what: str) -> Moved:
    told = -1

    async def tell(done: int, total: int) -> None:
        nonlocal told
        tenth = done * _TENTHS // max(1, total)
        if tenth > told:
            told = tenth
            output.note(f"{what}: {done:,} of {total:,} attempts")

    return tell


def clear(
    context: typer.Context,
    run_ids: RunIds = None,
    model: Annotated[str | None, typer.Option(help="This model (name or id): without RUN, all its results.")] = None,
    suite: Annotated[str | None, typer.Option(help="This suite: without RUN, all its results.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only tell what would go.")] = False,
) -> None:
    """Remove results for good: runs, or what a model or suite has. Without --yes nothing is changed.

    A run that is not over is never touched.
    """
    from llmbench_mcp.domain.results import Selected

    here = session(context)
    wanted = Selected(tuple(run_ids or ()), model, suite)
    if wanted.is_everything:
        raise UsageError("Name runs, --model or --suite.", context)

    async def work(app: App) -> ClearPlan | Cleared:
        plan = await app.clearing.plan(wanted)
        if not yes:
            return plan
        with counted("removing") as move:
            return await app.clearing.clear(wanted, plan.confirm, move)

    found = here.use(work)
    document = {"removed" if yes else "would_remove": found}
    here.show(document, lambda: _cleared(cast("Cleared", found)) if yes else _planned(cast("ClearPlan", found)))


def _planned(plan: ClearPlan) -> Iterator[RenderableType]:
    from llmbench_mcp.cli.grid import Column
    from llmbench_mcp.cli.tables import sentence, table

    yield sentence(f"Would remove {_told(plan)}. Nothing was changed.")
    counts = [("run", plan.runs), ("model", plan.models), ("suite", plan.suites)]
    rows = [(kind, name, f"{n:,}") for kind, found in counts for name, n in list(found.items())[:_SHOWN]]
    yield table((Column("Kind"), Column("Name"), Column("Attempts", right=True)), rows)
    yield sentence("To do it, give the same command with --yes. It cannot be undone.")


def _told(plan: ClearPlan) -> str:
    parts = (figures.count(plan.attempts, "attempt"), figures.count(len(plan.runs), "run"))
    return f"{parts[0]} of {parts[1]}, about {figures.size(plan.size_bytes)}"


def _cleared(cleared: Cleared) -> Iterator[RenderableType]:
    from llmbench_mcp.cli.tables import sentence

    freed = f"; the file is {figures.size(cleared.freed_bytes)} smaller" if cleared.freed_bytes else ""
    yield sentence(f"Removed {figures.count(cleared.attempts, 'attempt')}{freed}.")
    yield from (sentence(remark) for remark in cleared.remarks)


def export(  # noqa: PLR0913 - a command has one parameter per option
    context: typer.Context,
    run_ids: RunIds = None,
    model: Model = None,
    suite: SuiteName = None,
    format: Annotated[  # noqa: A002 - the option's name
        str | None, typer.Option(help="json, csv, parquet or html; else by the name of --out, else json.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to; else a new file in the data directory.")] = None,
    completions: Annotated[bool, typer.Option("--completions", help="With what the models answered.")] = False,
) -> None:
    """Write results to a file: those named, or all of them; with what is needed to repeat them."""
    from llmbench_mcp.domain.results import Selected
    from llmbench_mcp.services.export_writers import FORMATS

    here = session(context)
    chosen = format or (out.suffix[1:].lower() if out and out.suffix else "json")
    if chosen not in FORMATS:
        raise UsageError(f"--format is one of: {', '.join(FORMATS)}.", context)
    wanted = Selected(tuple(run_ids or ()), model, suite)

    async def work(app: App) -> Exported:
        with counted("exporting") as move:
            return await app.exports.export(wanted, chosen, include_completions=completions, out=out, on_progress=move)

    here.show({"exported": (made := here.use(work))}, lambda: exported(made))


def exported(made: Exported) -> Iterator[RenderableType]:
    """Where a file lies and what is in it."""
    from llmbench_mcp.cli.tables import sentence

    yield sentence(f"{figures.count(made.rows, 'attempt')}, {figures.size(made.size_bytes)}: {made.path}")
    if made.manifest is not None:
        yield sentence(f"How to repeat them: {made.manifest}")
    yield from (sentence(remark) for remark in made.remarks)


COMMANDS: dict[str, Callable[..., Any]] = {"clear": clear, "export": export}
