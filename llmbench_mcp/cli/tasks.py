"""``task check``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from llmbench_mcp.cli import exit_codes, output
from llmbench_mcp.cli.session import session
from llmbench_mcp.domain.text import visible

_HELP = "Task files, suite files or folders; all there are when absent."


def check(
    context: typer.Context,
    paths: Annotated[list[Path] | None, typer.Argument(help=_HELP)] = None,
) -> int:
    """Check task files: format, VALIDATION keys, reference solutions, hidden values in prompts."""
    from llmbench_mcp.cli.figures import count
    from llmbench_mcp.services.task_check import check_tasks

    here = session(context)
    report = check_tasks(paths or (), here.settings())
    sound = not report.problems
    if here.as_json:
        here.show({"ok": sound, "tasks": report.tasks, "problems": report.problems}, list)
    else:
        for problem in report.problems:
            sys.stdout.write(visible(f"{problem.path}:{problem.line}: {problem.what}") + "\n")
        output.note(f"{count(report.tasks, 'task')} checked, {count(len(report.problems), 'problem')}.")
    return exit_codes.OK if sound else exit_codes.FAILED
