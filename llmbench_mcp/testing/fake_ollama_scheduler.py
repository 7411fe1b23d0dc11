"""Which models a simulated Ollama holds in memory: loading, keep-alive, eviction, and unloads that take their time.

What is due is done when somebody looks (``settle``), so that the clock may be a test's own.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.testing.fake_ollama_models import StoredModel
from llmbench_mcp.testing.simulated_gpu import SimulatedGpu

KEEP_ALIVE_S = 300.0


class RefusedError(Exception):
    """A request that ends with this status and text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


@dataclass
class Faults:
    """What goes wrong from now on. ``heal`` of the scheduler sets all right again.

    ``never_unloads``: an unload is answered and the model stays listed. ``keeps_memory``: it is no longer listed,
    and its memory stays held. ``lost_unloads``: so many unload orders are answered and forgotten.
    ``load_error``: every load fails with this text.
    """

    never_unloads: bool = False
    keeps_memory: bool = False
    lost_unloads: int = 0
    load_error: str | None = None


@dataclass
class Timings:
    """How long things take, in seconds of the clock."""

    load_s: float = 0.0
    unload_s: float = 0.0
    memory_back_s: float = 0.0
    """How long after a model left the list its memory is held."""
    keep_alive_s: float = KEEP_ALIVE_S


@dataclass
class Loaded:
    """A model in memory, or on its way in or out. Times are the clock's monotonic seconds."""

    model: StoredModel
    context_length: int
    size: int
    size_vram: int
    keep_alive_s: float
    expires_at: float = math.inf
    leaves_at: float | None = None
    in_flight: int = 0
    used_at: float = 0.0
    idle: asyncio.Event = field(default_factory=asyncio.Event)


