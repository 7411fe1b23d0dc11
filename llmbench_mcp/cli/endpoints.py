"""``endpoint add | set | list | remove``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from llmbench_mcp.cli import output
from llmbench_mcp.cli.session import session
from llmbench_mcp.cli.usage import UsageError

if TYPE_CHECKING:
    from llmbench_mcp.app import App
    from llmbench_mcp.domain.endpoint import Endpoint, EvictPolicy
    from llmbench_mcp.services.endpoints import EndpointView


Credential = Annotated[
    str | None, typer.Option(help="Its API key: stored:NAME (see credential set) or env:VAR; never the key itself.")
]


def reference(variable: str | None, given: str | None = None) -> str | None:
    """The credential reference of an environment variable, or the one ``given``.

    Raises InputError when both are there, or the variable cannot be one.
    """
    from llmbench_mcp.domain.errors import InputError

    if variable is not None and not variable.isidentifier():
        # Not repeated: it may be the key itself.
        raise InputError("--credential-env wants the name of an environment variable.", "Never give the key itself.")
    if variable is not None and given is not None:
        raise InputError("--credential and --credential-env are two ways to say the same.", "Give one of them.")
    return given if variable is None else f"env:{variable}"


def add(  # noqa: PLR0913 - a command has one parameter per option
    context: typer.Context,
    url: Annotated[str, typer.Argument(help="Address, e.g. http://127.0.0.1:8080 or http://host:8000/v1.")],
    name: Annotated[str | None, typer.Option(help="A name of your choice.")] = None,
    backend: Annotated[str | None, typer.Option(help="Kind of server; found out when not given.")] = None,
    device: Annotated[str | None, typer.Option(help="Memory its models load into, e.g. nvidia:0, cpu.")] = None,
    credential_env: Annotated[
        str | None, typer.Option(help="Environment variable that holds its API key.", metavar="VAR")
    ] = None,
    credential: Credential = None,
    concurrency: Annotated[int, typer.Option(help="Requests at once.")] = 1,
    evict: Annotated[
        str | None,
        typer.Option(help="own: unload only what this program loaded (default); any: all that is in the way."),
    ] = None,
) -> None:
    """Add an inference server that answers now, or refresh the one at that address."""
    from llmbench_mcp.services.endpoints import NewEndpoint

    here = session(context)
    if evict not in (None, "own", "any"):
        raise UsageError("--evict is own or any.", context)
    facts = (url, name, backend, device, reference(credential_env, credential), concurrency)
    new = NewEndpoint(*facts, evict=cast("EvictPolicy | None", evict))

    async def work(app: App) -> tuple[Endpoint, bool, str | None, list[str]]:
        before = await _name_before(app, url)
        added, created = await app.endpoints.add(new)
        return added, created, before, [view.device.id for view in await app.devices.read()]

    added, created, before, devices = here.use(work)
    if device is not None and added.device not in (*devices, "remote"):
        output.note(f"No reader here sees {added.device}; it sees {', '.join(devices)}. Memory will not be verified.")
    if "://" not in url:
        output.note(f"No scheme was given: taken as {added.url}")
    here.show({"endpoint": added, "created": created}, lambda: [_added(added, created, before)])


def change(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name, id or address.")],
    credential: Credential = None,
    no_credential: Annotated[bool, typer.Option("--no-credential", help="Use no API key.")] = False,
) -> None:
    """Change the credential of an inference server."""
    from llmbench_mcp.cli import shapes, tables

    here = session(context)
    if (credential is None) != no_credential:
        raise UsageError("Give --credential REFERENCE or --no-credential.", context)

    async def work(app: App) -> Endpoint:
        await app.credentials.lend(await app.endpoints.get(name), credential)
        return await app.endpoints.get(name)

    changed = here.use(work)
    told = f"Endpoint {changed.name} now uses {changed.credential_ref or 'no credential'}."
    here.show({"endpoint": shapes.endpoint(changed)}, lambda: [tables.sentence(told)])


async def _name_before(app: App, url: str) -> str | None:
    from llmbench_mcp.domain.errors import NotFoundError

    try:
        return (await app.endpoints.get(url)).name
    except NotFoundError:
        return None


def _added(endpoint: Endpoint, created: bool, before: str | None) -> Any:
    from llmbench_mcp.cli.tables import sentence

    if not created and before is not None and before != endpoint.name:
        return sentence(f"Renamed {before} to {endpoint.name}.")
    verb = "Added" if created else "Refreshed"
    where = f"{endpoint.backend} at {endpoint.url}, device {endpoint.device}"
    return sentence(f"{verb} endpoint {endpoint.name}: {where}. Next: llmbench-mcp discover {endpoint.name}")


def list_endpoints(
    context: typer.Context,
    no_look: Annotated[bool, typer.Option("--no-look", help="Do not ask the servers now.")] = False,
) -> None:
    """List inference servers, each asked now whether it answers and what it has loaded."""
    from llmbench_mcp.cli import shapes, tables

    here = session(context)

    async def work(app: App) -> list[EndpointView]:
        return await app.endpoints.views(look=not no_look)

    views = here.use(work)
    document = {"endpoints": [shapes.endpoint_view(view) for view in views]}
    empty = tables.sentence("No endpoint is known. Add one: llmbench-mcp endpoint add URL")
    here.show(document, lambda: [tables.endpoints(views) if views else empty])


def remove(context: typer.Context, name: Annotated[str, typer.Argument(help="Name, id or address.")]) -> None:
    """Forget an inference server; its results stay."""
    from llmbench_mcp.cli import tables

    here = session(context)

    async def work(app: App) -> Endpoint:
        return await app.endpoints.remove(name)

    gone = here.use(work)
    here.show({"removed": gone}, lambda: [tables.sentence(f"Removed endpoint {gone.name} ({gone.url}).")])


COMMANDS: dict[str, Callable[..., Any]] = {"add": add, "set": change, "list": list_endpoints, "remove": remove}
