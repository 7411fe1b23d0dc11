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
from llmbench_mcp.server.results import Page, Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, reads

if TYPE_CHECKING:
    from llmbench_mcp.services.endpoints import EndpointView


class EndpointRow(Result):
    """One inference server."""

    name: str
    backend: str = Field(description="dialect spoken")
    url: str
    device: str = Field(description="memory its models load into; ids as in gpu_stats")
    reachable: bool | None = Field(default=None, description="absent: never asked")
    server_version: str | None = None
    credential: str = Field(description="none, or the reference of the one in use; never the secret")
    residents: list[str] | None = Field(
        default=None, description="models in memory now (untrusted names); absent: not known"
    )
    untrusted_error: str | None = Field(default=None, description="what the last look met")
    id: str | None = Field(default=None, description="detailed only, as all below")
    concurrency: int | None = Field(default=None, description="requests at a time")
    evict: str | None = Field(default=None, description="models it may unload: own = loaded by this program, any = all")
    added_by: str | None = None
    last_seen: str | None = Field(default=None, description="UTC")
    residents_gib: float | None = Field(default=None, description="memory of the residents as far as reported")


class EndpointPage(Page):
    """A page of endpoints."""

    endpoints: list[EndpointRow]


async def endpoint_list(
    ctx: Call,
    look: Annotated[bool, Field(description="ask every server now (up to 5 s); false: what is stored")] = True,
    detail: Detail = "concise",
    limit: Limit = 10,
    cursor: Cursor = "",
) -> Annotated[CallToolResult, EndpointPage]:
    """List the inference servers this benchmark knows: address, backend, device, whether each answers now,
    which credential it uses and which models are in its memory. Start here when you do not know what is there."""
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
    row = EndpointRow(
        name=endpoint.name,
        backend=endpoint.backend,
        url=shown(endpoint.url),
        device=endpoint.device,
        reachable=endpoint.reachable,
        server_version=shown_or_none(endpoint.server_version, 60),
        credential=endpoint.credential_ref or "none",
        residents=None if residents is None else names([one.served_name for one in residents]),
        untrusted_error=shown_or_none(view.error, MESSAGE_LIMIT),
    )
    if detail == "concise":
        return row
    sizes = [one.memory_bytes for one in residents or () if one.memory_bytes is not None]
    more = {
        "id": endpoint.id,
        "concurrency": endpoint.concurrency,
        "evict": endpoint.evict,
        "added_by": endpoint.added_by,
        "last_seen": endpoint.last_seen,
        "residents_gib": gib(sum(sizes)) if sizes else None,
    }
    return row.model_copy(update=more)


TOOL = ToolSpec(endpoint_list, "List inference servers", reads(asks_servers=True))
