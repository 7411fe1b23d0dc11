"""``schedule add | list | show | run-now | remove``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.cli.run_input import matrix_of
from llmbench_mcp.cli.session import session
from llmbench_mcp.domain.chat import Sampling
from llmbench_mcp.domain.run import RunRequest, run_limits

if TYPE_CHECKING:
    from llmbench_mcp.app import App
    from llmbench_mcp.domain.schedule import Result, Schedule, ScheduleEvent
    from llmbench_mcp.services.retests import Retest

_WHEN = 'nightly, hourly, daily 03:30, weekly mon 02:00, or five cron fields in quotes: "0 3 * * 1-5".'
_ZONE = "Of the times: local (this machine's), UTC, or a name like Europe/Vienna."
_SELECT = "Instead of --model: active (the default), all or unstable_failed, as they are at each time."
Key = Annotated[str, typer.Argument(metavar="NAME", help="Name or id.")]
_NONE: list[str] = []


def add(  # noqa: PLR0913 - a command has one parameter per option
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What to call it.")],
    when: Annotated[list[str], typer.Argument(metavar="WHEN", help=_WHEN)],
    suite: Annotated[list[str], typer.Option("--suite", help="May be repeated; see suites.")],
    model: Annotated[list[str], typer.Option("--model", help="Name, id or name@endpoint; may be repeated.")] = _NONE,
    select: Annotated[str | None, typer.Option(help=_SELECT, metavar="WHICH")] = None,
    zone: Annotated[str, typer.Option(help=_ZONE)] = "local",
    always: Annotated[bool, typer.Option("--always", help="Run everything, changed or not.")] = False,
    endpoint: Annotated[str | None, typer.Option(help="Run there instead of where the models are assigned.")] = None,
    repeats: Annotated[int, typer.Option(help="How often each task is asked.")] = 1,
    temperature: Annotated[float, typer.Option()] = 0.0,
    top_p: Annotated[float | None, typer.Option()] = None,
    seed: Annotated[int, typer.Option()] = 0,
    max_tokens: Annotated[int | None, typer.Option(help="Token budget of an answer, instead of the task's.")] = None,
    param: Annotated[
        list[str], typer.Option("--param", metavar="NAME=V1,V2", help="Run every combination, as run start does.")
    ] = _NONE,
    limit_tokens: Annotated[int | None, typer.Option(help="Stop a run after that many tokens in all.")] = None,
    limit_seconds: Annotated[float | None, typer.Option(help="Stop a run that many seconds after its start.")] = None,
    priority: Annotated[int, typer.Option(help="-100 to 100; higher runs earlier.")] = 0,
) -> None:
    """Run suites again at set times, by default only for what has changed since its last result.

    What counts as changed: the model's digest, the server's version, the suite, a task, a validator.
    """
    from llmbench_mcp.cli.schedule_tables import added
    from llmbench_mcp.services.schedules import NewSchedule

    selected = select or (None if model else "active")
    limits = run_limits({"tokens": limit_tokens, "seconds": limit_seconds})
    sampling = Sampling(temperature, top_p, seed, max_tokens)
    more: dict[str, Any] = {"matrix": matrix_of(param, context), "limits": limits, "select": selected}
    request = RunRequest(tuple(model), tuple(suite), endpoint, repeats, sampling, priority, **more)
    new = NewSchedule(name, " ".join(when), request, zone, not always)
    here = session(context)

    async def work(app: App) -> tuple[Schedule, tuple[str, ...]]:
        return await app.schedules.add(new)

    made, left_out = here.use(work)
    here.show({"schedule": made, "left_out_now": left_out}, lambda: added(made, left_out))


def list_schedules(context: typer.Context) -> None:
    """List the schedules with when each is due next and what became of its last time."""
    from llmbench_mcp.cli.schedule_tables import listed

    here = session(context)

    async def work(app: App) -> list[tuple[Schedule, list[ScheduleEvent]]]:
        return [(one, await app.schedules.events(one, 1)) for one in await app.schedules.all()]

    found = here.use(work)
    document = {"schedules": [{"schedule": one, "last": events[0] if events else None} for one, events in found]}
    here.show(document, lambda: listed(found))


def show(context: typer.Context, name: Key) -> None:
    """Show a schedule, what it would run now and why, and what became of its times. Asks no server."""
    from llmbench_mcp.cli.schedule_tables import details

    here = session(context)

    async def work(app: App) -> tuple[Schedule, list[ScheduleEvent], Retest]:
        found = await app.schedules.get(name)
        return found, await app.schedules.events(found), await app.schedules.preview(found)

    found, events, now = here.use(work)
    would = {key: getattr(now, key) for key in ("reasons", "unchanged", "left_out")}
    here.show({"schedule": found, "events": events, "now": would}, lambda: details(found, events, now))


def run_now(
    context: typer.Context,
    name: Key,
    everything: Annotated[bool, typer.Option("--all", help="Run all of it, changed or not.")] = False,
) -> int:
    """Do at once what a schedule does at its time; that time stays."""
    from llmbench_mcp.cli.schedule_tables import outcome

    here = session(context)

    async def work(app: App) -> Result:
        return await app.schedules.run_now(name, everything)

    result = here.use(work)
    here.show({"result": result}, lambda: outcome(result))
    return exit_codes.FAILED if result.outcome == "failed" else exit_codes.OK


def remove(context: typer.Context, name: Key) -> None:
    """Forget a schedule; its runs and results stay."""
    from llmbench_mcp.cli.tables import sentence

    here = session(context)

    async def work(app: App) -> Schedule:
        return await app.schedules.remove(name)

    gone = here.use(work)
    here.show({"removed": gone}, lambda: [sentence(f"The schedule {gone.name} is removed; its runs stay.")])


COMMANDS: dict[str, Callable[..., Any]] = {
    "add": add,
    "list": list_schedules,
    "show": show,
    "run-now": run_now,
    "remove": remove,
}
