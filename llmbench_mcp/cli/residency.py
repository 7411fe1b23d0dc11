"""``residency list|load|unload``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llmbench_mcp.cli.session import session

if TYPE_CHECKING:
    from rich.console import RenderableType

    from llmbench_mcp.app import App
    from llmbench_mcp.services.residencies import Loaded, Residents

_Model = Annotated[str, typer.Argument(help="Name, id or name@endpoint.")]
_Where = Annotated[str | None, typer.Argument(help="The endpoint; needless where only one is possible.")]


def listed(context: typer.Context) -> None:
    """Show what is loaded in each server's memory now."""
    here = session(context)

    async def work(app: App) -> Residents:
        return await app.residencies.view()

    now = here.use(work)
    rows = [
        {"endpoint": v.endpoint, "device": v.device, "loaded_by_us": v.own, **_facts(v.resident)} for v in now.loaded
    ]
    here.show({"loaded": rows, "silent": now.silent}, lambda: _table(now))


def _table(now: Residents) -> Iterator[RenderableType]:
    from llmbench_mcp.cli import figures, tables
    from llmbench_mcp.cli.grid import Column

    if now.loaded:
        names = ("Model", "Endpoint", "Device", "Memory", "On device", "Context", "Loaded by us")
        columns = [
            Column(name, wraps=name == "Model", right=name in ("Memory", "On device", "Context")) for name in names
        ]
        rows = [
            (
                view.resident.served_name,
                view.endpoint,
                view.device,
                figures.size(view.resident.memory_bytes),
                figures.size(view.resident.device_bytes),
                figures.UNKNOWN if view.resident.context_length is None else str(view.resident.context_length),
                "yes" if view.own else "no",
            )
            for view in now.loaded
        ]
        yield tables.table(columns, rows)
    else:
        yield tables.sentence("Nothing is loaded, as far as the servers say.")
    for name, why in now.silent.items():
        yield tables.sentence(f"{name}: {why}")


def _facts(resident: Any) -> dict[str, Any]:
    return {name: getattr(resident, name) for name in resident.__slots__}


def load(context: typer.Context, model: _Model, endpoint: _Where = None) -> None:
    """Load a model now and leave it loaded; refused, with numbers, when it does not fit."""
    from llmbench_mcp.cli import tables

    here = session(context)

    async def work(app: App) -> Loaded:
        return await app.residencies.load(model, endpoint)

    done = here.use(work)
    facts = {"model": done.model, "endpoint": done.endpoint, "load_s": done.ready.load_s}
    text = f"{done.model} is loaded on {done.endpoint} ({done.ready.load_s:.1f} s; {done.ready.residency})."
    here.show({**facts, "residency": done.ready.residency}, lambda: [tables.sentence(text)])


def unload(context: typer.Context, model: _Model, endpoint: _Where = None) -> None:
    """Unload a model, whoever loaded it, and see its memory come back."""
    from llmbench_mcp.cli import tables

    here = session(context)

    async def work(app: App) -> str:
        return await app.residencies.unload(model, endpoint)

    sure = here.use(work)
    here.show({"model": model, "residency": sure}, lambda: [tables.sentence(f"{model} is unloaded ({sure}).")])


COMMANDS: dict[str, Callable[..., Any]] = {"list": listed, "load": load, "unload": unload}
