"""Limits of the HTTP server hold for requests whose bodies arrive slowly, too."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from llmbench_mcp.server.http_limits import Limited, Limits, Traffic

ONE = Limits(sessions=5, requests=1, idle_s=600, drain_s=0.2)
CALL: Scope = {
    "type": "http",
    "method": "POST",
    "path": "/mcp",
    "headers": [(b"mcp-protocol-version", b"2026-07-28"), (b"mcp-method", b"tools/call")],
}


@dataclass
class Slow:
    """A request whose body comes when it is told to."""

    asked: anyio.Event = field(default_factory=anyio.Event)
    arrives: anyio.Event = field(default_factory=anyio.Event)
    status: int = 0

    async def receive(self) -> Message:
        self.asked.set()
        await self.arrives.wait()
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]


class Working:
    """An application that answers when it is told to, or asked by a second one."""

    def __init__(self) -> None:
        self.began, self.go_on = anyio.Event(), anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.began.is_set():
            self.go_on.set()
        self.began.set()
        await self.go_on.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def test_requests_whose_bodies_arrive_at_once_are_no_more_in_work_than_the_limit() -> None:
    app, traffic, first, second = Working(), Traffic(), Slow(), Slow()
    limited = Limited(app, ONE, traffic, several=False)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(limited, dict(CALL), first.receive, first.send)
            await first.asked.wait()
            async with anyio.create_task_group() as other:
                other.start_soon(limited, dict(CALL), second.receive, second.send)
                await second.asked.wait()
                first.arrives.set()
                await app.began.wait()
                second.arrives.set()
            app.go_on.set()
    assert (first.status, second.status) == (200, 503)
    assert traffic.kinds["call"] == 0


@pytest.mark.parametrize("ends", ["leave", "cut"])
async def test_a_request_whose_body_arrives_when_the_server_leaves_is_not_begun(ends: str) -> None:
    app, traffic, late = Working(), Traffic(), Slow()
    app.go_on.set()
    limited = Limited(app, ONE, traffic, several=False)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(limited, dict(CALL), late.receive, late.send)
            await late.asked.wait()
            getattr(traffic, ends)()
            late.arrives.set()
    assert (late.status, app.began.is_set()) == (503, False)