class Scheduler:
    """The memory of one server. ``holder`` is its name on the GPU; without a GPU all runs on the CPU."""

    def __init__(self, clock: Clock, gpu: SimulatedGpu | None, holder: str, *, max_loaded: int = 3) -> None:
        self.clock = clock
        self.gpu = gpu
        self.holder = holder
        self.max_loaded = max_loaded
        self.faults = Faults()
        self.timings = Timings()
        self.loads: list[tuple[float, str]] = []
        self._loaded: dict[str, Loaded] = {}
        self._memory_due: list[tuple[float, str]] = []
        self._turn = asyncio.Lock()
        if gpu:
            gpu.before_reading.append(self.settle)

    def listed(self) -> list[Loaded]:
        """What ``/api/ps`` lists, the latest first."""
        self.settle()
        return list(reversed(self._loaded.values()))

    def settle(self) -> None:
        """Do what is due by now."""
        now = self.clock.monotonic()
        for loaded in list(self._loaded.values()):
            if loaded.leaves_at is None and loaded.in_flight == 0 and loaded.expires_at <= now:
                self._begin_leaving(loaded, loaded.expires_at)
            if loaded.leaves_at is not None and loaded.leaves_at <= now:
                self._gone(loaded, loaded.leaves_at)
        due = [model for at, model in self._memory_due if at <= now]
        self._memory_due = [(at, model) for at, model in self._memory_due if at > now]
        for model in due:
            self._give_back(model)

    @asynccontextmanager
    async def using(
        self, model: StoredModel, context_length: int, keep_alive_s: float | None
    ) -> AsyncIterator[tuple[Loaded, float]]:
        """Have the model loaded while the block runs; gives it and the seconds that loading took."""
        async with self._turn:
            started = self.clock.monotonic()
            loaded = await self._ready(model, context_length)
            loaded.in_flight += 1
            loaded.idle.clear()
            load_s = self.clock.monotonic() - started
        try:
            yield loaded, load_s
        finally:
            self._release(loaded, self.timings.keep_alive_s if keep_alive_s is None else keep_alive_s)

    async def until_idle(self, name: str) -> None:
        """Wait until no request uses the model."""
        loaded = self._loaded.get(name)
        if loaded and loaded.in_flight:
            await loaded.idle.wait()

    def order_unload(self, name: str) -> None:
        """As keep_alive 0 does: the model leaves once nobody uses it, some time after the order was answered."""
        self.settle()
        loaded = self._loaded.get(name)
        if loaded is None or self.faults.never_unloads:
            return
        if self.faults.lost_unloads:
            self.faults.lost_unloads -= 1
            return
        loaded.keep_alive_s = 0.0
        loaded.expires_at = self.clock.monotonic()
        self.settle()

    def forget_all(self, *, memory_too: bool = True) -> None:
        """As a restart does; without ``memory_too`` the runners live on unseen."""
        self._loaded.clear()
        self._turn = asyncio.Lock()
        if memory_too and self.gpu:
            self._memory_due.clear()
            self.gpu.release_all(self.holder)

    def evict(self, name: str) -> None:
        """Throw a model out at once, as another program's doing."""
        loaded = self._loaded.pop(name, None)
        if loaded:
            self._give_back(name)

    def heal(self) -> None:
        """No more faults; memory held without a model is given back."""
        self.faults = Faults()
        for allocation in self.gpu.held if self.gpu else ():
            if allocation.holder == self.holder and allocation.model not in self._loaded:
                self._give_back(allocation.model)

    async def _ready(self, model: StoredModel, context_length: int) -> Loaded:
        self.settle()
        loaded = self._loaded.get(model.name)
        if loaded and loaded.leaves_at is None and loaded.context_length == context_length:
            return loaded
        if loaded:
            await self._see_off(loaded)
        if self.faults.load_error:
            raise RefusedError(500, self.faults.load_error)
        await self._make_room(model.memory(context_length))
        return await self._load(model, context_length)

    async def _make_room(self, size: int) -> None:
        """Evict the models used longest ago until the new one fits, or until it would be alone."""
        while self._loaded and not self.faults.never_unloads:
            fits = self.gpu is None or self.gpu.free_bytes >= size
            if fits and len(self._loaded) < self.max_loaded:
                return
            idle = [loaded for loaded in self._loaded.values() if not loaded.in_flight]
            await self._see_off(min(idle or self._loaded.values(), key=lambda loaded: loaded.used_at))

    async def _see_off(self, loaded: Loaded) -> None:
        """Unload and wait until the memory is back."""
        if loaded.in_flight:
            await loaded.idle.wait()
        if loaded.model.name not in self._loaded:
            return
        if loaded.leaves_at is None:
            loaded.leaves_at = self.clock.monotonic() + self.timings.unload_s
        self.settle()
        wait_s = loaded.leaves_at - self.clock.monotonic() + self.timings.memory_back_s
        if wait_s > 0:
            await self.clock.sleep(wait_s)
        self.settle()

    async def _load(self, model: StoredModel, context_length: int) -> Loaded:
        size = model.memory(context_length)
        granted = self.gpu.allocate(self.holder, model.name, size).granted if self.gpu else 0
        loaded = Loaded(model, context_length, size, granted, self.timings.keep_alive_s, in_flight=1)
        self._loaded[model.name] = loaded
        self.loads.append((self.clock.monotonic(), model.name))
        try:
            await self.clock.sleep(self.timings.load_s if model.load_s is None else model.load_s)
        except BaseException:  # whoever asked has gone: the load is given up and the memory with it
            self.evict(model.name)
            raise
        loaded.in_flight = 0
        return loaded

    def _release(self, loaded: Loaded, keep_alive_s: float) -> None:
        if loaded.keep_alive_s > 0 or loaded.expires_at == math.inf:
            loaded.keep_alive_s = keep_alive_s  # an unload ordered meanwhile stands
        now = self.clock.monotonic()
        loaded.used_at = now
        loaded.in_flight -= 1
        if loaded.in_flight == 0:
            loaded.idle.set()
        loaded.expires_at = now + loaded.keep_alive_s if loaded.keep_alive_s >= 0 else math.inf

    def _begin_leaving(self, loaded: Loaded, at: float) -> None:
        if self.faults.never_unloads:
            return
        loaded.leaves_at = at if self.faults.keeps_memory else at + self.timings.unload_s

    def _gone(self, loaded: Loaded, at: float) -> None:
        self._loaded.pop(loaded.model.name, None)
        if not self.faults.keeps_memory:
            self._memory_due.append((at + self.timings.memory_back_s, loaded.model.name))

    def _give_back(self, name: str) -> None:
        if self.gpu and name not in self._loaded:
            self.gpu.release(self.holder, name)
