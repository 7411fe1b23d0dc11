"""The steps of a demo: serve, discover, assign, run, read."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from llmbench_mcp.cli import output
from llmbench_mcp.cli.demo_server import Wish, serving_endpoint
from llmbench_mcp.cli.progress import follow, progress
from llmbench_mcp.domain.attempt import AttemptRecord
from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.errors import EndpointError, InputError, NotFoundError
from llmbench_mcp.domain.model import Model
from llmbench_mcp.domain.run import Run, RunRequest
from llmbench_mcp.domain.text import nearest, one_line
from llmbench_mcp.services.leaderboard import Leaderboard
from llmbench_mcp.services.models import ModelFilter
from llmbench_mcp.store.attempts import AttemptFilter

if TYPE_CHECKING:
    from llmbench_mcp.app import App

_CANCEL_S = 15.0
_MOST_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a demo found."""

    run: Run
    board: Leaderboard
    attempts: tuple[AttemptRecord, ...]


async def perform(app: App, wish: Wish) -> Outcome | None:
    """Do all of it; None when a signal ended it. Cancelling it cancels the run.

    Raises as ``serving_endpoint`` and the services do.
    """
    outcome = None
    async with anyio.create_task_group() as group:
        group.start_soon(_heed_signals, group.cancel_scope)
        outcome = await _steps(app, wish)
        group.cancel_scope.cancel()
    return outcome


async def keep_serving(app: App, wish: Wish, announce: Callable[[str], None]) -> None:
    """Serve, discover and assign as a demo does, ``announce`` the address, wait for a signal. Raises as ``perform``."""
    async with anyio.create_task_group() as group:
        group.start_soon(_heed_signals, group.cancel_scope)
        output.note("Starting the server.")
        async with serving_endpoint(app, wish) as endpoint:
            model = await _model(app, endpoint, wish.model_name)
            await app.models.assign(model.id, endpoint.id)
            output.note(f"Serving {one_line(model.name, 80)}, endpoint {endpoint.name}. Ctrl-C ends it.")
            announce(endpoint.url)
            await anyio.sleep_forever()


async def _heed_signals(scope: anyio.CancelScope) -> None:
    """A closed terminal or a kill takes the server away, too; Ctrl-C cancels by itself."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP) as signals:
        async for _ in signals:
            scope.cancel()


async def _steps(app: App, wish: Wish) -> Outcome:
    await app.suites.get(wish.suite)
    output.note("Starting the server." if wish.endpoint is None else "Looking at the server.")
    async with serving_endpoint(app, wish) as endpoint:
        model = await _model(app, endpoint, wish.model_name)
        await app.models.assign(model.id, endpoint.id)
        run = await _run(app, RunRequest((model.id,), (wish.suite,), endpoint.id))
    attempts, _ = await app.runs.results(run.id, AttemptFilter(), _MOST_SHOWN)
    return Outcome(run, await app.leaderboards.query(wish.suite), tuple(attempts))


async def _model(app: App, endpoint: Endpoint, wanted: str | None) -> Model:
    """The wanted or only model offered there."""
    (report,) = await app.models.discover([endpoint.id])
    if report.error:
        raise EndpointError(report.error, report.next_step)
    found, _ = await app.models.page(ModelFilter(endpoint=endpoint.id), _MOST_SHOWN)
    named = {home.served_name: model for model in found if (home := model.home_at(endpoint.id))}
    if wanted is not None:
        return _pick(named, wanted, endpoint)
    if len(named) == 1:
        return next(iter(named.values()))
    if not named:
        raise InputError(f"The server at {endpoint.url} offers no model.", "Load or pull one there first.")
    names = ", ".join(one_line(name, 80) for name in sorted(named)[:20])
    raise InputError(f"The server at {endpoint.url} offers {len(named)} models: {names}.", "Choose: --model-name NAME")


def _pick(named: dict[str, Model], wanted: str, endpoint: Endpoint) -> Model:
    for served_name, model in named.items():
        if wanted in (served_name, model.name):
            return model
    close = nearest(wanted, named)
    raise NotFoundError(
        f"The server at {endpoint.url} offers no model {one_line(wanted, 80)!r}.",
        f"Nearest: {', '.join(close)}." if close else "It offers none at all.",
        close,
    )


async def _run(app: App, request: RunRequest) -> Run:
    started = await app.runs.start(request)
    run_id = started.run.id
    output.note(f"Run {run_id}: {started.run.planned} tasks.")
    try:
        with progress() as display:
            return await follow(app.runs, run_id, display)
    except anyio.get_cancelled_exc_class():
        # The server ends with us: what is left of the run could only fail.
        with anyio.move_on_after(_CANCEL_S, shield=True):
            await app.runs.cancel(run_id)
            output.note(f"Interrupted: run {run_id} was cancelled; what was done is kept.")
        raise
