"""Every device of this machine in one reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio

from llmbench_mcp.domain.hardware import Device
from llmbench_mcp.gpu.bounded import BoundedCall
from llmbench_mcp.gpu.host import HostReader, apple_device, process_name
from llmbench_mcp.gpu.nvidia import SEE_WHY, NvidiaReading, load_pynvml, read_nvidia

LIMIT_S = 2.0


class MachineDevices:
    """The device reader. ``nvml`` is the NVML module to use, by default pynvml, imported at the first reading."""

    def __init__(self, nvml: Any = None, limit_s: float = LIMIT_S) -> None:
        self._nvml = nvml
        self._limit_s = limit_s
        self._host = HostReader()
        self._nvidia = BoundedCall(self._read_nvidia, limit_s)

    async def read(self) -> Sequence[Device]:
        """NVIDIA cards, Apple's GPU, then ``cpu``, whose ``unknown`` says why there are no cards."""
        nvidia = await self._bounded_nvidia()
        notes = (nvidia.note,) if nvidia.note else ()
        apple = apple_device()
        cpu = await anyio.to_thread.run_sync(self._host.read, notes)
        return [*nvidia.devices, *([apple] if apple else []), cpu]

    async def _bounded_nvidia(self) -> NvidiaReading:
        try:
            return await self._nvidia()
        except TimeoutError:
            return NvidiaReading(note=f"nvidia: the driver did not answer within {self._limit_s:g} s; {SEE_WHY}")

    def _read_nvidia(self) -> NvidiaReading:
        if self._nvml is None:
            self._nvml = load_pynvml()
        return read_nvidia(self._nvml, process_name)
