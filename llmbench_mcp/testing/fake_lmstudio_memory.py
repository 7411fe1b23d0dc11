"""What a simulated LM Studio holds in memory: instances, loading on demand, auto-evict, idle times, late unloads.

What is due is done when somebody looks (``settle``), so that the clock may be a test's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.testing.fake_lmstudio_models import StudioModel
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedGpu

JIT_TTL_S = 3600.0
DEFAULT_CONTEXT = 4096


class LoadError(Exception):
    """The load failed; the text is what the server says."""


@dataclass
class Faults:
    """What goes wrong from now on.

    ``never_unloads``: an unload is answered and the instance stays listed. ``keeps_memory``: it is no longer
    listed, and its memory stays held. ``lost_unloads``: so many unload orders are answered and forgotten.
    ``load_error``: every load fails with this text. ``never_listed``: a load is answered and nothing is listed.
    """

    never_unloads: bool = False
    keeps_memory: bool = False
    lost_unloads: int = 0
    load_error: str | None = None
    never_listed: bool = False


@dataclass
class Timings:
    """How long things take, in seconds of the clock.

    ``unload_s``: how long an instance stays listed after the order was answered. ``memory_back_s``: how long
    after it left the list its memory is held. ``list_s``: how long after a load was answered it is not yet listed.
    """

    load_s: float = 0.0
    unload_s: float = 0.0
    memory_back_s: float = 0.0
    list_s: float = 0.0
    jit_ttl_s: float = JIT_TTL_S


@dataclass
class Loaded:
    """One instance. Times are the clock's monotonic seconds; ``ttl_s`` None stays until it is unloaded."""

    id: str
    model: StudioModel
    context_length: int
    jit: bool = False
    ttl_s: float | None = None
    ready_at: float | None = None
    used_at: float = 0.0
    leaves_at: float | None = None
    in_flight: int = 0
    gone: asyncio.Event = field(default_factory=asyncio.Event)


