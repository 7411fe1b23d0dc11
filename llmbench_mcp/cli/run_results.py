"""``run results``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llmbench_mcp.cli import figures, output
from llmbench_mcp.cli.grid import Column
from llmbench_mcp.cli.session import MOST, Session, session
from llmbench_mcp.cli.speed_table import speed_tables

if TYPE_CHECKING:
    from rich.console import RenderableType

    from llmbench_mcp.app import App
    from llmbench_mcp.domain.attempt import AttemptRecord
    from llmbench_mcp.services.speeds import SpeedRow

_LINES_OF_LOOP = 40
"""Of an answer that goes round in circles, shown to people."""
_FACTS = (Column("Fact"), Column("Value", wraps=True))


def results(  # noqa: PLR0913 - a command has one parameter per option
    context: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID")],
    only_failed: Annotated[bool, typer.Option("--only-failed", help="Leave out what passed.")] = False,
    failure: Annotated[str | None, typer.Option(help="Only this failure, e.g. wrong_answer.", metavar="WORD")] = None,
    model: Annotated[str | None, typer.Option(help="Only this model.")] = None,
    suite: Annotated[str | None, typer.Option(help="Only this suite.")] = None,
    attempt: Annotated[int | None, typer.Option(max=MOST, help="Show this one with the answer.", metavar="N")] = None,
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="How many to show.")] = 100,
    offset: Annotated[int, typer.Option(min=0, max=MOST, help="How many to skip.")] = 0,
) -> None:
    """List the attempts of a run, or show one with what the model answered."""
    from llmbench_mcp.cli import shapes, tables
    from llmbench_mcp.store.attempts import AttemptFilter

    here = session(context)
    if attempt is not None:
        _show_one(here, run_id, attempt)
        return
    wanted = AttemptFilter(model, suite, failure, only_failed)

    async def work(app: App) -> tuple[list[AttemptRecord], int, list[SpeedRow]]:
        return *await app.runs.results(run_id, wanted, limit, offset), await app.speeds.of_run(run_id)

    found, total, speed = here.use(work)
    document = {"run": run_id, "total": total, "attempts": [shapes.attempt(record) for record in found]}
    remark = tables.sentence(f"{len(found)} of {total} shown. One with its answer: run results {run_id} --attempt N")
    document |= {"speed": speed} if speed else {}
    here.show(document, lambda: [*([tables.attempts(found)] if found else []), *speed_tables(speed), remark])


def _show_one(here: Session, run_id: str, number: int) -> None:
    from llmbench_mcp.cli import shapes

    async def work(app: App) -> AttemptRecord:
        return await app.runs.attempt(run_id, number)

    record = here.use(work)
    here.show({"run": run_id, "attempt": shapes.attempt(record, with_text=True)}, lambda: _render(record))


def _render(record: AttemptRecord) -> Iterable[RenderableType]:
    from rich.panel import Panel
    from rich.text import Text

    from llmbench_mcp.cli import tables

    yield tables.attempts([record])
    for finding in record.facts.get("findings", ()):
        yield tables.sentence(f"- {finding}")
    facts = {name: value for name, value in record.facts.items() if name not in ("findings", "message")}
    yield tables.table(_FACTS, [(name, _fact(name, value)) for name, value in facts.items()])
    lines = _LINES_OF_LOOP if record.facts.get("failure") == "loop" else None
    for title, text in (("Reasoning", record.reasoning_text), ("Answer", record.completion_text)):
        if text:
            yield Panel(Text(output.long_text(text, lines)), title=f"{title} of the model, {len(text)} characters")


def _fact(name: str, value: Any) -> str:
    if name == "stages" and value:
        return ", ".join(f"{stage} {passed}/{tried}" for stage, (passed, tried) in value.items())
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return figures.number(value) if numeric else str(value)
