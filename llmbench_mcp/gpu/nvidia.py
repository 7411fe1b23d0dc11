"""NVIDIA cards through NVML (``nvidia-ml-py``): bytes, percent, degrees Celsius; milliwatts become watts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeVar

from llmbench_mcp.domain.hardware import Device, DeviceProcess, Energy
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.gpu.reading import Reading

T = TypeVar("T")
SEE_WHY = "run nvidia-smi to see why"


def read_nvidia(nvml: Any, process_name: Callable[[int], str | None]) -> Reading:
    """Read all cards; blocking. ``nvml`` is the module pynvml or one that looks like it."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return Reading(notes=(f"nvidia: {one_line(str(error), 120)}; {SEE_WHY}",))
    try:
        count = nvml.nvmlDeviceGetCount()
        cards = (_Card(nvml, index, process_name) for index in range(count))
        devices = tuple(device for card in cards for device in card.read())
        return Reading(devices, () if devices else ("nvidia: the driver finds no card",))
    except nvml.NVMLError as error:
        return Reading(notes=(f"nvidia: {one_line(str(error), 120)}; {SEE_WHY}",))
    finally:
        nvml.nvmlShutdown()


def read_energy(nvml: Any, index: int) -> Energy:
    """One card's counter since its driver was loaded; blocking. Cards before Volta have none."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return Energy(reason=f"energy: {one_line(str(error), 120)}")
    try:
        millijoules = nvml.nvmlDeviceGetTotalEnergyConsumption(nvml.nvmlDeviceGetHandleByIndex(index))
        return Energy(millijoules / 1000)
    except nvml.NVMLError as error:
        return Energy(reason=f"energy: {one_line(str(error), 120)}")
    finally:
        nvml.nvmlShutdown()


def load_pynvml() -> ModuleType:
    """The real module; importing it needs no driver."""
    import pynvml

    module: ModuleType = pynvml
    return module


class _Card:
    """One card's figures, each None with its reason when the card will not tell."""

    def __init__(self, nvml: Any, index: int, process_name: Callable[[int], str | None]) -> None:
        self._nvml = nvml
        self._id = f"nvidia:{index}"
        self._index = index
        self._process_name = process_name
        self._unknown: list[str] = []

    def read(self) -> list[Device]:
        """The card, then the parts it is divided into (MIG), called ``nvidia:<card>.<part>``."""
        handle = self._ask("card", lambda: self._nvml.nvmlDeviceGetHandleByIndex(self._index))
        if handle is None:
            return [Device(self._id, "NVIDIA card", "nvidia", unknown=tuple(self._unknown))]
        return [self._whole(handle), *self._parts(handle)]

    def _whole(self, handle: Any) -> Device:
        nvml = self._nvml
        name = self._ask("name", lambda: nvml.nvmlDeviceGetName(handle))
        memory = self._ask("memory", lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
        use = self._ask("utilisation", lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
        sensor = nvml.NVML_TEMPERATURE_GPU
        heat = self._ask("temperature", lambda: nvml.nvmlDeviceGetTemperature(handle, sensor))
        milliwatts = self._ask("power", lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        millijoules = self._ask("energy", lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(handle))
        return Device(
            id=self._id,
            name=_text(name) or "NVIDIA card",
            kind="nvidia",
            memory_total_bytes=None if memory is None else int(memory.total),
            memory_used_bytes=None if memory is None else int(memory.used),
            utilisation_pct=None if use is None else float(use.gpu),
            temperature_c=None if heat is None else float(heat),
            power_w=None if milliwatts is None else milliwatts / 1000,
            energy_j=None if millijoules is None else millijoules / 1000,
            processes=tuple(self._processes(handle)),
            unknown=tuple(self._unknown),
        )

    def _parts(self, handle: Any) -> Iterator[Device]:
        """Parts have memory of their own; the rest NVML tells for the card only."""
        nvml = self._nvml
        try:
            divided, _ = nvml.nvmlDeviceGetMigMode(handle)
            most = nvml.nvmlDeviceGetMaxMigDeviceCount(handle) if divided else 0
        except nvml.NVMLError:  # a card that cannot be divided, or a driver that does not know
            return
        for place in range(most):
            try:
                part = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, place)
            except nvml.NVMLError:  # fewer parts than there may be
                continue
            yield self._part(place, part)

    def _part(self, place: int, part: Any) -> Device:
        nvml = self._nvml
        self._unknown = ["utilisation, temperature, power, energy: told for the whole card only"]
        name = self._ask("name", lambda: nvml.nvmlDeviceGetName(part))
        memory = self._ask("memory", lambda: nvml.nvmlDeviceGetMemoryInfo(part))
        return Device(
            id=f"{self._id}.{place}",
            name=_text(name) or "NVIDIA MIG device",
            kind="nvidia",
            memory_total_bytes=None if memory is None else int(memory.total),
            memory_used_bytes=None if memory is None else int(memory.used),
            processes=tuple(self._processes(part)),
            unknown=tuple(self._unknown),
        )

    def _ask(self, what: str, question: Callable[[], T]) -> T | None:
        try:
            return question()
        except self._nvml.NVMLError as error:
            self._unknown.append(f"{what}: {one_line(str(error), 120)}")
            return None

    def _processes(self, handle: Any) -> Iterator[DeviceProcess]:
        """Compute and graphics processes; one that does both is one."""
        nvml = self._nvml
        compute = self._ask("compute processes", lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle))
        graphics = self._ask("graphics processes", lambda: nvml.nvmlDeviceGetGraphicsRunningProcesses(handle))
        found = {process.pid: process for process in [*(graphics or []), *(compute or [])]}
        for pid, process in sorted(found.items()):
            yield DeviceProcess(pid, self._process_name(pid), process.usedGpuMemory)


def _text(value: Any) -> str:
    raw = value.decode("utf-8", "replace") if isinstance(value, bytes) else value or ""
    return one_line(str(raw), 120)
