"""The tool endpoint_add."""

from __future__ import annotations

from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from llmbench_mcp.server.present import reply
from llmbench_mcp.server.results import Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, writes
from llmbench_mcp.server.tools.endpoint_list import EndpointRow, endpoint_row


class EndpointAdded(Result):
    """The endpoint as it is stored now."""

    endpoint: EndpointRow
    created: bool = Field(description="false: it was known and has been refreshed")
    next: str = Field(description="the next call to make")


async def endpoint_add(  # noqa: PLR0913 - the arguments are the tool's schema
    ctx: Call,
    url: Annotated[str, Field(description="like http://127.0.0.1:8080; /v1 may be left out")],
    name: Annotated[str, Field(description="empty: made from backend and port")] = "",
    backend: Annotated[str, Field(description="empty: found out by asking the server")] = "",
    device: Annotated[str, Field(description="id from gpu_stats; empty: the first device")] = "",
    credential_ref: Annotated[
        str, Field(description="env:LLMBENCH_KEY_NAME, a variable the person has set; never the key itself")
    ] = "",
    concurrency: Annotated[int, Field(ge=1, le=64, description="requests at a time")] = 1,
) -> Annotated[CallToolResult, EndpointAdded]:
    """Add an inference server by its address; it must answer now. Adding a known address refreshes it. You may add
    servers on this machine and on private networks; other addresses need the person. A server that wants a key gets
    the name of an environment variable, never the key."""
    app = await app_of(ctx)
    from llmbench_mcp.services.endpoints import EndpointView, NewEndpoint

    new = NewEndpoint(
        url=url,
        name=name or None,
        backend=backend or None,
        device=device or None,
        credential_ref=credential_ref or None,
        concurrency=concurrency,
        by_agent=True,
    )
    endpoint, created = await app.endpoints.add(new)
    row = endpoint_row(EndpointView(endpoint), "detailed")
    return reply(EndpointAdded(endpoint=row, created=created, next="models_discover"))


TOOL = ToolSpec(endpoint_add, "Add an inference server", writes(idempotent=True, asks_servers=True), toolset="manage")
