"""The tool run_start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.types import CallToolResult
from pydantic import Field, WithJsonSchema

from llmbench_mcp.domain.chat import Sampling
from llmbench_mcp.domain.run import RunRequest, run_limits
from llmbench_mcp.server.arguments import Names
from llmbench_mcp.server.present import MESSAGE_LIMIT, names, reply, shown
from llmbench_mcp.server.results import Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, writes

if TYPE_CHECKING:
    from llmbench_mcp.services.runs import RunPreview, Started


class RunStarted(Result):
    """The run that was made, or with dry_run what would be done."""

    run_id: str | None = None
    state: str
    created: bool = Field(description="false: known key, or dry run")
    planned_attempts: int
    estimate_s: float | None = None
    loads: int | None = None
    remarks: list[str] | None = Field(default=None, description="untrusted")
    jobs: list[str] | None = Field(default=None, description="dry run; untrusted")
    next: str


def _object(description: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "object", "description": description})


Selected = Annotated[
    Literal["", "all", "new", "active", "unstable_failed"],
    Field(description="models by status; new ones want endpoint"),
]
Matrix = Annotated[
    dict[str, list[Any]],
    _object("lists by parameter (also context_length, reasoning); all combinations run"),
]
OwnTasks = Annotated[
    list[dict[str, Any]],
    WithJsonSchema(
        {
            "type": "array",
            "items": {"type": "object"},
            "description": "{prompt, and expected: answer, or criteria: [phrases that must all occur]}",
        }
    ),
]
_NONE: list[str] = []
_NOTHING: dict[str, Any] = {}
_NO_TASKS: list[dict[str, Any]] = []


async def run_start(  # noqa: PLR0913 - the arguments are the tool's schema
    ctx: Call,
    models: Annotated[Names, Field(description="from model_list; or use select")] = _NONE,
    suites: Annotated[Names, Field(description="from suite_list (NAME@SEED: drawn anew); or custom_tasks")] = _NONE,
    select: Selected = "",
    endpoint: Annotated[str, Field(description="instead of the assigned ones")] = "",
    repeats: Annotated[int, Field(ge=1, le=1000, description="attempts per task")] = 1,
    temperature: Annotated[float, Field(ge=-1, le=5, description="-1: server's default")] = 0.0,
    top_p: Annotated[float, Field(ge=0, le=1, description="0: server's default")] = 0.0,
    seed: Annotated[int, Field(ge=-1, le=2**32, description="-1: none; +1 for each repeat")] = 0,
    max_tokens: Annotated[int, Field(ge=0, le=1_000_000, description="0: as the task says")] = 0,
    priority: Annotated[int, Field(ge=-100, le=100, description="higher: earlier")] = 0,
    parameter_matrix: Matrix = _NOTHING,
    custom_tasks: OwnTasks = _NO_TASKS,
    limits: Annotated[dict[str, Any], _object("of the whole run: tokens, seconds, attempts")] = _NOTHING,
    idempotency_key: Annotated[str, Field(description="same key, same run")] = "",
    dry_run: Annotated[bool, Field(description="only tell the plan")] = False,
) -> Annotated[CallToolResult, RunStarted]:
    """Start a benchmark run of models x suites x repeats. Returns a run_id at once; the work goes on by itself, also
    when you disconnect. What cannot run is refused before it starts."""
    from llmbench_mcp.services.custom_tasks import custom_tasks as custom_tasks_of

    sampling = Sampling(
        temperature=None if temperature < 0 else temperature,
        top_p=top_p or None,
        seed=None if seed < 0 else seed,
        max_tokens=max_tokens or None,
    )
    request = RunRequest(
        models=tuple(models),
        suites=tuple(suites),
        endpoint=endpoint or None,
        repeats=repeats,
        sampling=sampling,
        priority=priority,
        idempotency_key=idempotency_key or None,
        matrix={name: tuple(values) for name, values in parameter_matrix.items()},
        limits=run_limits(limits),
        custom_tasks=custom_tasks_of(custom_tasks, by_agent=True),
        select=select or None,
    )
    app = await app_of(ctx)
    if dry_run:
        return reply(_previewed(await app.runs.preview(request)))
    return reply(_started(await app.runs.start(request)))


def _remarks(remarks: Sequence[str], stops_at: str | None) -> list[str] | None:
    remarks = [f"stops at {stops_at}", *remarks] if stops_at else remarks
    return [shown(remark, MESSAGE_LIMIT) for remark in remarks[:10]] or None


def _started(started: Started) -> RunStarted:
    run = started.run
    return RunStarted(
        run_id=run.id,
        state=run.state,
        created=started.created,
        planned_attempts=run.planned,
        estimate_s=started.estimate_s,
        remarks=_remarks(started.remarks, started.stops_at),
        next=f"run_results run_id={run.id}" if run.is_over else f"run_status run_id={run.id} wait_s=30",
    )


def _previewed(preview: RunPreview) -> RunStarted:
    return RunStarted(
        state="dry_run",
        created=False,
        planned_attempts=preview.attempts,
        estimate_s=preview.estimate_s,
        loads=preview.loads,
        remarks=_remarks(preview.remarks, preview.stops_at),
        jobs=names(preview.jobs),
        next="run_start with dry_run=false",
    )


TOOL = ToolSpec(run_start, "Start a run", writes(asks_servers=True))
