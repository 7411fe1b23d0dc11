"""AMD cards, through whichever of AMD's tools is on PATH and answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from llmbench_mcp.domain.hardware import Device, Energy
from llmbench_mcp.gpu import amd_smi, rocm_smi
from llmbench_mcp.gpu.program import Printed, ProgramError, Tool
from llmbench_mcp.gpu.reading import Reading

_Cards = tuple[Device, ...]


class AmdReader:
    """Reads all AMD cards, ``limit_s`` seconds at most for each tool.

    ``amd-smi`` is preferred. Until it has answered once, and again after it failed, ``rocm-smi`` is asked at
    the same time, so that a broken or hung one costs neither time nor figures.
    """

    def __init__(self, limit_s: float) -> None:
        self._amd_smi = Tool("amd-smi", limit_s)
        self._rocm_smi = Tool("rocm-smi", limit_s)
        self._amd_smi_answers = False
        self._names: dict[int, str] = {}
        self._metrics: tuple[str, ...] = amd_smi.METRIC
        self._limit_s = limit_s

    async def read(self) -> Reading:
        """The cards; no note where there are no AMD tools."""
        asked: dict[str, Callable[[], Awaitable[_Cards]]] = {}
        if self._amd_smi.is_there():
            asked["amd-smi"] = self._by_amd_smi
        if self._rocm_smi.is_there() and not (asked and self._amd_smi_answers):
            asked["rocm-smi"] = self._by_rocm_smi
        found: dict[str, _Cards] = {}
        failed: dict[str, str] = {}

        async def ask(name: str, reader: Callable[[], Awaitable[_Cards]]) -> None:
            try:
                with anyio.fail_after(self._limit_s):
                    found[name] = await reader()
            except ProgramError as error:
                failed[name] = str(error)
            except TimeoutError:
                failed[name] = f"it did not answer within {self._limit_s:g} s"

        async with anyio.create_task_group() as group:
            for name, reader in asked.items():
                group.start_soon(ask, name, reader)
        self._amd_smi_answers = "amd-smi" in found
        devices = found.get("amd-smi") or found.get("rocm-smi", ())
        return Reading(devices, tuple(f"amd: {name}: {reason}" for name, reason in sorted(failed.items())))

    async def energy(self, index: int) -> Energy:
        """One card's counter."""
        try:
            if self._amd_smi.is_there():
                return amd_smi.energy(await self._amd_smi(*amd_smi.energy_arguments(index)), index)
            if self._rocm_smi.is_there():
                return rocm_smi.energy(await self._rocm_smi(*rocm_smi.ENERGY), index)
        except ProgramError as error:
            return Energy(reason=f"energy: {error}")
        return Energy(reason="energy: no AMD tool is on PATH")

    async def _by_amd_smi(self) -> _Cards:
        """Metrics and processes at once, names until known; only the metrics must be had."""
        processes: dict[int, Any] = {}

        async def also() -> None:
            processes.update(await self._optional(amd_smi.process_lists, amd_smi.PROCESS))

        async def names() -> None:
            self._names = self._names or await self._optional(amd_smi.asic_names, amd_smi.ASIC)

        failure: ProgramError | None = None
        metric = Printed("", "")
        async with anyio.create_task_group() as group:
            group.start_soon(also)
            group.start_soon(names)
            try:
                metric = await self._metric()
            except ProgramError as error:
                failure = error
                group.cancel_scope.cancel()
        if failure is not None:
            raise failure
        return amd_smi.devices(metric, self._names, processes)

    async def _metric(self) -> Printed:
        """All figures; a version that does not know a flag is asked for everything, which takes longer."""
        printed = await self._amd_smi(*self._metrics)
        if printed.complaint and self._metrics != amd_smi.METRIC_ALL:
            printed = await self._amd_smi(*amd_smi.METRIC_ALL)
            self._metrics = amd_smi.METRIC if printed.complaint else amd_smi.METRIC_ALL
        return printed

    async def _optional(self, parse: Callable[[Printed], dict[int, Any]], arguments: tuple[str, ...]) -> dict[int, Any]:
        try:
            return parse(await self._amd_smi(*arguments))
        except ProgramError:
            return {}

    async def _by_rocm_smi(self) -> _Cards:
        return rocm_smi.devices(await self._rocm_smi(*rocm_smi.ARGUMENTS))
