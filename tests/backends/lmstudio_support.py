from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from llmbench_mcp.backends.lmstudio import LMStudioBackend
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.testing.clocks import ManualClock
from llmbench_mcp.testing.fake_lmstudio import FakeLMStudio
from llmbench_mcp.testing.fake_lmstudio_models import StudioModel
from llmbench_mcp.testing.simulated_gpu import SimulatedGpu
from tests.backends.support import client, endpoint


@asynccontextmanager
async def studio_at(url: str, clock: Clock | None = None) -> AsyncIterator[LMStudioBackend]:
    backend = LMStudioBackend(endpoint(url, "lmstudio"), client(url, clock))
    try:
        yield backend
    finally:
        await backend.aclose()


@asynccontextmanager
async def studio(
    *models: StudioModel | str, native: bool = True, gpu: SimulatedGpu | None = None, clock: Clock | None = None
) -> AsyncIterator[tuple[FakeLMStudio, LMStudioBackend]]:
    """A simulated LM Studio with these models and a backend at it, both on one clock that only tests move."""
    clock = clock or (gpu.clock if gpu else ManualClock())
    server = FakeLMStudio(models or ("m",), gpu=gpu, clock=clock, native=native)
    async with server, studio_at(server.url, clock) as backend:
        yield server, backend
