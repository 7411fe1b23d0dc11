"""``credential set | list | status | forget``: keys are typed or piped in, and never come out again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llmbench_mcp.cli import output
from llmbench_mcp.cli.session import session
from llmbench_mcp.cli.usage import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from llmbench_mcp.app import App
    from llmbench_mcp.services.credentials import CredentialView, Entry

_MOST_BYTES = 20_000
Name = Annotated[str, typer.Argument(help="The credential's name, e.g. office; never the key.")]


def enter(
    context: typer.Context,
    name: Name,
    origin: Annotated[
        str | None, typer.Option(help="The only address it may be sent to; else the first endpoint that uses it.")
    ] = None,
    expires: Annotated[str | None, typer.Option(help="A time limit: 30d, 12h, 4w or 2027-01-31.")] = None,
    endpoint: Annotated[str | None, typer.Option(help="The endpoint that shall use it: name, id or address.")] = None,
) -> None:
    """Store an API key, typed unseen or read from standard input, in place of one of that name."""
    from llmbench_mcp.services.credentials import Entry

    here = session(context)

    async def described(app: App) -> Entry:
        used = await app.endpoints.get(endpoint) if endpoint is not None else None
        entry = Entry(name, origin, expires, used)
        await app.credentials.check_entry(entry)
        return entry

    entry = here.use(described)
    key = _typed(name, context) if sys.stdin is not None and sys.stdin.isatty() else _piped(context)

    async def work(app: App) -> CredentialView:
        return await app.credentials.enter(entry, key)

    view = here.use(work)
    here.show({"credential": view}, lambda: [_stored(view)])


def _typed(name: str, context: typer.Context) -> str:
    import getpass
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return getpass.getpass(f"Key for {name} (not shown): ")
        except (getpass.GetPassWarning, EOFError):
            output.note("")
            raise UsageError("No key was typed unseen. Type it at a terminal, or pipe it in.", context) from None


def _piped(context: typer.Context) -> str:
    if sys.stdin is None:
        raise UsageError("There is no standard input to read the key from.", context)
    data = sys.stdin.buffer.read(_MOST_BYTES)
    return data.decode("utf-8", "replace").strip("\r\n")


def _stored(view: CredentialView) -> RenderableType:
    from llmbench_mcp.cli.tables import sentence

    whom = f"for {view.origin} only" if view.origin else "for the first endpoint that uses it"
    until = f", until {_minute(view.expires_at)} UTC" if view.expires_at else ""
    use = (
        f"Used by {', '.join(view.used_by)}."
        if view.used_by
        else f"Next: llmbench-mcp endpoint add {view.origin or 'URL'} --credential {view.reference}"
    )
    return sentence(f"The key is in the {view.place}, {whom}{until}. {use}")


def list_credentials(context: typer.Context) -> None:
    """List credentials: where they are, whom they are for, who uses them. No key is read or shown."""
    here = session(context)

    async def work(app: App) -> list[CredentialView]:
        return await app.credentials.views()

    views = here.use(work)
    here.show({"credentials": views}, lambda: _listed(views))


def status(context: typer.Context, name: Name) -> None:
    """Say how one credential stands, and whether its key can be read."""
    here = session(context)

    async def work(app: App) -> CredentialView:
        return await app.credentials.view(name.removeprefix("stored:"))

    view = here.use(work)
    here.show({"credential": view}, lambda: _listed([view]))


def forget(context: typer.Context, name: Name) -> None:
    """Delete a key and take it from the endpoints that use it."""
    from llmbench_mcp.cli.tables import sentence

    here = session(context)

    async def work(app: App) -> CredentialView:
        return await app.credentials.forget(name.removeprefix("stored:"))

    gone = here.use(work)
    without = f" Now without a credential: {', '.join(gone.used_by)}." if gone.used_by else ""
    here.show({"forgotten": gone}, lambda: [sentence(f"Forgot {gone.reference}.{without}")])


def _listed(views: list[CredentialView]) -> Iterator[RenderableType]:
    from llmbench_mcp.cli.grid import Column
    from llmbench_mcp.cli.tables import sentence, slim

    if not views:
        yield sentence("No credential is stored or used. Store one: llmbench-mcp credential set NAME")
        return
    columns = (
        Column("Credential"),
        Column("State"),
        Column("Where"),
        Column("Only for", wraps=True),
        Column("Set (UTC)", drop=1),
        Column("Expires (UTC)", drop=2),
        Column("Used by", wraps=True),
        Column("Problem", note=True),
    )
    yield slim("", columns, [_row(view) for view in views], ["Expires (UTC)", "Problem"])


def _row(view: CredentialView) -> tuple[str, ...]:
    facts = (view.reference, view.state, view.place or "nowhere", view.origin or "not yet bound")
    if view.place == "environment":
        facts = (*facts[:3], "")
    times = (_minute(view.set_at), _minute(view.expires_at))
    return (*facts, *times, ", ".join(view.used_by), view.problem or "")


def _minute(at: str | None) -> str:
    return at[:16].replace("T", " ") if at else ""


COMMANDS: dict[str, Callable[..., Any]] = {
    "set": enter,
    "list": list_credentials,
    "status": status,
    "forget": forget,
}
