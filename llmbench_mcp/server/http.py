"""The HTTP application: MCP for every kind of client, health, metrics, and a page for whoever comes by browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.sse import SseServerTransport
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Receive, Scope, Send

from llmbench_mcp import __version__
from llmbench_mcp.server.build import BenchServer, build_server
from llmbench_mcp.server.holder import AppHolder
from llmbench_mcp.server.http_auth import HEALTH, Access, KnownHosts, KnownTokens
from llmbench_mcp.server.http_limits import BODY_LIMIT, Counted, Limited, Limits, Traffic
from llmbench_mcp.server.metrics import MetricsPage

MCP = "/mcp"
SSE = "/sse"
MESSAGES = "/messages/"

_GREETING = f"""llmbench-mcp {__version__}

This is a server for MCP clients: {MCP} (streamable HTTP), {SSE} (older clients).
{HEALTH} says whether it works, /metrics how much (Prometheus).
"""
_SAFE_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


@dataclass(frozen=True, slots=True)
class HttpApp:
    """The application for an ASGI server, and how to end what goes on in it."""

    app: Starlette
    server: BenchServer
    traffic: Traffic = field(default_factory=Traffic)


def build_http_app(holder: AppHolder, access: Access | None = None, limits: Limits | None = None) -> HttpApp:
    """One application with all routes. Its lifespan opens the holder's App; whoever made the holder closes it.

    Args:
        holder: whose App is served, and whose settings hold.
        access: who may ask; by default this machine, without a token.
        limits: how much at once; by default what the settings say.

    Raises:
        InputError: the ``toolsets`` setting names one that does not exist.
    """
    allowed = access or Access()
    bounds = limits or Limits.of(holder.settings)
    server = build_server(holder)
    traffic = Traffic()
    routes = [*_mcp_routes(server, allowed.for_sdk(), bounds), *_pages(holder, traffic)]
    manager = server.session_manager
    # The SDK (2.3) limits sessions but does not tell how many there are.
    traffic.sessions = lambda: len(manager._server_instances)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await holder.get()
        async with manager.run(), anyio.create_task_group() as group:
            group.start_soon(holder.keep_waking)
            yield
            group.cancel_scope.cancel()

    return HttpApp(
        Starlette(routes=routes, middleware=_guards(allowed, bounds, traffic), lifespan=lifespan), server, traffic
    )


def _guards(access: Access, limits: Limits, traffic: Traffic) -> list[Middleware]:
    """From the outside in."""
    guards = [Middleware(Counted, traffic=traffic), Middleware(KnownHosts, access=access)]
    if access.origins:
        guards.append(_cors(access))
    return [
        *guards,
        Middleware(KnownTokens, tokens=access.tokens),
        Middleware(Limited, limits=limits, traffic=traffic, several=len(access.tokens) > 1),
        Middleware(AuthContextMiddleware),
    ]


def _cors(access: Access) -> Middleware:
    """Lets pages of the origins that were named read the answers; they ask before they send a token."""
    return Middleware(
        CORSMiddleware,
        allow_origins=access.origins,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=["mcp-session-id", "retry-after"],
    )


def _mcp_routes(server: BenchServer, security: TransportSecuritySettings, limits: Limits) -> list[BaseRoute]:
    modern = server.streamable_http_app(
        streamable_http_path=MCP,
        max_request_body_size=BODY_LIMIT,
        session_idle_timeout=limits.idle_s,
        max_sessions=limits.sessions,
        transport_security=security,
    )
    transport = SseServerTransport(MESSAGES, security_settings=security, max_request_body_size=BODY_LIMIT)
    sse = Route(SSE, endpoint=_SseEndpoint(server, transport), methods=["GET"])
    return [*modern.routes, sse, Mount(MESSAGES, app=transport.handle_post_message)]


class _SseEndpoint:
    """One SSE client per open stream. The SDK's own answers a second time when the stream ends."""

    def __init__(self, server: BenchServer, transport: SseServerTransport) -> None:
        self._server = server
        self._transport = transport

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._transport.connect_sse(scope, receive, send) as (incoming, outgoing):
            await self._server.run_streams(incoming, outgoing)


def _pages(holder: AppHolder, traffic: Traffic) -> list[BaseRoute]:
    metrics = MetricsPage(holder, traffic)

    async def home(_: Request) -> Response:
        return PlainTextResponse(_GREETING, headers=_SAFE_HEADERS)

    async def health(_: Request) -> Response:
        if traffic.leaving:
            return JSONResponse({"status": "leaving"}, 503, _SAFE_HEADERS)
        return JSONResponse({"status": "ok"}, 200, _SAFE_HEADERS)

    async def figures(request: Request) -> Response:
        content, kind = await metrics.render(request.headers.get("accept", ""))
        return Response(content, headers=_SAFE_HEADERS | {"content-type": kind})

    return [Route("/", home), Route(HEALTH, health), Route("/metrics", figures)]
