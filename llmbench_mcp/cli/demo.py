"""``demo``: from nothing to a leaderboard in one command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.cli.session import Session, session
from llmbench_mcp.cli.usage import UsageError

if TYPE_CHECKING:
    from llmbench_mcp.app import App
    from llmbench_mcp.cli.demo_flow import Outcome


def demo(  # noqa: PLR0913 - the arguments are the command's options
    context: typer.Context,
    model: Annotated[Path | None, typer.Option(help="A GGUF file, instead of the default model.")] = None,
    endpoint: Annotated[str | None, typer.Option(help="A server of yours, instead of the embedded one.")] = None,
    model_name: Annotated[str | None, typer.Option(help="Which of that server's models.")] = None,
    suite: Annotated[str, typer.Option(help="What to run; see suites.")] = "smoke",
    ctx: Annotated[int, typer.Option(min=256, help="Context of the embedded server, in tokens.")] = 4096,
    serve: Annotated[bool, typer.Option("--serve", help="Only serve the model, for your agent to benchmark.")] = False,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Serve at this port, with --serve.")] = None,
) -> int:
    """Benchmark a very small model on this machine, or one of yours, and show what came out."""
    if model is not None and endpoint is not None:
        raise UsageError("--model and --endpoint exclude each other.", context)
    if serve and endpoint is not None:
        raise UsageError("--serve starts a server of its own and --endpoint names one of yours.", context)
    if port is not None and not serve:
        raise UsageError("--port goes with --serve.", context)
    from llmbench_mcp.cli import demo_report
    from llmbench_mcp.cli.demo_flow import keep_serving, perform
    from llmbench_mcp.cli.demo_server import Wish
    from llmbench_mcp.cli.run_view import is_clean

    here = session(context)
    wish = Wish(suite, model, endpoint, model_name, ctx, port)

    if serve:
        here.use(lambda app: keep_serving(app, wish, lambda url: _announce(here, url)))
        return exit_codes.OK

    async def work(app: App) -> Outcome | None:
        return await perform(app, wish)

    outcome = here.use(work)
    if outcome is None:
        return exit_codes.INTERRUPTED
    settings = here.settings()
    here.show(demo_report.shape(outcome, settings), lambda: demo_report.render(outcome, settings))
    return exit_codes.OK if is_clean(outcome.run) else exit_codes.RUN_NOT_CLEAN


def _announce(here: Session, url: str) -> None:
    """The address alone on stdout, at once, for whoever reads it there."""
    from llmbench_mcp.cli.tables import sentence

    here.show({"url": url}, lambda: [sentence(url)])
    sys.stdout.flush()
