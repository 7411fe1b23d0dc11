"""Every device of this machine, and of those whose exporters are named, in one reading."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import anyio

from llmbench_mcp.domain.address import Address
from llmbench_mcp.domain.hardware import Device, Energy
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.gpu.amd import AmdReader
from llmbench_mcp.gpu.apple import AppleReader
from llmbench_mcp.gpu.bounded import BoundedCall
from llmbench_mcp.gpu.host import HostReader, process_name
from llmbench_mcp.gpu.nvidia import SEE_WHY, load_pynvml, read_energy, read_nvidia
from llmbench_mcp.gpu.owners import owners
from llmbench_mcp.gpu.reading import Reading

_Reader = Callable[[], Awaitable[Reading]]

LIMIT_S = 2.0
_OWNERS_LIMIT_S = 1.0


class MachineDevices:
    """The device reader, the energy counters, and the owners of processes.

    All kinds of devices are read at the same time, each for ``limit_s`` seconds at most; what fails or hangs is
    told as a reason and hides nothing else. ``nvml`` is the NVML module to use, by default pynvml, imported at
    the first reading. ``exporters`` are addresses of Prometheus exporters of other machines.
    """

    def __init__(self, nvml: Any = None, limit_s: float = LIMIT_S, exporters: Sequence[Address] = ()) -> None:
        self._nvml = nvml
        self._limit_s = limit_s
        self._exporters = exporters
        self._host = HostReader()
        self._nvidia = BoundedCall(self._read_nvidia, limit_s)
        self._amd = AmdReader(limit_s)
        self._apple = AppleReader(limit_s)
        self._counters: dict[int, BoundedCall[Energy]] = {}

    async def read(self) -> Sequence[Device]:
        """Cards of NVIDIA and AMD, Apple's GPU, ``cpu``, whose ``unknown`` says what failed, then other machines'."""
        found: dict[str, Reading] = {}

        async def ask(kind: str, reader: _Reader) -> None:
            found[kind] = await self._safely(kind, reader)

        readers: dict[str, _Reader] = {
            "nvidia": self._nvidia,
            "amd": self._amd.read,
            "apple": self._apple.read,
            "remote": self._remote,
        }
        async with anyio.create_task_group() as group:
            for kind, reader in readers.items():
                group.start_soon(ask, kind, reader)
        local = [found[kind] for kind in ("nvidia", "amd", "apple")]
        notes = tuple(note for kind in readers for note in found[kind].notes)
        cpu = await anyio.to_thread.run_sync(self._host.read, notes)
        return [*(device for reading in local for device in reading.devices), cpu, *found["remote"].devices]

    async def energy(self, device_id: str) -> Energy:
        """One local card's counter. Of other machines there is none fit for short windows: exporters read
        their cards every half minute or so."""
        kind, _, number = device_id.partition(":")
        if not (number.isascii() and number.isdigit()) or kind not in ("nvidia", "amd"):
            return Energy(reason=f"energy: {one_line(device_id, 60)} has no counter that can be read")
        if kind == "amd":
            return await self._amd.energy(int(number))
        index = int(number)
        call = self._counters.setdefault(index, BoundedCall(partial(self._read_energy, index), self._limit_s))
        try:
            return await call()
        except TimeoutError:
            return Energy(reason=f"energy: the driver did not answer within {self._limit_s:g} s")

    async def owners(self, pids: Collection[int], ports: Collection[int]) -> Mapping[int, int]:
        """By pid, the local port that it or what started it listens on."""
        if not pids or not ports:
            return {}
        try:
            return await BoundedCall(partial(owners, pids, ports), _OWNERS_LIMIT_S)()
        except TimeoutError:
            return {}

    async def _safely(self, kind: str, reader: _Reader) -> Reading:
        try:
            return await reader()
        except TimeoutError:
            return Reading(notes=(f"{kind}: the driver did not answer within {self._limit_s:g} s; {SEE_WHY}",))
        except Exception as error:  # noqa: BLE001  # a reader's top: whatever a driver does, it hides no other device
            said = one_line(f"{type(error).__name__}: {error}", 120)
            return Reading(notes=(f"{kind}: the reading failed: {said}",))

    async def _remote(self) -> Reading:
        if not self._exporters:
            return Reading()
        from llmbench_mcp.gpu.remote import RemoteReader

        return await RemoteReader(self._exporters, self._limit_s).read()

    def _read_nvidia(self) -> Reading:
        return read_nvidia(self._module(), process_name)

    def _read_energy(self, index: int) -> Energy:
        return read_energy(self._module(), index)

    def _module(self) -> Any:
        if self._nvml is None:
            self._nvml = load_pynvml()
        return self._nvml
