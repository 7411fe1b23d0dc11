"""The tool model_get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp.types import CallToolResult
from pydantic import Field

from llmbench_mcp.server.present import MESSAGE_LIMIT, four_digits, gib, reply, shown, shown_or_none
from llmbench_mcp.server.results import Details, Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, reads

if TYPE_CHECKING:
    from llmbench_mcp.domain.model import Home, Model, ModelEvent, PastJob

_EVENTS = 20


class ModelDetails(Result):
    """Everything about one model."""

    name: str = Field(description="untrusted, as all here")
    status: str
    untrusted_reason: str | None = None
    facts: Details = Field(description="guessed, set_by_hand: which are")
    capabilities: dict[str, str] = Field(description="yes or no (who says so)")
    homes: list[Details] = Field(description="tools: native, text, none, unknown")
    recent_runs: list[Details] | None = None
    history: list[str] = Field(description="newest 20")
    next: str


async def model_get(
    ctx: Call, model: Annotated[str, Field(description="name, id or name@endpoint")]
) -> Annotated[CallToolResult, ModelDetails]:
    """Everything known of one model: facts and who says so, where it is offered, how its tool calls come back there,
    its recent runs and history."""
    app = await app_of(ctx)
    found = await app.models.resolve(model)
    jobs = (await app.models.last_jobs([found]))[found.id]
    return reply(_shown(found, await app.models.history(found, _EVENTS), jobs))


def _shown(model: Model, history: list[ModelEvent], jobs: list[PastJob]) -> ModelDetails:
    can = {fact.name: f"{'yes' if fact.present else 'no'} ({fact.source})" for fact in model.known_capabilities}
    return ModelDetails(
        name=shown(model.name),
        status=model.status,
        untrusted_reason=shown_or_none(model.status_reason, MESSAGE_LIMIT),
        facts=_facts(model),
        capabilities=can,
        homes=[_home(model, home) for home in model.homes[:20]],
        recent_runs=[_past(job) for job in jobs] or None,
        history=[_told(event) for event in history],
        next="run_start with a suite from suite_list" if model.status == "active" else f"model_assign model={model.id}",
    )


def _facts(model: Model) -> dict[str, Any]:
    plain = {name: getattr(model, name) for name in ("id", "parameter_count", "context_length")}
    texts = ("digest", "family", "quantisation", "first_seen", "last_seen")
    marks = {"guessed": list(model.guessed) or None, "set_by_hand": list(model.pinned) or None}
    size = {"size_gib": gib(model.size_bytes)}
    return plain | size | {name: shown_or_none(getattr(model, name), 80) for name in texts} | marks


def _home(model: Model, home: Home) -> dict[str, Any]:
    return {
        "endpoint": home.endpoint_name,
        "served_name": shown(home.served_name),
        "offered_now": home.present,
        "assigned": True if home.endpoint_id == model.assigned_endpoint_id else None,
        "registered_by_hand": home.pinned or None,
        "runs_elsewhere": home.remote or None,
        "tools": home.tools,
    }


def _past(job: PastJob) -> Details:
    facts = {name: getattr(job, name) for name in ("run_id", "suite", "endpoint", "state", "created_at")}
    return facts | {"pass_rate": four_digits(job.passed / job.done), "graded": job.done}


def _told(event: ModelEvent) -> str:
    return shown(f"{event.at} {event.kind}: {event.value}" + (f" ({event.reason})" if event.reason else ""))


TOOL = ToolSpec(model_get, "Read one model", reads())
