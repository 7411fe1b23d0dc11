"""Schedules for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from llmbench_mcp.cli.grid import Column
from llmbench_mcp.cli.tables import sentence, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from llmbench_mcp.domain.schedule import Result, Schedule, ScheduleEvent
    from llmbench_mcp.services.retests import Retest


def added(made: Schedule, left_out: Sequence[str]) -> Iterator[RenderableType]:
    """A new schedule and who is left out of it."""
    yield sentence(f"{made.name} runs {_what(made)}, {made.when} ({made.zone}); first at {made.due_at}.")
    yield from (sentence(f"Now left out: {remark}") for remark in left_out)
    yield sentence("It is kept by the executor, and by any client's server that is open; see docs/continuous.md.")


def listed(found: Sequence[tuple[Schedule, list[ScheduleEvent]]]) -> Iterator[RenderableType]:
    """All of them."""
    if not found:
        yield sentence("There are no schedules. Make one: llmbench-mcp schedule add NAME nightly --suite SUITE")
        return
    columns = (
        Column("Name"),
        Column("When", wraps=True),
        Column("Zone", drop=1),
        Column("Runs", wraps=True, drop=2),
        Column("Next (UTC)"),
        Column("Last", wraps=True, drop=3),
    )
    yield table(columns, [_row(schedule, events) for schedule, events in found])


def _row(schedule: Schedule, events: list[ScheduleEvent]) -> tuple[str, ...]:
    last = f"{events[0].outcome} {events[0].run_id or ''} at {_minute(events[0].at)}" if events else "never yet"
    return (schedule.name, schedule.when, schedule.zone, _what(schedule), _minute(schedule.due_at), last)


def _what(schedule: Schedule) -> str:
    request = schedule.request
    models = f"{request.select} models" if request.select else ", ".join(request.models)
    return f"{', '.join(request.suites)} for {models}{' where something changed' if schedule.only_changed else ''}"


def _minute(utc: str) -> str:
    return utc[:16].replace("T", " ")


def details(found: Schedule, events: Sequence[ScheduleEvent], now: Retest) -> Iterator[RenderableType]:
    """One in full."""
    yield sentence(f"{found.name} ({found.id}) runs {_what(found)}, {found.when} ({found.zone}).")
    yield sentence(f"Next: {_minute(found.due_at)} UTC. By what is known now it would run:")
    for reason in now.reasons or ("nothing",):
        yield sentence(f"  {reason}")
    yield from (sentence(f"  unchanged: {label}") for label in now.unchanged)
    yield from (sentence(f"  left out: {remark}") for remark in now.left_out)
    if events:
        columns = (Column("Due (UTC)"), Column("Outcome"), Column("Run"), Column("Why", note=True))
        rows = [(_minute(e.due_at), e.outcome, e.run_id or "", "; ".join(e.notes)) for e in events]
        yield table(columns, rows)


def outcome(result: Result) -> Iterator[RenderableType]:
    """What was done at once."""
    told = {
        "started": f"Started run {result.run_id}.",
        "unchanged": "Nothing was started: nothing has changed. --all runs it all the same.",
        "skipped": "Nothing was started.",
        "failed": "Nothing could be started.",
    }
    yield sentence(told[result.outcome])
    yield from (sentence(note) for note in result.notes)
