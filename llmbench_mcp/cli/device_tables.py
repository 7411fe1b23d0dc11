"""Tables about devices for people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from llmbench_mcp.cli import figures
from llmbench_mcp.cli.grid import Column, Grid, Paragraph
from llmbench_mcp.cli.tables import slim, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from llmbench_mcp.domain.hardware import DeviceSample
    from llmbench_mcp.services.devices import DeviceView

_NO_CARD = re.compile(r"nvidia: (NVML Shared Library Not Found|the driver finds no card)")
_PROCESSES = 10


def devices(views: Sequence[DeviceView]) -> Iterator[RenderableType]:
    """Devices, and below them who uses them and what is unknown about them."""
    columns = (
        Column("Device"),
        Column("Name", wraps=True),
        Column("Memory", drop=2),
        Column("Used", right=True),
        Column("Total", right=True),
        Column("Load", right=True, drop=2),
        Column("Temp.", right=True, drop=1),
        Column("Power", right=True, drop=1),
        Column("Endpoints", wraps=True, drop=3),
    )
    rows = [_device_row(view) for view in views]
    untold = [c.name for i, c in enumerate(columns) if all(row[i] == figures.UNKNOWN for row in rows)]
    yield slim("", columns, rows, [*untold, "Memory"])
    for view in views:
        if view.device.processes:
            yield Paragraph(_processes(view), label=f"Processes on {view.device.id}: ")
        unknown = told_unknown(view)
        if unknown:
            yield Paragraph("; ".join(unknown), label=f"Unknown of {view.device.id}: ")


def told_unknown(view: DeviceView) -> list[str]:
    """What is worth telling people: that there is no NVIDIA driver or card is no news to who has none."""
    return [reason for reason in view.device.unknown if not _NO_CARD.match(reason)]


def samples(found: Sequence[DeviceSample]) -> Grid:
    """What devices showed, the newest first."""
    columns = (
        Column("At (UTC)"),
        Column("Device"),
        Column("Used", right=True),
        Column("Total", right=True, drop=1),
        Column("Load", right=True),
        Column("Temp.", right=True, drop=2),
        Column("Power", right=True),
    )
    return table(columns, [_sample_row(sample) for sample in found])


def _device_row(view: DeviceView) -> tuple[str, ...]:
    device = view.device
    return (
        device.id,
        device.name,
        device.memory,
        figures.size(device.memory_used_bytes),
        figures.size(device.memory_total_bytes),
        _with_unit(device.utilisation_pct, "%"),
        _with_unit(device.temperature_c, "°C"),
        _with_unit(device.power_w, "W"),
        ", ".join(view.endpoints),
    )


def _sample_row(sample: DeviceSample) -> tuple[str, ...]:
    return (
        sample.at[:19].replace("T", " "),
        sample.device,
        figures.size(sample.memory_used_bytes),
        figures.size(sample.memory_total_bytes),
        _with_unit(sample.utilisation_pct, "%"),
        _with_unit(sample.temperature_c, "°C"),
        _with_unit(sample.power_w, "W"),
    )


def _processes(view: DeviceView) -> str:
    told = []
    for one in view.device.processes[:_PROCESSES]:
        owner = view.owners.get(one.pid)
        told.append(
            f"{one.pid} {one.name or 'unknown'} {figures.size(one.memory_bytes)}" + (f" ({owner})" if owner else "")
        )
    left = len(view.device.processes) - len(told)
    return ", ".join(told) + (f" and {left} more" if left else "")


def _with_unit(value: float | None, unit: str) -> str:
    return figures.UNKNOWN if value is None else f"{figures.number(value)} {unit}"
