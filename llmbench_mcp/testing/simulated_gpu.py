"""A GPU that exists only as numbers: several simulated servers share its memory, and a test sees who held what when.

::

    gpu = SimulatedGpu(24 * GB)
    held = gpu.allocate("ollama-a", "big:30b", 20 * GB)   # held.granted: what there was room for
    gpu.release("ollama-a", "big:30b")
    await SimulatedDevices([gpu]).read()                   # a DeviceReader
    gpu.together(10 * GB)                                  # moments at which two big models were held
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llmbench_mcp.domain.clock import SystemClock
from llmbench_mcp.domain.hardware import Device
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import Reply

GB = 1_000_000_000
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Allocation:
    """Memory held by one model of one server: what it wanted and what it got, in bytes."""

    holder: str
    model: str
    wanted: int
    granted: int


@dataclass(frozen=True, slots=True)
class Moment:
    """All that was held from ``at`` (the clock's monotonic seconds) until the next moment."""

    at: float
    held: tuple[Allocation, ...]


class SimulatedGpu:
    """One device. Figures in bytes.

    Args:
        total_bytes: its memory.
        device_id: as in ``Device.id``.
        reserved_bytes: held by the driver from the start.
        clock: stamps the history.

    ``unreadable`` makes readings say None, with a reason; ``hanging`` makes them never come.
    """

    def __init__(
        self,
        total_bytes: int = 24 * GB,
        *,
        device_id: str = "nvidia:0",
        reserved_bytes: int = 0,
        clock: Clock | None = None,
    ) -> None:
        self.id = device_id
        self.total_bytes = total_bytes
        self.reserved_bytes = reserved_bytes
        self.clock = clock or SystemClock()
        self.unreadable = False
        self.hanging = False
        self.history: list[Moment] = []
        self.before_reading: list[Callable[[], None]] = []
        self._held: dict[tuple[str, str], Allocation] = {}

    @property
    def held(self) -> tuple[Allocation, ...]:
        """Who holds what now."""
        self._catch_up()
        return tuple(self._held.values())

    @property
    def used_bytes(self) -> int:
        """Memory in use now, the driver's included."""
        return self.reserved_bytes + sum(allocation.granted for allocation in self.held)

    @property
    def free_bytes(self) -> int:
        """Memory free now."""
        return self.total_bytes - self.used_bytes

    def allocate(self, holder: str, model: str, wanted: int) -> Allocation:
        """Take ``wanted`` bytes, or as many as are free; the same holder's older claim for the model is given up."""
        self._held.pop((holder, model), None)
        granted = max(0, min(wanted, self.free_bytes))
        allocation = Allocation(holder, model, wanted, granted)
        self._held[holder, model] = allocation
        self._note()
        return allocation

    def release(self, holder: str, model: str) -> None:
        """Give memory back; nothing happens when none is held."""
        if self._held.pop((holder, model), None):
            self._note()

    def release_all(self, holder: str) -> None:
        """Give back all that a server holds, as the end of its process does."""
        for name, model in list(self._held):
            if name == holder:
                self.release(name, model)

    def together(self, least_bytes: int) -> list[Moment]:
        """The moments at which two or more models that each want at least so much were held at once."""
        return [moment for moment in self.history if sum(a.wanted >= least_bytes for a in moment.held) > 1]

    def most_used_bytes(self) -> int:
        """The highest use there ever was, the driver's included."""
        sums = (sum(a.granted for a in moment.held) for moment in self.history)
        return self.reserved_bytes + max(sums, default=0)

    def device(self) -> Device:
        """One reading."""
        used = None if self.unreadable else self.used_bytes
        return Device(
            id=self.id,
            name=f"Simulated GPU {self.total_bytes / GB:g} GB",
            kind="nvidia",
            memory_total_bytes=None if self.unreadable else self.total_bytes,
            memory_used_bytes=used,
            unknown=("memory: the driver says [N/A]",) if self.unreadable else (),
        )

    def _catch_up(self) -> None:
        """Let the servers do what has become due since they were last asked."""
        for settle in self.before_reading:
            settle()

    def _note(self) -> None:
        self.history.append(Moment(self.clock.monotonic(), tuple(self._held.values())))


class SimulatedDevices:
    """A DeviceReader over simulated GPUs, the CPU's memory last.

    A GPU that hangs costs ``limit_s`` seconds of the clock and is then reported as unknown; with ``math.inf``
    the reading never returns.
    """

    def __init__(self, gpus: Sequence[SimulatedGpu], *, limit_s: float = 2.0, cpu_bytes: int = 64 * GB) -> None:
        self._gpus = gpus
        self._limit_s = limit_s
        self._cpu = Device("cpu", "Simulated host", "cpu", cpu_bytes, cpu_bytes // 4)
        self.readings = 0

    async def read(self) -> Sequence[Device]:
        """All devices now."""
        self.readings += 1
        return [*[await self._one(gpu) for gpu in self._gpus], self._cpu]

    async def _one(self, gpu: SimulatedGpu) -> Device:
        if not gpu.hanging:
            return gpu.device()
        await _wait(gpu.clock, self._limit_s)
        reason = f"memory: no reading within {self._limit_s:g} s"
        return Device(gpu.id, "Simulated GPU", "nvidia", unknown=(reason,))


async def _wait(clock: Clock, seconds: float) -> None:
    while math.isinf(seconds):
        await clock.sleep(3600.0)
    await clock.sleep(seconds)


class GpuExporter(FakeServer):
    """Serves ``/metrics`` as NVIDIA's DCGM exporter does, so that another process can read the simulated GPUs.

    Format: Prometheus text; DCGM_FI_DEV_FB_USED, _FREE and _TOTAL in MiB, labels gpu, UUID, modelName.
    """

    def __init__(self, gpus: Sequence[SimulatedGpu]) -> None:
        super().__init__([])
        self._gpus = gpus
        self.routes = {"GET /metrics": self.metrics}

    def metrics(self, request: Received) -> Reply:
        """The whole page; an unreadable GPU has no memory lines."""
        text = "".join(_metrics(index, gpu) for index, gpu in enumerate(self._gpus))
        return Reply(body=text, content_type="text/plain; version=0.0.4; charset=utf-8")


def _metrics(index: int, gpu: SimulatedGpu) -> str:
    labels = f'{{gpu="{index}",UUID="GPU-simulated-{index}",device="nvidia{index}",modelName="Simulated GPU"}}'
    figures = {} if gpu.unreadable else {"USED": gpu.used_bytes, "FREE": gpu.free_bytes, "TOTAL": gpu.total_bytes}
    lines = [f"DCGM_FI_DEV_FB_{name}{labels} {value / _MIB:.6f}\n" for name, value in figures.items()]
    return "".join([*lines, f"DCGM_FI_DEV_GPU_TEMP{labels} 40\n"])
