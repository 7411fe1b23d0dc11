"""The simulated llama-server against answers recorded from a real one: the same fields with the same kinds of value."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llmbench_mcp.testing.fake_llama import FakeLlama, FakeRouter
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import Reply
from tests.support.collected import COLLECTED, NOTICE

CAPTURES = COLLECTED / "captures"
pytestmark = pytest.mark.skipif(not CAPTURES.is_dir(), reason=NOTICE)


def recorded(name: str) -> tuple[int, Any]:
    """Status and JSON of a recorded answer, as sent: status line, headers, body."""
    head, _, body = (CAPTURES / f"{name}.http").read_bytes().partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def shape(value: Any) -> Any:
    """Field names and kinds of value, without the values."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def within(part: Any, whole: Any) -> bool:
    """Whether a shape says nothing that the other does not say too."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and within(inner, whole[name]) for name, inner in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return not part or not whole or within(part[0], whole[0])
    return bool(part == whole)


def request(path: str, model: str | None = None, query: str = "") -> Received:
    return Received("POST" if model else "GET", path, query, {}, {"model": model} if model else None)


async def answered(server: FakeServer, received: Received) -> tuple[int, Any]:
    reply = await server._reply(received)
    assert isinstance(reply, Reply)
    body, _ = reply.encoded()
    return reply.status, json.loads(body)


def router(**states: str) -> FakeRouter:
    made = FakeRouter(["gemma-a", "gemma-b"], models_max=1)
    made.states |= {name.replace("_", "-"): state for name, state in states.items()}
    return made


@pytest.mark.parametrize(
    ("name", "states", "received"),
    [
        ("router_load_a", {}, request("/models/load", "gemma-a")),
        ("router_load_again", {"gemma_a": "loaded"}, request("/models/load", "gemma-a")),
        ("router_load_unknown", {}, request("/models/load", "nope")),
        ("router_load_b_at_max1", {"gemma_a": "loaded"}, request("/models/load", "gemma-b")),
        ("router_unload_b", {"gemma_b": "loaded"}, request("/models/unload", "gemma-b")),
        ("router_unload_a_notloaded", {}, request("/models/unload", "gemma-a")),
        ("router_chat_unknown", {}, request("/v1/chat/completions", "nope")),
        ("router_chat_unloaded_noautoload", {}, request("/v1/chat/completions", "gemma-a")),
        ("router_chat_while_loading", {"gemma_a": "loading"}, request("/v1/chat/completions", "gemma-a")),
    ],
)
async def test_orders_and_refusals_are_those_of_the_real_router(
    name: str, states: dict[str, str], received: Received
) -> None:
    made = router(**states)
    made._used = [model for model, state in made.states.items() if state == "loaded"]
    assert await answered(made, received) == recorded(name)


@pytest.mark.parametrize(
    ("name", "states"),
    [
        ("router_models_initial", {}),
        ("router_v1_models_initial", {}),
        ("router_models_loading", {"gemma_a": "loading"}),
        ("router_models_loaded", {"gemma_a": "loaded"}),
        ("router_models_after_b", {"gemma_b": "loaded"}),
        ("router_models_just_after_unload", {"gemma_b": "loaded"}),
        ("router_models_after_unload", {}),
    ],
)
async def test_the_routers_list_has_the_real_ones_fields(name: str, states: dict[str, str]) -> None:
    status, real = recorded(name)
    got, ours = await answered(router(**states), request("/v1/models"))
    assert got == status
    assert list(ours) == list(real)
    for mine, theirs in zip(ours["data"], real["data"], strict=True):
        assert mine["id"] == theirs["id"]
        assert mine["status"]["value"] == theirs["status"]["value"]
        assert {**shape(mine), "aliases": []} == {**shape(theirs), "aliases": []}


@pytest.mark.parametrize(
    ("name", "query"),
    [("router_props_nomodel", ""), ("router_props_model", "model=gemma-a")],
)
async def test_properties_are_a_part_of_the_real_ones(name: str, query: str) -> None:
    status, real = recorded(name)
    got, ours = await answered(router(gemma_a="loaded"), request("/props", query=query))
    assert got == status
    assert within(shape(ours), shape(real))


async def test_slots_are_a_part_of_the_real_ones() -> None:
    status, real = recorded("router_slots_model")
    got, ours = await answered(router(gemma_a="loaded"), request("/slots", query="model=gemma-a"))
    assert got == status
    assert within(shape(ours), shape(real))


@pytest.mark.parametrize(
    ("name", "path", "make"),
    [
        ("smol_get_v1_models", "/v1/models", FakeLlama),
        ("smol_get_props", "/props", FakeLlama),
        ("smol_get_health", "/health", FakeLlama),
        ("health_503_loading", "/health", lambda: FakeLlama(starting=1)),
    ],
)
async def test_a_single_servers_answers_are_a_part_of_the_real_ones(
    name: str, path: str, make: Callable[[], FakeLlama]
) -> None:
    status, real = recorded(name)
    got, ours = await answered(make(), request(path))
    assert got == status
    assert within(shape(ours), shape(real))


async def test_a_guarded_router_refuses_like_the_real_one() -> None:
    made = router()
    made.api_key = "secret"
    assert await answered(made, request("/v1/models")) == recorded("router_noauth_models")


def test_the_captures_are_there() -> None:
    assert Path(CAPTURES / "README.txt").is_file()
