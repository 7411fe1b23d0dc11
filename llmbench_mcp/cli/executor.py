"""``executor run | status | stop``."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llmbench_mcp.cli import figures, output
from llmbench_mcp.cli.session import session

if TYPE_CHECKING:
    import anyio

    from llmbench_mcp.app import App
    from llmbench_mcp.store.leases import LeaseView


def run(
    context: typer.Context,
    stay: Annotated[
        bool, typer.Option("--stay", help="Never leave by itself: for a service, which keeps schedules to the minute.")
    ] = False,
) -> None:
    """Do queued work in the foreground until idle. SIGTERM or Ctrl-C: finish what is in flight, then leave."""
    here = session(context)
    _log_to_stderr()

    async def work(app: App) -> bool:
        return await _run_draining(app, stay)

    held = here.use(work, measured=True)
    here.show({"ran": held}, lambda: [] if held else [_taken()])


def _taken() -> Any:
    from llmbench_mcp.cli.tables import sentence

    return sentence("Another executor works on this data directory already; nothing to do.")


def _log_to_stderr() -> None:
    """Lines with UTC time and level, without keys; the process that spawned us sends stderr to a file."""
    import logging
    import time

    from llmbench_mcp.credentials.known import known
    from llmbench_mcp.credentials.redact import RedactingFormatter

    layout = "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s"
    formatter = RedactingFormatter(known(), layout, "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.getLogger().addHandler(handler)
    logging.getLogger("llmbench_mcp").setLevel(logging.INFO)


async def _run_draining(app: App, stay: bool = False) -> bool:
    """Run the executor; the first signal drains it, a second one cancels what is in flight."""
    import anyio

    asked = anyio.Event()

    async def heed(scope: anyio.CancelScope) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                if asked.is_set():
                    scope.cancel()
                asked.set()
                app.executor.drain()

    held = True
    async with anyio.create_task_group() as group:
        group.start_soon(heed, group.cancel_scope)
        held = await _run(app, stay, asked)
        group.cancel_scope.cancel()
    return held


async def _run(app: App, stay: bool, asked: anyio.Event) -> bool:
    """Until there is nothing to do, or with ``stay`` until asked to leave: another's end is waited for, then."""
    from llmbench_mcp.scoring.warmup import settle

    settle()
    while True:
        held = await app.executor.run(math.inf if stay else None)
        if not held and await app.executors.follow_older(asked):
            continue
        if stay:
            await app.executors.until_free(asked)
        if not stay or asked.is_set():
            return held


def status(context: typer.Context) -> None:
    """Say whether an executor works on this data directory."""
    from llmbench_mcp.cli import tables

    here = session(context)

    async def work(app: App) -> tuple[LeaseView | None, str | None]:
        return await app.executors.view(), await app.executors.remark() or await app.executors.why_overdue()

    held, remark = here.use(work)
    log = here.settings().log_dir / "executor.log"
    told = [_state(held), *([remark] if remark else []), f"Log: {log}"]
    here.show({"executor": held, "remark": remark, "log": log}, lambda: list(map(tables.sentence, told)))


def _state(held: LeaseView | None) -> str:
    if held is None:
        return "No executor has worked on this data directory yet; starting a run starts one."
    who = f"process {held.pid} on {held.host}, version {held.version}, since {held.acquired_at}"
    if held.overdue:
        return f"An executor lives and does no work, for it could not renew its lease: {who}."
    return f"An executor works: {who}." if held.alive else f"No executor works now; the last was {who}."


def stop(context: typer.Context) -> None:
    """Ask the executor to finish what is in flight and leave.

    Runs that are open stay so: the next command that looks at them starts an executor again.
    Stop them with: run cancel --all
    """
    from llmbench_mcp.cli import tables

    here = session(context)

    async def work(app: App) -> tuple[LeaseView | None, int]:
        return await app.executors.stop(), await app.runs.open_count()

    asked, left = here.use(work)
    told = f"Asked process {asked.pid} to leave." if asked else "No executor works on this machine now."
    lines = [told, *([_still_open(left)] if left else [])]
    here.show({"asked": asked, "open_runs": left}, lambda: list(map(tables.sentence, lines)))
    if asked:
        output.note("It leaves when the attempt in flight is done.")


def _still_open(runs: int) -> str:
    are, them = ("is", "it") if runs == 1 else ("are", "them")
    told = f"{figures.count(runs, 'run')} {are} still open: the next command that looks at {them} starts an executor"
    return f"{told} again. Stop {them} with: llmbench-mcp run cancel --all"


COMMANDS: dict[str, Callable[..., Any]] = {"run": run, "status": status, "stop": stop}
