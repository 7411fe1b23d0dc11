"""The tool endpoint_add."""

from __future__ import annotations

from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from llmbench_mcp.server.present import reply, shown, shown_or_none
from llmbench_mcp.server.results import Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, writes


class EndpointAdded(Result):
    """The endpoint as it is stored now."""

    name: str
    backend: str
    url: str
    device: str
    server_version: str | None = None
    created: bool = Field(description="false: was known")
    next: str


async def endpoint_add(  # noqa: PLR0913 - the arguments are the tool's schema
    ctx: Call,
    url: Annotated[str, Field(description="http://127.0.0.1:8080")],
    name: Annotated[str, Field(description="empty: one is made")] = "",
    backend: Annotated[str, Field(description="empty: detected")] = "",
    device: Annotated[str, Field(description="id from gpu_stats, or remote; empty: remote, or here the first")] = "",
    credential_ref: Annotated[str, Field(description="stored:NAME or env:LLMBENCH_KEY_NAME; never the key")] = "",
    concurrency: Annotated[int, Field(ge=1, le=64, description="requests at a time")] = 1,
) -> Annotated[CallToolResult, EndpointAdded]:
    """Add an inference server, which must answer now. Agents may add this machine's and private networks' only. If it
    wants a key, credential_request comes first."""
    app = await app_of(ctx)
    from llmbench_mcp.services.endpoints import NewEndpoint

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
    return reply(
        EndpointAdded(
            name=endpoint.name,
            backend=endpoint.backend,
            url=shown(endpoint.url),
            device=endpoint.device,
            server_version=shown_or_none(endpoint.server_version, 60),
            created=created,
            next=f"models_discover endpoints={endpoint.name}",
        )
    )


TOOL = ToolSpec(endpoint_add, "Add a server", writes(idempotent=True, asks_servers=True), toolset="manage")
