from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from llmbench_mcp.backends.ollama import OllamaBackend
from llmbench_mcp.domain.chat import Completion
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.testing.clocks import ManualClock
from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_ollama_models import StoredModel
from llmbench_mcp.testing.replies import Reply
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedGpu
from tests.backends.support import ask, client, endpoint

BIG, NEXT = StoredModel("big:30b", 20 * GB), StoredModel("next:14b", 9 * GB)


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


@asynccontextmanager
async def scene(*models: StoredModel | str, **timings: float) -> AsyncIterator[tuple[FakeOllama, OllamaBackend]]:
    """A server and a backend on one clock that a test moves; ``timings`` are the simulator's."""
    clock = ManualClock()
    gpu = SimulatedGpu(24 * GB, clock=clock)
    async with FakeOllama(models or ("m",), gpu=gpu) as server, ollama_at(server.url, clock) as backend:
        for name, seconds in timings.items():
            setattr(server.timings, name, seconds)
        yield server, backend


def gpu_of(server: FakeOllama) -> SimulatedGpu:
    assert server.scheduler.gpu is not None
    return server.scheduler.gpu


async def names_in_memory(backend: OllamaBackend) -> list[str]:
    return [resident.served_name for resident in await backend.residents() or []]
