"""``task new | run-reference | schema``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llmbench_mcp.cli import exit_codes, figures
from llmbench_mcp.cli.grid import Column
from llmbench_mcp.cli.session import session
from llmbench_mcp.scoring.blocks import LEAST_REFERENCE_SCORE

if TYPE_CHECKING:
    from llmbench_mcp.cli.grid import Grid
    from llmbench_mcp.services.authoring import ReferenceRun

_WHAT = "Task ids, task files or folders."


def new(
    context: typer.Context,
    task_id: Annotated[str, typer.Argument(metavar="CATEGORY/NAME")],
    kind: Annotated[str, typer.Option("--type", help="A validator, or generated.")] = "reasoning",
    folder: Annotated[Path | None, typer.Option("--dir", help="Task folder; else LLMBENCH_TASKS_DIR, or here.")] = None,
) -> None:
    """Write a task file that works, to be changed into your own."""
    from llmbench_mcp.cli import tables
    from llmbench_mcp.services.authoring import new_task

    here = session(context)
    path = new_task(task_id, kind, folder or here.settings().tasks_dir or Path())
    told = f"Wrote {path}. Change it, then: llmbench-mcp task check {path}"
    here.show({"path": path}, lambda: [tables.sentence(told)])


def run_reference(
    context: typer.Context,
    tasks: Annotated[list[str], typer.Argument(help=_WHAT, metavar="TASK...")],
    draws: Annotated[int, typer.Option(min=0, max=1000, help="Draw generated tasks with that many seeds, too.")] = 0,
) -> int:
    """Grade the right answers that task files hold. Exit code 1 when one does not pass."""
    from llmbench_mcp.services.authoring import run_references

    here = session(context)
    runs = run_references(tasks, here.settings(), range(1, draws + 1))
    here.show({"references": runs}, lambda: [_table(runs)])
    return exit_codes.OK if all(map(_is_right, runs)) else exit_codes.FAILED


def schema(
    kind: Annotated[str | None, typer.Argument(help="Only this validator's.", metavar="TYPE")] = None,
) -> None:
    """Print a JSON Schema of the VALIDATION block, for editors."""
    from llmbench_mcp.scoring.schema import block_schema

    sys.stdout.write(json.dumps(block_schema(kind), indent=2) + "\n")


def _is_right(run: ReferenceRun) -> bool:
    return run.grade is None or (run.grade.passed and run.grade.score >= LEAST_REFERENCE_SCORE)


def _table(runs: list[ReferenceRun]) -> Grid:
    from llmbench_mcp.cli import tables

    columns = (
        Column("Task"),
        Column("Seed", right=True),
        Column("Passed"),
        Column("Score", right=True),
        Column("Stages", drop=1),
        Column("Why", note=True),
    )
    return tables.slim("", columns, [_row(run) for run in runs], ["Seed", "Stages", "Why"])


def _row(run: ReferenceRun) -> tuple[str, ...]:
    found = run.grade
    if found is None:
        return run.task_id, str(run.seed), figures.UNKNOWN, figures.UNKNOWN, "", "the block holds no right answer"
    stages = ", ".join(f"{name} {passed}/{tried}" for name, (passed, tried) in found.stages.items())
    why = "" if _is_right(run) else "; ".join(found.findings[:3]) or found.failure or ""
    return run.task_id, str(run.seed), "yes" if found.passed else "no", figures.number(found.score), stages, why


COMMANDS: dict[str, Callable[..., Any]] = {"new": new, "run-reference": run_reference, "schema": schema}
