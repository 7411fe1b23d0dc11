"""The tool gpu_stats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mcp.types import CallToolResult
from pydantic import Field, WithJsonSchema

from llmbench_mcp.domain.hardware import DeviceProcess
from llmbench_mcp.server.present import gib, reply, shown, shown_or_none
from llmbench_mcp.server.results import Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, reads

if TYPE_CHECKING:
    from llmbench_mcp.services.devices import DeviceView

_PROCESSES = 10


Figure = Annotated[float | None, WithJsonSchema({"type": ["number", "null"]})]
Word = Annotated[str | None, WithJsonSchema({"type": ["string", "null"]})]


class ProcessRow(Result):
    """A process holding device memory."""

    pid: int
    untrusted_name: Word
    memory_gib: Figure
    endpoint: Word = Field(description="if its server")


class DeviceRow(Result):
    """One device, read now."""

    id: str
    name: str
    kind: str
    memory: str = Field(description="vram, unified or system")
    vram_used_gib: Figure
    vram_total_gib: Figure
    utilisation_pct: Figure
    temperature_c: Figure
    power_w: Figure
    energy_j: Figure = Field(description="a counter")
    processes: list[ProcessRow] = Field(description="first 10")
    endpoints: list[str]
    unknown: list[str] = Field(description="why null")


class GpuStats(Result):
    """All devices."""

    devices: list[DeviceRow]
    total: int


async def gpu_stats(ctx: Call) -> Annotated[CallToolResult, GpuStats]:
    """Read the devices now: memory, load, temperature, power, processes, endpoints. A figure that cannot be read is
    null, with the reason."""
    app = await app_of(ctx)
    views = await app.devices.read()
    return reply(GpuStats(devices=[_row(view) for view in views[:50]], total=len(views)), nulls=True)


def _row(view: DeviceView) -> DeviceRow:
    device = view.device
    return DeviceRow(
        id=device.id,
        name=shown(device.name),
        kind=device.kind,
        memory=device.memory,
        vram_used_gib=gib(device.memory_used_bytes),
        vram_total_gib=gib(device.memory_total_bytes),
        utilisation_pct=device.utilisation_pct,
        temperature_c=device.temperature_c,
        power_w=device.power_w,
        energy_j=device.energy_j,
        processes=[_process(one, view.owners.get(one.pid)) for one in device.processes[:_PROCESSES]],
        endpoints=list(view.endpoints),
        unknown=[shown(reason) for reason in device.unknown],
    )


def _process(one: DeviceProcess, endpoint: str | None) -> ProcessRow:
    name = shown_or_none(one.name, 80)
    return ProcessRow(pid=one.pid, untrusted_name=name, memory_gib=gib(one.memory_bytes), endpoint=endpoint)


TOOL = ToolSpec(gpu_stats, "GPUs and memory", reads(), toolset="manage")
