"""Apple silicon: the GPU shares the machine's memory; ``sysctl`` and ``vm_stat`` tell about it.

``vm_stat`` counts pages of the size its first line names. In use is what is active, wired or compressed: the
rest is free or would be given back. Utilisation and power need ``powermetrics``, which needs the superuser.
"""

from __future__ import annotations

import platform
import re

import psutil

from llmbench_mcp.domain.hardware import Device
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.gpu.program import Printed, ProgramError, Tool
from llmbench_mcp.gpu.reading import Reading

_ASKED = ("-n", "machdep.cpu.brand_string", "hw.memsize")
_PAGE = re.compile(r"page size of (\d{3,6}) bytes")
_LINE = re.compile(r"^(Pages active|Pages wired down|Pages occupied by compressor): +(\d{1,15})\.?$", re.MULTILINE)
_UNTOLD = (
    "utilisation: the system tells it to the superuser only",
    "temperature: the system tells it to the superuser only",
    "power: the system tells it to the superuser only",
    "energy: the system has no counter for it",
    "processes: not told by the system",
)


class AppleReader:
    """Reads the one GPU of Apple silicon; elsewhere there is none."""

    def __init__(self, limit_s: float) -> None:
        self._sysctl = Tool("sysctl", limit_s)
        self._vm_stat = Tool("vm_stat", limit_s)

    async def read(self) -> Reading:
        """The device ``apple:0``, or nothing."""
        if platform.system() != "Darwin" or platform.machine() != "arm64":
            return Reading()
        unknown: list[str] = []
        name, total = await self._machine(unknown)
        used = await self._used(unknown)
        device = Device(
            id="apple:0",
            name=name,
            kind="apple",
            memory_total_bytes=total,
            memory_used_bytes=used,
            unknown=(*unknown, *_UNTOLD),
            memory="unified",
        )
        return Reading((device,))

    async def _machine(self, unknown: list[str]) -> tuple[str, int | None]:
        try:
            lines = (await self._sysctl(*_ASKED)).text.splitlines()
        except ProgramError as error:
            unknown.append(f"name: sysctl: {error}")
            lines = []
        name = one_line(lines[0], 120) if lines else ""
        size = lines[1].strip() if len(lines) > 1 else ""
        total = int(size) if size.isascii() and size.isdigit() else psutil.virtual_memory().total
        return name or "Apple GPU", total

    async def _used(self, unknown: list[str]) -> int | None:
        try:
            used = used_bytes(await self._vm_stat())
        except ProgramError as error:
            unknown.append(f"memory used: vm_stat: {error}")
            return None
        if used is None:
            unknown.append("memory used: vm_stat's output is not understood")
        return used


def used_bytes(printed: Printed) -> int | None:
    """What ``vm_stat`` says is in use; None when a figure is missing from it."""
    page, counts = _PAGE.search(printed.text), _LINE.findall(printed.text)
    if page is None or len(dict(counts)) < 3:
        return None
    return int(page[1]) * sum(int(count) for _, count in counts)
