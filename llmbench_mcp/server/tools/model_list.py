"""The tool model_list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, get_args

from mcp.types import CallToolResult
from pydantic import Field

from llmbench_mcp.domain.errors import NotFoundError
from llmbench_mcp.domain.model import Model, ModelStatus, PastJob
from llmbench_mcp.domain.text import nearest, one_line
from llmbench_mcp.server.arguments import Cursor, Detail, Limit
from llmbench_mcp.server.present import (
    MESSAGE_LIMIT,
    Cut,
    decode_cursor,
    four_digits,
    gib,
    names,
    reply,
    shown,
    shown_or_none,
)
from llmbench_mcp.server.results import Details, Page, Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, reads

_STATUSES: tuple[str, ...] = get_args(ModelStatus)


class ModelRow(Result):
    """One model."""

    name: str = Field(description="untrusted")
    status: str
    assigned_to: str | None = None
    offered_at: list[str]
    family: str | None = None
    parameters_b: float | None = Field(default=None, description="10^9")
    quantisation: str | None = None
    size_gib: float | None = None
    context_tokens: int | None = None
    capabilities: list[str] | None = None
    guessed: list[str] | None = Field(default=None, description="fields read off the name")
    remote: bool | None = Field(default=None, description="on no device here")
    untrusted_reason: str | None = None
    details: Details | None = Field(
        default=None, description="id, digest, served_names, first_seen, last_seen, last_pass_rates by suite"
    )


class ModelPage(Page):
    """A page of models."""

    models: list[ModelRow]


async def model_list(  # noqa: PLR0913 - the arguments are the tool's schema
    ctx: Call,
    text: Annotated[str, Field(description="part of name, family or quantisation")] = "",
    endpoint: str = "",
    status: Annotated[str, Field(description="new, active, failed, missing, ...")] = "",
    capability: str = "",
    max_gib: Annotated[float, Field(ge=0, le=1e6, description="largest known size; 0: any")] = 0,
    detail: Detail = "concise",
    limit: Limit = 10,
    cursor: Cursor = "",
) -> Annotated[CallToolResult, ModelPage]:
    """List the models found by models_discover, with where each is offered and assigned."""
    query = ("models", text, endpoint, status, capability, str(max_gib))
    offset = decode_cursor(cursor, query)
    _check_status(status)
    app = await app_of(ctx)
    endpoint_id = (await app.endpoints.get(endpoint)).id if endpoint else None
    from llmbench_mcp.services.models import ModelFilter

    largest = max_gib * 2**30 or None
    wanted = ModelFilter(text or None, endpoint_id, status or None, capability or None, largest)
    models, total = await app.models.page(wanted, limit, offset)
    jobs = await app.models.last_jobs(models) if detail == "detailed" else {}
    rows = [model_row(model, detail, jobs.get(model.id, ())) for model in models]
    cut = Cut(rows, total, offset, query)
    return reply(ModelPage(models=rows[: cut.kept], next=None if total else "models_discover", **cut.facts))


def _check_status(status: str) -> None:
    if status and status not in _STATUSES:
        close = nearest(status, _STATUSES)
        raise NotFoundError(
            f"There is no model status '{one_line(status, 60)}'.", f"Use one of: {', '.join(_STATUSES)}.", close
        )


def model_row(model: Model, detail: Detail = "concise", jobs: Sequence[PastJob] = ()) -> ModelRow:
    """A model as shown; ``jobs``: what was last found of it, newest first."""
    return ModelRow(
        name=shown(model.name),
        status=model.status,
        assigned_to=assigned_to(model),
        offered_at=names([home.endpoint_name for home in model.homes if home.present]),
        family=shown_or_none(model.family, 60),
        parameters_b=None if model.parameter_count is None else model.parameter_count / 1e9,
        quantisation=shown_or_none(model.quantisation, 60),
        size_gib=gib(model.size_bytes),
        context_tokens=model.context_length,
        capabilities=names(model.capabilities) or None,
        guessed=list(model.guessed) or None,
        remote=model.is_remote or None,
        untrusted_reason=shown_or_none(model.status_reason, MESSAGE_LIMIT),
        details=_details(model) | last_pass_rates(jobs) if detail == "detailed" else None,
    )


def _details(model: Model) -> Details:
    return {
        "id": model.id,
        "digest": shown_or_none(model.digest, 80),
        "served_names": names([f"{home.served_name}@{home.endpoint_name}" for home in model.homes]),
        "first_seen": model.first_seen,
        "last_seen": model.last_seen,
    }


def last_pass_rates(jobs: Sequence[PastJob]) -> Details:
    """Pass rates by suite, of the newest job of each; nothing where there are none."""
    rates: dict[str, float] = {}
    for job in jobs:
        rates.setdefault(job.suite, four_digits(job.passed / job.done))
    return {"last_pass_rates": rates} if rates else {}


def assigned_to(model: Model) -> str | None:
    """The name of the endpoint the model is assigned to."""
    if model.assigned_endpoint_id is None:
        return None
    home = model.home_at(model.assigned_endpoint_id)
    return home.endpoint_name if home else model.assigned_endpoint_id


TOOL = ToolSpec(model_list, "List models", reads())
