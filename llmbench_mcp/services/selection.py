"""Which models a run takes when it names none: a selection by status, and who is left out of it and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from llmbench_mcp.domain.capability import lacking, present
from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.errors import ConflictError, InputError
from llmbench_mcp.domain.model import Home, Model
from llmbench_mcp.domain.task import Task
from llmbench_mcp.domain.text import one_line

Select = Literal["all", "new", "active", "unstable_failed"]
SELECTIONS: tuple[str, ...] = get_args(Select)

_STATUSES: dict[str, tuple[str, ...]] = {
    "new": ("new",),
    "active": ("active",),
    "unstable_failed": ("unstable", "failed"),
}
_NAMED = 5
"""So many names in a remark; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Ids of models, and remarks on those left out."""

    ids: tuple[str, ...]
    remarks: tuple[str, ...]


def choose(models: Sequence[Model], select: str, endpoint: Endpoint | None, tasks: Iterable[Task]) -> Chosen:
    """The models of a selection that can run these tasks, at ``endpoint`` or where they are assigned.

    Raises:
        InputError: no such selection. ConflictError: nothing is left; says why.
    """
    if select not in SELECTIONS:
        raise InputError(f"There is no selection '{one_line(select, 40)}'.", f"Use one of: {', '.join(SELECTIONS)}.")
    needs = sorted({need for task in tasks for need in task.needs})
    statuses = _STATUSES.get(select)
    wanted = [model for model in models if statuses is None or model.status in statuses]
    reasons = {model.id: _why_not(model, endpoint, needs) for model in wanted}
    left_out: dict[str, list[str]] = {}
    for model in wanted:
        if reasons[model.id]:
            left_out.setdefault(reasons[model.id], []).append(model.name)
    remarks = tuple(f"left out, {reason}: {_listed(names)}" for reason, names in left_out.items())
    ids = tuple(model.id for model in wanted if not reasons[model.id])
    if not ids:
        why = "; ".join(remarks) or "no model has that status"
        raise ConflictError(f"The selection {select!r} is empty: {why}.", "See model_list (models).")
    return Chosen(ids, remarks)


def _why_not(model: Model, endpoint: Endpoint | None, needs: Sequence[str]) -> str:
    """Why a model cannot be taken; empty when it can."""
    if model.status in ("disabled", "missing"):
        return model.status
    wanted = endpoint.id if endpoint else model.assigned_endpoint_id
    if wanted is None:
        return "not assigned to an endpoint (model_assign, or name one)"
    home = model.home_at(wanted)
    if home is None or not home.present:
        return "not offered there now"
    return _unfit(model, home, needs)


def _unfit(model: Model, home: Home, needs: Sequence[str]) -> str:
    if home.remote:
        return "runs on another machine"
    can = present(model.known_capabilities)
    if can and "chat" not in can and {"embedding", "rerank"} & set(can):
        return "does not chat"
    missing = lacking(model.known_capabilities, needs)
    if missing == ("tools",) and tools_unchecked(model, home):
        return "not known to have tools (models probe, or models set --can tools)"
    return f"lacks {', '.join(missing)}" if missing else ""


def tools_unchecked(model: Model, home: Home | None) -> bool:
    """Whether nobody has looked if the model has tools there: its server does not name them, and no probe has asked."""
    told = any(fact.name == "tools" for fact in model.known_capabilities)
    return not told and (home is None or home.tools == "unknown")


def _listed(names: Sequence[str]) -> str:
    told = ", ".join(one_line(name, 80) for name in names[:_NAMED])
    return told if len(names) <= _NAMED else f"{told} and {len(names) - _NAMED} more"


def tool_remarks(homes: Iterable[tuple[Model, Home]], tasks: Iterable[Task]) -> tuple[str, ...]:
    """Warnings where the tasks give tools and a server was seen not to return calls as calls."""
    if not any("tools" in task.needs or task.validation.get("tools") for task in tasks):
        return ()
    return tuple(
        f"{one_line(model.name, 80)} at {home.endpoint_name}: {_TOLD[home.tools]}; tool scores would measure that"
        for model, home in homes
        if home.tools in _TOLD
    )


_TOLD = {
    "text": "the server returned tool calls as text (check its tool-call parser and chat template)",
    "none": "the server returned no tool call when asked for one",
}
