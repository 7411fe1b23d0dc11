"""What a demo shows at its end: ranking, tasks, where the data lies, how to go on from an MCP client."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from llmbench_mcp.cli import figures, leaderboard, shapes, tables
from llmbench_mcp.cli.client_config import QUESTION, client_config
from llmbench_mcp.config import Settings

if TYPE_CHECKING:
    from rich.console import RenderableType

    from llmbench_mcp.cli.demo_flow import Outcome


def shape(outcome: Outcome, settings: Settings) -> dict[str, Any]:
    """All of it for ``--json``."""
    return {
        "run": shapes.run(outcome.run),
        "leaderboard": shapes.leaderboard(outcome.board),
        "attempts": [shapes.attempt(record) for record in outcome.attempts],
        "database": settings.database_path,
        "logs": settings.log_dir,
        "client_config": client_config(settings),
        "question": QUESTION,
    }


def render(outcome: Outcome, settings: Settings) -> Iterable[RenderableType]:
    """All of it for people."""
    from rich.text import Text

    run = outcome.run
    yield from leaderboard.render(outcome.board)
    yield tables.attempts(outcome.attempts, "Tasks of this run")
    if run.state != "completed" or run.errors:
        reasons = "; ".join(dict.fromkeys(job.reason for job in run.jobs if job.reason))
        errors = figures.count(run.errors, "error")
        yield tables.sentence(f"The run is {run.state}, with {errors} that say nothing of the model. {reasons}")
    yield Text(f"Database: {settings.database_path}\nLogs:     {settings.log_dir}\n", overflow="fold")
    yield Text("To go on from your MCP client, put this into its configuration and restart it:\n")
    yield Text(json.dumps(client_config(settings), indent=2), no_wrap=True, overflow="ignore", end="\n")
    yield Text(f'\nThen ask: "{QUESTION}"')