class StudioMemory:
    """The memory of one server. ``holder`` is its name on the GPU; without a GPU nothing ever lacks room.

    ``guardrails`` refuses loads that would not fit; without them such a model gets what there is.
    """

    def __init__(self, clock: Clock, gpu: SimulatedGpu | None, holder: str, *, auto_evict: bool = True) -> None:
        self.clock = clock
        self.gpu = gpu
        self.holder = holder
        self.auto_evict = auto_evict
        self.guardrails = True
        self.faults = Faults()
        self.timings = Timings()
        self.loads: list[tuple[float, str]] = []
        self._instances: dict[str, Loaded] = {}
        self._memory_due: list[tuple[float, str]] = []
        self._turn = asyncio.Lock()
        if gpu:
            gpu.before_reading.append(self.settle)

    def listed(self) -> list[Loaded]:
        """The instances shown in the lists, in order of loading."""
        self.settle()
        now = self.clock.monotonic()
        return [one for one in self._instances.values() if one.ready_at is not None and one.ready_at <= now]

    def of_model(self, key: str) -> list[Loaded]:
        """The instances of one model."""
        return [one for one in self.listed() if one.model.key == key]

    def find(self, instance_id: str) -> Loaded | None:
        """The instance of that id."""
        return next((one for one in self.listed() if one.id == instance_id), None)

    def settle(self) -> None:
        """Do what is due by now."""
        now = self.clock.monotonic()
        for one in list(self._instances.values()):
            self._age(one, now)
        due = [name for at, name in self._memory_due if at <= now]
        self._memory_due = [(at, name) for at, name in self._memory_due if at > now]
        for name in due:
            self._give_back(name)

    async def load(
        self, model: StudioModel, context_length: int | None = None, *, jit: bool = False, ttl_s: float | None = None
    ) -> Loaded:
        """A new instance, whatever is loaded already; waits until it is ready. Raises LoadError."""
        if self.faults.load_error:
            raise LoadError(self.faults.load_error)
        context = context_length or min(DEFAULT_CONTEXT, model.max_context)
        loaded = Loaded(self._free_id(model.key), model, context, jit, ttl_s)
        self._take(loaded)
        self._instances[loaded.id] = loaded
        self.loads.append((self.clock.monotonic(), loaded.id))
        try:
            await self.clock.sleep(self.timings.load_s if model.load_s is None else model.load_s)
        except BaseException:  # whoever asked has gone: the load is given up and the memory with it
            self.evict(loaded.id)
            raise
        loaded.used_at = self.clock.monotonic()
        loaded.ready_at = None if self.faults.never_listed else loaded.used_at + self.timings.list_s
        return loaded

    @asynccontextmanager
    async def using(self, loaded: Loaded) -> AsyncIterator[Loaded]:
        """Keep the instance busy while the block runs; its idle time begins after that."""
        loaded.in_flight += 1
        try:
            yield loaded
        finally:
            loaded.in_flight -= 1
            loaded.used_at = self.clock.monotonic()

    async def on_demand(self, model: StudioModel, ttl_s: float | None) -> Loaded:
        """An instance for a request: one there is, else a new one, for which others of its kind leave first."""
        async with self._turn:
            if (there := self.find(model.key)) is not None:
                return there
            for one in self.listed() if self.auto_evict else ():
                if one.jit:
                    await self._see_off(one)
            ttl = self.timings.jit_ttl_s if ttl_s is None else ttl_s
            return await self.load(model, jit=True, ttl_s=ttl)

    def order_unload(self, loaded: Loaded) -> None:
        """The instance leaves some time after the order was answered, whoever uses it."""
        if self.faults.never_unloads:
            return
        if self.faults.lost_unloads:
            self.faults.lost_unloads -= 1
            return
        loaded.leaves_at = self.clock.monotonic() + self.timings.unload_s
        self.settle()

    def evict(self, instance_id: str) -> None:
        """Throw an instance out at once, as another program's doing."""
        loaded = self._instances.pop(instance_id, None)
        if loaded:
            loaded.gone.set()
            self._give_back(instance_id)

    def forget_all(self, *, memory_too: bool = True) -> None:
        """As a restart does; without ``memory_too`` the engine's processes live on unseen."""
        self._instances.clear()
        self._turn = asyncio.Lock()
        if memory_too and self.gpu:
            self._memory_due.clear()
            self.gpu.release_all(self.holder)

    def heal(self) -> None:
        """No more faults; memory held without an instance is given back."""
        self.faults = Faults()
        for allocation in self.gpu.held if self.gpu else ():
            if allocation.holder == self.holder:
                self._give_back(allocation.model)

    async def _see_off(self, loaded: Loaded) -> None:
        self.order_unload(loaded)
        wait_s = self.timings.unload_s + self.timings.memory_back_s
        if wait_s > 0:
            await self.clock.sleep(wait_s)
        self.settle()

    def _free_id(self, key: str) -> str:
        number = 1
        while (found := key if number == 1 else f"{key}:{number}") in self._instances:
            number += 1
        return found

    def _take(self, loaded: Loaded) -> None:
        if self.gpu is None:
            return
        wanted = loaded.model.memory(loaded.context_length)
        if self.guardrails and wanted > self.gpu.free_bytes:
            raise LoadError(
                "Model loading was stopped due to insufficient system resources. Under the current settings, this"
                f" model requires approximately {wanted / GB:.2f} GB of memory."
            )
        self.gpu.allocate(self.holder, loaded.id, wanted)

    def _age(self, one: Loaded, now: float) -> None:
        idle = one.ready_at is not None and one.in_flight == 0 and one.leaves_at is None
        if idle and one.ttl_s is not None and one.used_at + one.ttl_s <= now and not self.faults.never_unloads:
            one.leaves_at = one.used_at + one.ttl_s
        if one.leaves_at is not None and one.leaves_at <= now:
            del self._instances[one.id]
            one.gone.set()
            if not self.faults.keeps_memory:
                self._memory_due.append((one.leaves_at + self.timings.memory_back_s, one.id))

    def _give_back(self, instance_id: str) -> None:
        if self.gpu and instance_id not in self._instances:
            self.gpu.release(self.holder, instance_id)
