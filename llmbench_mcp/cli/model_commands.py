"""``models show | history | probe | refresh | add | remove | set | disable | enable``: what is done with one model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llmbench_mcp.cli import exit_codes, shapes
from llmbench_mcp.cli.model_history import history
from llmbench_mcp.cli.session import session
from llmbench_mcp.cli.usage import UsageError

if TYPE_CHECKING:
    from llmbench_mcp.app import App
    from llmbench_mcp.domain.model import DiscoveryReport, Model, ModelEvent
    from llmbench_mcp.services.health import ProbeReport

Name = Annotated[str, typer.Argument(metavar="MODEL", help="Name, id or name@endpoint.")]
_FACTS = {"family": "family", "quantisation": "quantisation", "parameters": "parameter_count"} | {
    "context": "context_length"
}


def show(context: typer.Context, model: Name) -> None:
    """Show all that is known of a model: facts and who says so, homes, history."""
    from llmbench_mcp.cli.model_tables import details

    here = session(context)

    async def work(app: App) -> tuple[Model, list[ModelEvent]]:
        found = await app.models.resolve(model)
        return found, await app.models.history(found)

    found, history = here.use(work)
    document = {"model": shapes.model(found), "history": history}
    here.show(document, lambda: details(found, history))


def probe(
    context: typer.Context,
    model: Name,
    endpoint: Annotated[str | None, typer.Option(help="Where; else where it is assigned or alone offered.")] = None,
    vision: Annotated[bool, typer.Option("--vision", help="Show it pictures, too, whatever is said of it.")] = False,
) -> int:
    """Ask a model small questions and record whether it works, what it can and how tools are called."""
    from llmbench_mcp.cli.model_tables import probed

    here = session(context)

    async def work(app: App) -> ProbeReport:
        return await app.health.probe(model, endpoint, ["vision"] if vision else [])

    report = here.use(work)
    here.show(shapes.probe(report), lambda: probed(report))
    return exit_codes.OK if report.is_well else exit_codes.FAILED


def refresh(context: typer.Context, model: Name) -> int:
    """Ask the endpoints that offer a model again what they offer."""
    from llmbench_mcp.cli.tables import discovered

    here = session(context)

    async def work(app: App) -> tuple[Model, list[DiscoveryReport]]:
        return await app.models.refresh(model)

    found, reports = here.use(work)
    here.show({"model": shapes.model(found), "endpoints": reports}, lambda: [discovered(reports)])
    return exit_codes.FAILED if all(report.error for report in reports) else exit_codes.OK


def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The name the server knows it by.")],
    endpoint: Annotated[str, typer.Argument(help="Name, id or address.")],
) -> None:
    """Register a model that an endpoint serves and does not list."""
    _change(context, lambda app: app.models.register(name, endpoint), "is registered")


def remove(context: typer.Context, model: Name) -> None:
    """Take the registration of a model by hand back."""
    _change(context, lambda app: app.models.unregister(model), "is no longer registered")


def disable(context: typer.Context, model: Name) -> None:
    """Keep a model out of runs."""
    _change(context, lambda app: app.models.set_enabled(model, False), "is disabled")


def enable(context: typer.Context, model: Name) -> None:
    """Let a disabled model run again."""
    _change(context, lambda app: app.models.set_enabled(model, True), "is enabled")


Many = list[str] | None


def set_facts(  # noqa: PLR0913 - a command has one parameter per option
    context: typer.Context,
    model: Name,
    can: Annotated[Many, typer.Option(help="A capability it has: chat, tools, vision, embedding, ...")] = None,
    cannot: Annotated[Many, typer.Option(help="A capability it lacks.")] = None,
    family: Annotated[str | None, typer.Option()] = None,
    quantisation: Annotated[str | None, typer.Option()] = None,
    parameters: Annotated[int | None, typer.Option(help="How many, in full.")] = None,
    context_tokens: Annotated[int | None, typer.Option("--context", help="Tokens.")] = None,
    unset: Annotated[Many, typer.Option(help="Leave this fact or capability to the servers again.")] = None,
) -> None:
    """Say yourself what a model is and can; it holds against whatever servers say."""
    facts = {"family": family, "quantisation": quantisation, "parameters": parameters, "context": context_tokens}
    given: dict[str, Any] = {_FACTS[name]: value for name, value in facts.items() if value is not None}
    given |= {_FACTS[name]: None for name in unset or () if name in _FACTS}
    said: dict[str, bool | None] = {name: None for name in unset or () if name not in _FACTS}
    said |= _said(can or (), True) | _said(cannot or (), False)
    if not given and not said:
        raise UsageError("Nothing to set is given; see --help.", context)

    async def work(app: App) -> Model:
        changed = await app.models.set_capabilities(model, said)
        return await app.models.set_facts(changed.id, given) if given else changed

    _change(context, work, "is changed")


def _said(names: Sequence[str], can: bool) -> dict[str, bool | None]:
    return dict.fromkeys(names, can)


def _change(context: typer.Context, work: Callable[[App], Any], told: str) -> None:
    from llmbench_mcp.cli.tables import sentence

    here = session(context)
    changed: Model = here.use(work)
    here.show({"model": shapes.model(changed)}, lambda: [sentence(f"{changed.name} {told}; status {changed.status}.")])


COMMANDS: dict[str, Callable[..., Any]] = {
    "show": show,
    "history": history,
    "probe": probe,
    "refresh": refresh,
    "add": add,
    "remove": remove,
    "set": set_facts,
    "disable": disable,
    "enable": enable,
}
