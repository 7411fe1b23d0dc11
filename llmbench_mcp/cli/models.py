"""``discover``, ``models`` and ``assign``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from llmbench_mcp.cli import exit_codes, shapes
from llmbench_mcp.cli.session import MOST, session
from llmbench_mcp.cli.usage import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from llmbench_mcp.app import App
    from llmbench_mcp.domain.model import DiscoveryReport, Model


def discover(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="[ENDPOINT]...", help="All when none is named.")] = None,
    look: Annotated[
        bool, typer.Option("--look", help="Look for servers at the usual ports of this machine, too, and add them.")
    ] = False,
) -> int:
    """Ask the endpoints which models they offer. Fails only when none of them answers.

    While no endpoint is known, the usual ports of this machine are looked at.
    """
    from llmbench_mcp.cli import tables

    here = session(context)

    async def work(app: App) -> list[DiscoveryReport]:
        return await app.models.discover(names or (), around=look)

    reports = here.use(work)
    here.show({"endpoints": reports}, lambda: [tables.discovered(reports)])
    return exit_codes.FAILED if reports and all(report.error for report in reports) else exit_codes.OK


def list_models(  # noqa: PLR0913 - the arguments are the options
    context: typer.Context,
    text: Annotated[str | None, typer.Option(help="Only names, families or quantisations with this in them.")] = None,
    endpoint: Annotated[str | None, typer.Option(help="Only models offered there.")] = None,
    status: Annotated[str | None, typer.Option(help="Only this status, e.g. new, active.")] = None,
    capability: Annotated[str | None, typer.Option(help="Only models that can this, e.g. tools, vision.")] = None,
    max_gib: Annotated[float | None, typer.Option(min=0, help="Only models of at most this size, in GiB.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="How many to show.")] = 200,
) -> None:
    """List the models known, with where they are offered and assigned; or do with one what the command says."""
    if context.invoked_subcommand is not None:
        return
    from llmbench_mcp.services.models import ModelFilter

    here = session(context)

    async def work(app: App) -> tuple[list[Model], int]:
        largest = None if max_gib is None else max_gib * 2**30
        return await app.models.page(ModelFilter(text, endpoint, status, capability, largest), limit)

    found, total = here.use(work)
    document = {"models": [shapes.model(one) for one in found], "total": total}
    here.show(document, lambda: _render(found, total))


def _render(found: Sequence[Model], total: int) -> Iterable[RenderableType]:
    from llmbench_mcp.cli import tables

    if not found:
        yield tables.sentence("No model matches. Look for some: llmbench-mcp discover")
        return
    yield tables.models(found)
    if total > len(found):
        yield tables.sentence(f"{len(found)} of {total} shown; see --limit")


def assign(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="Name, id or name@endpoint.")],
    endpoint: Annotated[str | None, typer.Argument(help="Where it runs; needless when only one offers it.")] = None,
    none: Annotated[bool, typer.Option("--remove", "--none", help="Take the assignment away.")] = False,
) -> None:
    """Assign a model to an endpoint, which is where its runs will ask it."""
    from llmbench_mcp.cli import tables

    if none and endpoint:
        raise UsageError("--remove and an endpoint exclude each other.", context)
    here = session(context)

    async def work(app: App) -> Model:
        if endpoint is None and not none:
            return await app.models.assign_only_home(model)
        return await app.models.assign(model, endpoint)

    changed = here.use(work)
    here.show({"model": shapes.model(changed)}, lambda: [tables.sentence(_assigned(changed))])


def _assigned(model: Model) -> str:
    home = model.home_at(model.assigned_endpoint_id) if model.assigned_endpoint_id else None
    if home is None:
        return f"{model.name} is assigned to no endpoint."
    return f"{model.name} is assigned to {home.endpoint_name}."
