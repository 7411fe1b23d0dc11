from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from llmbench_mcp.backends.ollama import OllamaBackend
from llmbench_mcp.domain.chat import Completion
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.replies import Reply
from tests.backends.support import ask, client, endpoint


@asynccontextmanager
async def ollama_at(url: str, clock: Clock | None = None) -> AsyncIterator[OllamaBackend]:
    backend = OllamaBackend(endpoint(url, "ollama"), client(url, clock))
    try:
        yield backend
    finally:
        await backend.aclose()


async def answer_to(reply: Reply, clock: Clock | None = None) -> Completion:
    """What the backend makes of one scripted chat."""
    async with FakeOllama(script=lambda request: reply) as server, ollama_at(server.url, clock) as backend:
        return await ask(backend)
