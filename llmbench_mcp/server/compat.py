"""What SDK 2.3 gets wrong on the wire, mended through its middleware; a test per fault says when it is fixed there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext


async def answer_ping(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answer ``ping`` on 2026-07-28 too, where there is a connection to ask after, as on stdio.

    The SDK (2.3) refuses it, and hosts that ping take the server for dead. Over streamable HTTP every request stands
    alone, and the specification wants removed methods refused there.
    """
    alone = ctx.request is not None and not connection_of(ctx).has_standalone_channel
    if ctx.method == "ping" and ctx.protocol_version >= "2026-07-28" and not alone:
        return {"resultType": "complete"}
    return await call_next(ctx)


def connection_of(ctx: ServerRequestContext[Any, Any]) -> Connection:
    """The client's connection; the session (2.3) is made anew for each request and shows it to nobody."""
    connection: Connection = ctx.session._connection
    return connection


def declare_extensions(settings: Mapping[str, Mapping[str, Any]]) -> ServerMiddleware[Any]:
    """Middleware that declares the server's extensions to handshake clients; the SDK (2.3) drops them there.

    ``settings``: by identifier, read at each handshake.
    """

    async def declaring(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        if ctx.method == "initialize" and isinstance(result, dict) and settings:
            declared = result.setdefault("capabilities", {}).setdefault("extensions", {})
            declared.update({name: dict(values) for name, values in settings.items()})
        return result

    return declaring
