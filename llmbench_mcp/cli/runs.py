"""``run start | status | results | cancel | retry | list``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llmbench_mcp.cli.run_results import results
from llmbench_mcp.cli.run_start import start
from llmbench_mcp.cli.run_view import is_clean, render_events, render_run
from llmbench_mcp.cli.session import MOST, Session, session
from llmbench_mcp.cli.usage import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from llmbench_mcp.app import App
    from llmbench_mcp.domain.run import ListedRun, Run, RunEvent

_WAIT = "Wait for its end, or only up to so many seconds."
_MOST_EVENTS = 1000
_NUMBER = re.compile(r"[-+]?[.\d].*")


def with_open_wait(words: Sequence[str]) -> list[str]:
    """The arguments with a ``run status --wait`` that has no number made one without limit."""
    if list(words[:2]) != ["run", "status"]:
        return list(words)
    after = [*words[1:], ""]
    return [
        "--wait=inf" if word == "--wait" and not _NUMBER.match(after[place]) else word
        for place, word in enumerate(words)
    ]


def status(
    context: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID")],
    wait: Annotated[float, typer.Option(min=0, help=_WAIT, metavar="[S]")] = 0,
    events: Annotated[bool, typer.Option("--events", help="Show the run's history, too.")] = False,
) -> int:
    """Show how far a run is. Exit code 3 when waited for and it ended cancelled, failed or with errors."""
    from llmbench_mcp.cli import exit_codes, shapes
    from llmbench_mcp.cli.progress import follow, progress

    here = session(context)

    async def look(app: App) -> Run:
        if not wait:
            return await app.runs.status(run_id)
        import anyio

        with progress() as display, anyio.move_on_after(wait):
            return await follow(app.runs, run_id, display)
        return await app.runs.get(run_id)

    async def work(app: App) -> tuple[Run, list[RunEvent]]:
        return await look(app), await app.runs.events(run_id, limit=_MOST_EVENTS) if events else []

    found, history = here.use(work)
    document = {"run": shapes.run(found)} | ({"events": history} if events else {})
    here.show(document, lambda: [*render_run(found), *([render_events(found, history)] if events else [])])
    return exit_codes.RUN_NOT_CLEAN if wait and found.is_over and not is_clean(found) else exit_codes.OK


def cancel(
    context: typer.Context,
    run_id: Annotated[str | None, typer.Argument(metavar="[ID]")] = None,
    device: Annotated[str | None, typer.Option(help="Only what is on this device; without ID, of all runs.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every run that is not over, on every device.")] = False,
) -> None:
    """Stop a run, all runs, or what runs have on a device; what is done is kept."""
    from llmbench_mcp.cli import shapes

    here = session(context)
    if every and (run_id is not None or device is not None):
        raise UsageError("--all takes no run and no --device.", context)
    if every:
        _show_stopped(here, here.use(lambda app: app.runs.cancel_all()), "No run was open.")
    elif device is not None:
        hit = here.use(lambda app: app.runs.cancel_on(device, run_id))
        _show_stopped(here, hit, f"Nothing was open on {device}.")
    elif run_id is not None:
        found = here.use(lambda app: app.runs.cancel(run_id))
        here.show({"run": shapes.run(found)}, lambda: render_run(found))
    else:
        raise UsageError("Name a run, or --device, or --all.", context)


def _show_stopped(here: Session, stopped: Sequence[Run], none: str) -> None:
    from llmbench_mcp.cli import shapes, tables

    told = [f"{run.id}: {run.state}" for run in stopped] or [none]
    here.show({"runs": [shapes.run(run) for run in stopped]}, lambda: [tables.sentence(line) for line in told])


def retry(
    context: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID")],
    failed: Annotated[bool, typer.Option("--failed", help="Ask wrong answers again; the score stays.")] = False,
    regrade: Annotated[bool, typer.Option("--regrade", help="Grade stored answers again; asks no model.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Show progress until the end.")] = False,
) -> int:
    """Ask again what ended in an error or was cancelled; with --failed or --regrade do that instead."""
    from llmbench_mcp.cli import exit_codes, shapes
    from llmbench_mcp.cli.progress import follow, progress

    if failed and regrade:
        raise UsageError("--failed and --regrade exclude each other.", context)
    here = session(context)

    async def work(app: App) -> tuple[Run, int, dict[str, float]]:
        limits = await app.runs.limits(run_id)
        run, count = await app.runs.retry(run_id, "failed" if failed else "regrade" if regrade else "errors")
        if not wait:
            return run, count, limits
        with progress() as display:
            return await follow(app.runs, run_id, display), count, limits

    found, count, limits = here.use(work)
    document = {"run": shapes.run(found), "attempts": count, "limits_lifted": limits}
    here.show(document, lambda: [*_lifted(limits), *render_run(found)])
    return exit_codes.RUN_NOT_CLEAN if wait and not is_clean(found) else exit_codes.OK


def _lifted(limits: Mapping[str, float]) -> Iterator[RenderableType]:
    from llmbench_mcp.cli.tables import sentence

    if limits:
        told = ", ".join(f"{value:g} {name}" for name, value in limits.items())
        yield sentence(f"The run's limits ({told}) do not hold for what is done again.")


def list_runs(  # noqa: PLR0913 - a command has one parameter per option
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="How many to show.")] = 20,
    offset: Annotated[int, typer.Option(min=0, max=MOST, help="How many of the newest to skip.")] = 0,
    state: Annotated[str | None, typer.Option(help="Only in this state, e.g. completed; open: not over.")] = None,
    model: Annotated[str | None, typer.Option(help="Only with this model, by name or id.")] = None,
    suite: Annotated[str | None, typer.Option(help="Only with this suite.")] = None,
    text: Annotated[str | None, typer.Option(help="Only with this in its id, names or reason.")] = None,
) -> None:
    """List the runs, newest first."""
    from llmbench_mcp.cli import shapes, tables
    from llmbench_mcp.domain.run import RunFilter

    here = session(context)
    wanted = RunFilter(state, model, suite, text)

    async def work(app: App) -> tuple[list[ListedRun], int]:
        return await app.runs.listed(wanted, limit, offset)

    found, total = here.use(work)
    document = {"runs": [shapes.listed_run(listed) for listed in found], "total": total}
    none = "There are no runs." if wanted == RunFilter() else "No run matches."
    empty = tables.sentence(none if not total else f"There are {total} runs; see --offset.")
    here.show(document, lambda: [tables.runs(found) if found else empty])


COMMANDS: dict[str, Callable[..., Any]] = {
    "start": start,
    "status": status,
    "results": results,
    "cancel": cancel,
    "retry": retry,
    "list": list_runs,
}
