"""``models history``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from llmbench_mcp.cli import figures
from llmbench_mcp.cli.grid import Column, Grid
from llmbench_mcp.cli.session import MOST, session

if TYPE_CHECKING:
    from llmbench_mcp.app import App
    from llmbench_mcp.domain.daily import DailySummary

_SHORT = 12
_OPTIONAL = ("Endpoint", "Parameters", "Errors", "Digest", "Server", "Version")
_BASIS = (
    "means over the day's answers: each answer counts once, whatever its task's weight and version; "
    "a leaderboard weighs tasks and takes their present versions alone"
)


def history(
    context: typer.Context,
    model: Annotated[str, typer.Argument(metavar="NAME", help="Name or id; a name covers what it meant before, too.")],
    suite: Annotated[str | None, typer.Option(help="Only this suite.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="How many rows to show.")] = 100,
) -> None:
    """Show a model's results day by day (UTC), also of runs that have been removed since."""
    from llmbench_mcp.cli.tables import sentence

    here = session(context)

    async def work(app: App) -> tuple[str, list[DailySummary]]:
        return await app.upkeep.history(model, suite, limit)

    name, days = here.use(work)
    empty = sentence(f"{name} has no results yet.")
    said = sentence(f"Figures: {_BASIS}.")
    here.show({"model": name, "basis": _BASIS, "days": days}, lambda: [_table(days), said] if days else [empty])


def _table(days: list[DailySummary]) -> Grid:
    from llmbench_mcp.cli.tables import slim

    columns = (
        Column("Day"),
        Column("Suite"),
        Column("Endpoint", drop=5),
        Column("Parameters", drop=3, wraps=True),
        Column("Graded", right=True),
        Column("Passed", right=True),
        Column("Errors", right=True, drop=6),
        Column("Mean score", right=True),
        Column("Mean tok/s", right=True),
        Column("Mean TTFT", right=True, drop=4),
        Column("Digest", drop=2),
        Column("Server", drop=1),
        Column("Version", right=True, drop=1),
    )
    return slim("", columns, [_row(day) for day in days], _OPTIONAL)


def _row(day: DailySummary) -> tuple[str, ...]:
    parameters = ", ".join(f"{name}={value}" for name, value in day.sampling.items() if value is not None)
    return (
        day.day,
        day.suite,
        day.endpoint,
        parameters,
        str(day.graded),
        figures.percent(day.passed / day.graded if day.graded else None),
        str(day.errors),
        figures.percent(day.score),
        figures.number(day.decode_tps),
        figures.duration(day.ttft_s),
        (day.digest or figures.UNKNOWN).removeprefix("sha256:")[:_SHORT],
        day.server_version or figures.UNKNOWN,
        str(day.suite_version or figures.UNKNOWN),
    )
