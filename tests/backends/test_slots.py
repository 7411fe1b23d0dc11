"""llama.cpp's server says how many requests it is at."""

from __future__ import annotations

import pytest

from llmbench_mcp.domain.ports import TellsWork
from llmbench_mcp.engine.quiet import wait_until_quiet
from llmbench_mcp.testing.clocks import ManualClock
from llmbench_mcp.testing.fake_llama import FakeRouter
from llmbench_mcp.testing.fake_server import FakeServer
from llmbench_mcp.testing.replies import Reply, error_reply
from tests.backends.support import llama_at

SLOTS = "GET /slots"


@pytest.mark.parametrize(
    ("reply", "count"),
    [
        (Reply(body=[{"is_processing": True}, {"is_processing": False}, {"is_processing": True}]), 2),
        (Reply(body=[]), 0),
        (Reply(body=[{"is_processing": "yes"}, 7, None]), 0),
        (Reply(body={"slots": 1}), None),
        (Reply(body=b"{broken"), None),
        (error_reply(501, "This server does not support slots endpoint."), None),
        (error_reply(404, "File Not Found"), None),
    ],
)
async def test_busy_slots_are_counted_and_silence_is_unknown(reply: Reply, count: int | None) -> None:
    async with FakeServer(["m"]) as server, llama_at(server.url) as backend:
        server.routes[SLOTS] = lambda request: reply
        assert isinstance(backend, TellsWork)
        assert await backend.at_work("m") == count


async def test_measuring_waits_until_an_abandoned_request_is_gone() -> None:
    clock = ManualClock()
    async with FakeRouter(["m"]) as router, llama_at(router.url) as backend:
        router.states["m"] = "loaded"
        looks = iter([1, 1, 0])
        router.routes[SLOTS] = lambda request: Reply(body=[{"is_processing": bool(next(looks))}])
        assert await wait_until_quiet(backend, "m", clock) == ""
    assert len(clock.sleeps) == 2
