"""``run start``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from llmbench_mcp.cli import exit_codes, figures, output
from llmbench_mcp.cli.run_input import matrix_of, tasks_in
from llmbench_mcp.cli.run_view import is_clean, render_run
from llmbench_mcp.cli.session import Session, session
from llmbench_mcp.domain.chat import Sampling
from llmbench_mcp.domain.run import RunRequest, run_limits
from llmbench_mcp.domain.variants import drawn_name

if TYPE_CHECKING:
    from rich.console import RenderableType

    from llmbench_mcp.app import App
    from llmbench_mcp.services.runs import RunPreview, Started

Model = Annotated[list[str], typer.Option("--model", help="Name, id or name@endpoint; may be repeated.")]
Select = Annotated[
    str | None, typer.Option(help="Instead of --model: all, new, active or unstable_failed.", metavar="WHICH")
]
SuiteName = Annotated[list[str], typer.Option("--suite", help="May be repeated; see suites. NAME@SEED draws it anew.")]
Parameter = Annotated[
    list[str],
    typer.Option("--param", metavar="NAME=V1,V2", help="Run every combination, e.g. --param temperature=0,0.7"),
]
Tasks = Annotated[
    Path | None,
    typer.Option(
        "--tasks",
        metavar="FILE",
        help="Own tasks, JSON(L): prompt and expected, criteria (phrases to occur) or validation.",
    ),
]
_NONE: list[str] = []


def start(  # noqa: PLR0913 - a command has one parameter per option
    context: typer.Context,
    model: Model = _NONE,
    suite: SuiteName = _NONE,
    select: Select = None,
    endpoint: Annotated[str | None, typer.Option(help="Run there instead of where the models are assigned.")] = None,
    repeats: Annotated[int, typer.Option(help="How often each task is asked.")] = 1,
    temperature: Annotated[float, typer.Option()] = 0.0,
    top_p: Annotated[float | None, typer.Option()] = None,
    seed: Annotated[int, typer.Option()] = 0,
    max_tokens: Annotated[int | None, typer.Option(help="Token budget of an answer, instead of the task's.")] = None,
    param: Parameter = _NONE,
    tasks: Tasks = None,
    limit_tokens: Annotated[int | None, typer.Option(help="Stop after that many tokens in all.")] = None,
    limit_seconds: Annotated[float | None, typer.Option(help="Stop that many seconds after the first step.")] = None,
    limit_attempts: Annotated[int | None, typer.Option(help="Stop after that many attempts.")] = None,
    priority: Annotated[int, typer.Option(help="-100 to 100; higher runs earlier.")] = 0,
    key: Annotated[str | None, typer.Option(help="Idempotency key: the same key gives the same run.")] = None,
    keep_loaded: Annotated[bool, typer.Option("--keep-loaded", help="Do not unload the model at the end.")] = False,
    draw_seed: Annotated[
        int | None, typer.Option(help="Draw the suites' generated tasks anew, as --suite NAME@SEED does.", min=1)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, do nothing.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Show progress until the end; Ctrl-C leaves it on.")] = False,
) -> int:
    """Start a run; a background process does the work."""
    sampling = Sampling(temperature, top_p, seed, max_tokens)
    limits = run_limits({"tokens": limit_tokens, "seconds": limit_seconds, "attempts": limit_attempts})
    more = (matrix_of(param, context), limits, tasks_in(tasks))
    request = RunRequest(
        tuple(model),
        tuple(drawn_name(name, draw_seed) for name in suite),
        endpoint,
        repeats,
        sampling,
        priority,
        key,
        keep_loaded,
        *more,
        select,
    )
    here = session(context)
    if dry_run:
        return _preview(here, request)
    return _start(here, request, wait)


def _preview(here: Session, request: RunRequest) -> int:
    from llmbench_mcp.cli import tables

    async def work(app: App) -> RunPreview:
        return await app.runs.preview(request)

    plan = here.use(work)
    stops = f", and stop at {plan.stops_at}" if plan.stops_at else ""
    told = (
        f"Would ask {plan.attempts} times{stops}, with {figures.count(plan.loads, 'model load')}:"
        f" {', '.join(plan.jobs)}. {_estimate(plan.estimate_s)} Nothing was started."
    )
    here.show({"dry_run": plan}, lambda: [tables.sentence(told), *map(tables.sentence, plan.remarks)])
    return exit_codes.OK


def _estimate(seconds: float | None) -> str:
    return "No estimate: nothing like it has run yet." if seconds is None else f"Estimate: {figures.roughly(seconds)}."


def _start(here: Session, request: RunRequest, wait: bool) -> int:
    from llmbench_mcp.cli import shapes

    async def work(app: App) -> Started:
        started = await app.runs.start(request)
        if not wait:
            return started
        return await _follow(app, started)

    started = here.use(work)
    run = started.run
    head = {name: getattr(started, name) for name in ("created", "estimate_s", "remarks", "stops_at")}
    document = {"run": shapes.run(run)} | head
    for remark in started.remarks:
        output.note(remark)
    here.show(document, lambda: _rendered(started))
    return exit_codes.RUN_NOT_CLEAN if wait and not is_clean(run) else exit_codes.OK


def _rendered(started: Started) -> list[RenderableType]:
    """The run, and where it has just been made how long it may take; what to call next stays last."""
    from llmbench_mcp.cli import tables

    parts = list(render_run(started.run))
    if started.created and not started.run.is_over:
        told = [f"It stops at {started.stops_at}."] if started.stops_at else []
        told += [] if started.estimate_s is None else [_estimate(started.estimate_s)]
        parts[-1:-1] = map(tables.sentence, told)
    return parts


async def _follow(app: App, started: Started) -> Started:
    from dataclasses import replace

    import anyio

    from llmbench_mcp.cli.progress import follow, progress

    run_id = started.run.id
    estimate = "" if started.estimate_s is None else f" {_estimate(started.estimate_s)}"
    stops = f", to its end or {started.stops_at}" if started.stops_at else ""
    output.note(f"Run {run_id}: {figures.count(started.run.planned, 'attempt')}{stops}.{estimate}")
    try:
        with progress() as display:
            return replace(started, run=await follow(app.runs, run_id, display))
    except anyio.get_cancelled_exc_class():
        output.note(f"The run goes on. See it: llmbench-mcp run status {run_id}; stop it: run cancel {run_id}")
        raise
