"""The tool endpoint_list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mcp.types import CallToolResult
from pydantic import Field

from llmbench_mcp.server.arguments import Cursor, Detail, Limit
from llmbench_mcp.server.present import (
    MESSAGE_LIMIT,
    Cut,
    decode_cursor,
    gib,
    names,
    reply,
    shown,
    shown_or_none,
)
from llmbench_mcp.server.results import Details, Page, Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, reads

if TYPE_CHECKING:
    from llmbench_mcp.services.endpoints import EndpointView


class EndpointRow(Result):
    """One inference server."""

    name: str
    backend: str
    url: str
    device: str = Field(description="as in gpu_stats")
    reachable: bool | None = None
    server_version: str | None = None
    credential: str = Field(description="none, or its reference; (expired), (not set), (refused)")
    residents: list[str] | None = Field(default=None, description="untrusted")
    untrusted_error: str | None = None
    details: Details | None = Field(default=None, description="concurrency, evict, last_seen, residents_gib")


class EndpointPage(Page):
    """A page of endpoints."""

    endpoints: list[EndpointRow]


async def endpoint_list(
    ctx: Call,
    look: Annotated[bool, Field(description="ask every server now")] = True,
    detail: Detail = "concise",
    limit: Limit = 10,
    cursor: Cursor = "",
) -> Annotated[CallToolResult, EndpointPage]:
    """List the known inference servers: address, device, whether each answers now, models in its memory."""
    offset = decode_cursor(cursor, "endpoints")
    app = await app_of(ctx)
    views = await app.endpoints.views(look=look)
    rows = [endpoint_row(view, detail) for view in views[offset : offset + limit]]
    cut = Cut(rows, len(views), offset, "endpoints")
    return reply(EndpointPage(endpoints=rows[: cut.kept], next=_next(len(views)), **cut.facts))


def _next(known: int) -> str:
    return "models_discover" if known else "endpoint_add with the url of an inference server"


def endpoint_row(view: EndpointView, detail: Detail = "concise") -> EndpointRow:
    """An endpoint as shown."""
    endpoint, residents = view.endpoint, view.residents
    return EndpointRow(
        name=endpoint.name,
        backend=endpoint.backend,
        url=shown(endpoint.url),
        device=endpoint.device,
        reachable=endpoint.reachable,
        server_version=shown_or_none(endpoint.server_version, 60),
        credential=_credential(view),
        residents=None if residents is None else names([one.served_name for one in residents]),
        untrusted_error=shown_or_none(view.error, MESSAGE_LIMIT),
        details=_details(view) if detail == "detailed" else None,
    )


def _credential(view: EndpointView) -> str:
    """Its reference and what is wrong with it."""
    state: str | None = view.credential if view.credential in ("expired", "not set") else None
    if state is None and view.endpoint.state == "no_access":
        state = "refused"
    return (view.endpoint.credential_ref or "none") + (f" ({state})" if state else "")


def _details(view: EndpointView) -> Details:
    endpoint = view.endpoint
    sizes = [one.memory_bytes for one in view.residents or () if one.memory_bytes is not None]
    plain = ("id", "concurrency", "evict", "added_by", "last_seen")
    return {name: getattr(endpoint, name) for name in plain} | {"residents_gib": gib(sum(sizes)) if sizes else None}


TOOL = ToolSpec(endpoint_list, "List servers", reads(asks_servers=True))
