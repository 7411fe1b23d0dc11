from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from llmbench_mcp.backends.client import ClientOptions, HttpClient
from llmbench_mcp.backends.llamacpp import LlamaCppBackend
from llmbench_mcp.backends.llamaswap import LlamaSwapBackend
from llmbench_mcp.backends.openai import OpenAIBackend
from llmbench_mcp.backends.vllm import VllmBackend
from llmbench_mcp.domain.address import parse_address
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.ports import Backend, Clock
from llmbench_mcp.testing.clocks import ManualClock
from llmbench_mcp.testing.fake_server import FakeServer, Route, Script
from llmbench_mcp.testing.replies import Reply

PATIENCE = {"total_s": 20.0, "stall_s": 10.0}


def endpoint(url: str, kind: str = "openai") -> Endpoint:
    return Endpoint("e1", "test", url, kind)


def giving(secret: str) -> Callable[[], Awaitable[str]]:
    """A credential that is always this one."""

    async def give() -> str:
        return secret

    return give


def client(url: str, clock: Clock | None = None) -> HttpClient:
    return HttpClient(parse_address(url), ClientOptions(clock=clock or ManualClock()))


@asynccontextmanager
async def openai_at(url: str, clock: Clock | None = None) -> AsyncIterator[OpenAIBackend]:
    backend = OpenAIBackend(endpoint(url), client(url, clock))
    try:
        yield backend
    finally:
        await backend.aclose()


@asynccontextmanager
async def llama_at(url: str, clock: Clock | None = None) -> AsyncIterator[LlamaCppBackend]:
    backend = LlamaCppBackend(endpoint(url, "llamacpp"), client(url, clock))
    try:
        yield backend
    finally:
        await backend.aclose()


def always(reply: Reply) -> Route:
    """A route that gives this one answer."""
    return lambda request: reply


async def ask(backend: Backend, prompt: str = "hello", model: str = "m") -> Completion:
    return await backend.chat(ChatRequest(model, prompt), **PATIENCE)


async def answer_to(reply: Reply, clock: Clock | None = None) -> Completion:
    """What the generic backend makes of one scripted reply."""
    script: Script = lambda request: reply  # noqa: E731  # typed, unlike a nested def's use here
    async with FakeServer(script=script) as server, openai_at(server.url, clock) as backend:
        return await ask(backend)


@asynccontextmanager
async def vllm_at(url: str, clock: Clock | None = None) -> AsyncIterator[VllmBackend]:
    backend = VllmBackend(endpoint(url, "vllm"), client(url, clock))
    try:
        yield backend
    finally:
        await backend.aclose()


@asynccontextmanager
async def llamaswap_at(url: str, clock: Clock | None = None) -> AsyncIterator[LlamaSwapBackend]:
    backend = LlamaSwapBackend(endpoint(url, "llamaswap"), client(url, clock))
    try:
        yield backend
    finally:
        await backend.aclose()
