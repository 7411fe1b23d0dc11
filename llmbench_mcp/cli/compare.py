"""``compare``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llmbench_mcp.cli.session import session

if TYPE_CHECKING:
    from rich.console import RenderableType

    from llmbench_mcp.app import App
    from llmbench_mcp.domain.comparison import Comparison
    from llmbench_mcp.domain.leaderboard import Row


def compare(
    context: typer.Context,
    a: Annotated[str, typer.Argument(help="A model (NAME or NAME@ENDPOINT) or a run (ID, or ID:MODEL of several).")],
    b: Annotated[str, typer.Argument(help="The other one.")],
    suite: Annotated[str, typer.Option(help="On the tasks of this suite that both answered.")],
) -> None:
    """Compare two models or two runs: who wins where, and whether the difference is more than chance."""
    here = session(context)

    async def work(app: App) -> Comparison:
        return await app.comparisons.compare(a, b, suite)

    found = here.use(work)
    here.show(shape(found), lambda: render(found))


def shape(found: Comparison) -> dict[str, Any]:
    """A comparison as JSON."""
    names = ("tasks_in_suite", "shared", "a_only", "b_only", "both", "neither", "rate_a", "rate_b", "difference")
    return {
        "a": _row(found.a),
        "b": _row(found.b),
        **{name: getattr(found, name) for name in names},
        "interval": found.interval,
        "p": found.p,
        "test": found.test,
        "verdict": found.verdict,
        "items": [{"task": item.task_id, "a": item.a, "b": item.b} for item in found.items],
        "remarks": found.remarks,
    }


def _row(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("model", "endpoint", "device", "manifest")}


def render(found: Comparison) -> Iterable[RenderableType]:
    """A comparison for people."""
    from llmbench_mcp.cli import figures, tables
    from llmbench_mcp.cli.grid import Column

    names = (f"a: {found.a.model} ({found.a.endpoint})", f"b: {found.b.model} ({found.b.endpoint})")
    rates = f"{figures.percent(found.rate_a)} and {figures.percent(found.rate_b)} of {found.shared} tasks"
    yield tables.sentence(f"{names[0]}, {names[1]}: {rates}.")
    yield tables.sentence(_verdict(found))
    low, high = (f"{end * 100:+.1f}" for end in found.interval)
    yield tables.sentence(
        f"Difference {found.difference * 100:+.1f} points, 95 % interval {low} to {high}; "
        f"p = {found.p:.4g} ({found.test}). "
        f"Only a {found.a_only}, only b {found.b_only}, both {found.both}, neither {found.neither}."
    )
    for remark in found.remarks:
        yield tables.sentence(f"Note: {remark}.")
    if found.items:
        columns = (Column("Task"), Column("a", right=True), Column("b", right=True))
        rows = [(item.task_id, figures.percent(item.a), figures.percent(item.b)) for item in found.items]
        yield tables.table(columns, rows, "Where they differ:")


def _verdict(found: Comparison) -> str:
    words = {
        "tie": "A tie: the difference may well be chance.",
        "a": f"{found.a.model} (a) is better.",
        "b": f"{found.b.model} (b) is better.",
    }
    return words[found.verdict]
