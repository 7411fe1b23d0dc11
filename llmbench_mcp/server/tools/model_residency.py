"""The tool model_residency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from mcp.types import CallToolResult
from pydantic import Field

from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.server.present import gib, reply, shown
from llmbench_mcp.server.results import Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, writes

if TYPE_CHECKING:
    from llmbench_mcp.app import App
    from llmbench_mcp.services.residencies import ResidentView


class ResidentRow(Result):
    """A loaded model."""

    model: str = Field(description="untrusted")
    endpoint: str
    device: str
    memory_gib: float | None = None
    on_device_gib: float | None = None
    context_tokens: int | None = None
    loaded_by_us: bool


class Residency(Result):
    """What is loaded, or what was done."""

    done: str | None = None
    residency: str | None = None
    load_s: float | None = None
    loaded: list[ResidentRow]
    silent: list[str] = Field(description="endpoints that do not say")


async def model_residency(
    ctx: Call,
    action: Literal["list", "load", "unload"] = "list",
    model: Annotated[str, Field(description="to load or unload")] = "",
    endpoint: str = "",
) -> Annotated[CallToolResult, Residency]:
    """List what is loaded in the servers' memory, or load or unload one model. Runs load by themselves; use this to
    free a GPU. Refuses what does not fit."""
    app = await app_of(ctx)
    if action != "list" and not model:
        raise InputError(f"Which model to {action}?", "Give model: a name from model_list.")
    facts: dict[str, object] = {}
    if action == "load":
        facts = await _load(app, model, endpoint)
    elif action == "unload":
        facts = {"done": "unloaded", "residency": await app.residencies.unload(model, endpoint or None)}
    now = await app.residencies.view()
    silent = [f"{name}: {shown(why)}" for name, why in now.silent.items()]
    return reply(Residency.model_validate({**facts, "loaded": [_row(v) for v in now.loaded[:50]], "silent": silent}))


async def _load(app: App, model: str, endpoint: str) -> dict[str, object]:
    loaded = await app.residencies.load(model, endpoint or None)
    return {"done": "loaded", "residency": shown(loaded.ready.residency), "load_s": loaded.ready.load_s}


def _row(view: ResidentView) -> ResidentRow:
    resident = view.resident
    return ResidentRow(
        model=shown(resident.served_name),
        endpoint=view.endpoint,
        device=view.device,
        memory_gib=gib(resident.memory_bytes),
        on_device_gib=gib(resident.device_bytes),
        context_tokens=resident.context_length,
        loaded_by_us=view.own,
    )


TOOL = ToolSpec(model_residency, "Models in memory", writes(asks_servers=True), toolset="manage")
