"""The tool results_clear."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import AcceptedElicitation, Elicit, ElicitationResult, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, ClientCapabilities
from pydantic import BaseModel, Field

from llmbench_mcp.domain.results import Selected
from llmbench_mcp.server.arguments import Names
from llmbench_mcp.server.present import reply, shown
from llmbench_mcp.server.results import Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, writes

if TYPE_CHECKING:
    from llmbench_mcp.services.clearing import Cleared, ClearPlan

_NONE: list[str] = []
_MOST = 20
_HARMLESS = re.compile(r"[\w.:/@+-]{1,80}", re.ASCII)
"""A name that can say nothing but itself."""


class Clearing(Result):
    """What was removed, or would be."""

    dry_run: bool
    attempts: int
    jobs: int
    size_bytes: int = Field(description="about")
    runs: dict[str, int] = Field(description="attempts by run")
    models: dict[str, int]
    suites: dict[str, int]
    confirm: str | None = None
    freed_bytes: int | None = None
    remarks: list[str] | None = None
    next: str | None = None


class Consent(BaseModel):
    """The person's answer."""

    remove: bool = Field(description="Remove these results for good")


class Asked(BaseModel):
    """What is asked of the person, and what an agreement to that stands for; no question where none can be put."""

    question: str = ""
    confirm: str = ""


async def _look(
    ctx: Call, run_ids: Names = _NONE, model: str = "", suite: str = "", dry_run: bool = True, confirm: str = ""
) -> Asked:
    if dry_run or not _can_ask(ctx.client_capabilities):
        return Asked(confirm=confirm)
    plan = await (await app_of(ctx)).clearing.plan(_wanted(run_ids, model, suite))
    return Asked(question=_question(plan), confirm=confirm or plan.confirm)


async def _ask(asked: Annotated[Asked, Resolve(_look)]) -> Consent | Elicit[Consent]:
    """Whether to do it: asked of the person where the client can, else of whoever knows the dry run's ``confirm``."""
    return Elicit(asked.question, Consent) if asked.question else Consent(remove=bool(asked.confirm))


def _can_ask(client: ClientCapabilities | None) -> bool:
    """An empty declaration stands for forms, as it did before there was anything else."""
    elicitation = client.elicitation if client else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def _wanted(run_ids: list[str], model: str, suite: str) -> Selected:
    return Selected(tuple(run_ids), model or None, suite or None)


def _question(plan: ClearPlan) -> str:
    """Told by counts, ids of our own and names that can be no instruction."""
    named = [*list(plan.wanted.runs)[:5], *(f"{len(plan.wanted.runs) - 5} more",)[: len(plan.wanted.runs) > 5]]
    for kind, name in (("model", plan.wanted.model), ("suite", plan.wanted.suite)):
        if name:
            named.append(f"{kind} {name}" if _HARMLESS.fullmatch(name) else f"a {kind} with an unusual name")
    counts = f"{plan.attempts} attempts in {len(plan.runs)} runs ({plan.confirm})"
    return f"Remove the results of {', '.join(named)}: {counts}? This cannot be undone."


async def results_clear(  # noqa: PLR0913 - the arguments are the tool's schema
    ctx: Call,
    asked: Annotated[Asked, Resolve(_look)],
    consent: Annotated[ElicitationResult[Consent], Resolve(_ask)],
    run_ids: Names = _NONE,
    model: Annotated[str, Field(description="name or id; without run_ids all its results")] = "",
    suite: str = "",
    dry_run: bool = True,
    confirm: Annotated[str, Field(description="from the dry run")] = "",
) -> Annotated[CallToolResult, Clearing]:
    """Remove results of runs, a model or a suite for good. First tells what would go; then call with dry_run=false and
    that confirm."""
    clearing = (await app_of(ctx)).clearing
    wanted = _wanted(run_ids, model, suite)
    if dry_run:
        return reply(_planned(await clearing.plan(wanted)))
    if not isinstance(consent, AcceptedElicitation):
        raise ToolError("The person did not agree; nothing was removed.")
    if not consent.data.remove:
        raise ToolError(
            "Nothing was removed: it was not confirmed. Call results_clear with dry_run=true, show the person what "
            "would go, then call it with dry_run=false and the confirm of that result."
        )

    async def tell(done: int, total: int) -> None:
        await ctx.report_progress(done, total)

    # By what was told: since then, while the person thought it over, more may have come.
    return reply(_cleared(await clearing.clear(wanted, asked.confirm, tell)))


def _planned(plan: ClearPlan) -> Clearing:
    step = f"results_clear with the same arguments, dry_run=false, confirm={plan.confirm}"
    return Clearing(dry_run=True, confirm=plan.confirm, next=step, **_facts(plan))


def _facts(plan: ClearPlan) -> dict[str, Any]:
    counts = {
        name: {shown(key, 80): count for key, count in list(getattr(plan, name).items())[:_MOST]}
        for name in ("runs", "models", "suites")
    }
    return {"attempts": plan.attempts, "jobs": plan.jobs, "size_bytes": plan.size_bytes, **counts}


def _cleared(cleared: Cleared) -> Clearing:
    facts = _facts(cleared.plan) | {"attempts": cleared.attempts, "freed_bytes": cleared.freed_bytes}
    return Clearing(dry_run=False, remarks=list(cleared.remarks) or None, **facts)


TOOL = ToolSpec(results_clear, "Remove results", writes(destructive=True), toolset="manage")
