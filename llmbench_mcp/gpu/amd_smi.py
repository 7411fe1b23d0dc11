"""AMD cards through ``amd-smi`` (ROCm 6 and 7): its JSON is a list of cards, or ``{"gpu_data": [...]}``.

A figure is ``{"value", "unit"}``, a bare number, or ``"N/A"``; memory is in MB, which are mebibytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from llmbench_mcp.domain.hardware import Device, DeviceProcess, Energy
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.gpu.program import Printed, ProgramError
from llmbench_mcp.gpu.reading import Figures, amount

METRIC = ("metric", "--usage", "--mem-usage", "--temperature", "--power", "--energy", "--json")
METRIC_ALL = ("metric", "--json")
"""For versions that name a flag otherwise; takes longer."""
PROCESS = ("process", "--json")
ASIC = ("static", "--asic", "--json")
_MOST_CARDS = 128
_MOST_PROCESSES = 256
_NO_PROCESSES = "No running processes"


def energy_arguments(index: int) -> tuple[str, ...]:
    """What asks for one card's energy counter only."""
    return ("metric", "--energy", "--gpu", str(index), "--json")


def devices(printed: Printed, names: Mapping[int, str], processes: Mapping[int, Any]) -> tuple[Device, ...]:
    """The cards in the output of ``metric``. Raises ProgramError when it holds none."""
    return tuple(_device(index, card, names, processes) for index, card in sorted(_cards(printed).items()))


def asic_names(printed: Printed) -> dict[int, str]:
    """Market names by card, from ``static``. Raises ProgramError."""
    found = {index: _inside(card, "asic").get("market_name") for index, card in _cards(printed).items()}
    return {index: one_line(name, 120) for index, name in found.items() if isinstance(name, str) and name != "N/A"}


def process_lists(printed: Printed) -> dict[int, Any]:
    """By card, what ``process`` lists. Raises ProgramError."""
    return {index: card.get("process_list") for index, card in _cards(printed).items()}


def energy(printed: Printed, index: int) -> Energy:
    """One card's counter. Raises ProgramError."""
    card = _cards(printed).get(index)
    if card is None:
        return Energy(reason=f"energy: amd-smi lists no card {index}")
    figures = Figures()
    joules = figures.joules("energy", _counter(card))
    return Energy(joules) if joules is not None else Energy(reason=figures.unknown[0])


def _cards(printed: Printed) -> dict[int, Mapping[str, Any]]:
    data = printed.json()
    if isinstance(data, Mapping):
        data = data.get("gpu_data", [data])
    listed = [card for card in data if isinstance(card, Mapping)] if isinstance(data, list) else []
    found: dict[int, Mapping[str, Any]] = {}
    for card in listed[:_MOST_CARDS]:
        number, _ = amount(card.get("gpu"))
        if number is not None and number >= 0:
            found.setdefault(int(number), card)
    if not found:
        raise ProgramError(f"it lists no card{printed.complaint}")
    return found


def _device(index: int, card: Mapping[str, Any], names: Mapping[int, str], processes: Mapping[int, Any]) -> Device:
    figures = Figures()
    memory = _inside(card, "mem_usage") or _inside(card, "fb_memory_usage")
    heat, power, usage = (_inside(card, name) for name in ("temperature", "power", "usage"))
    sockets = (power.get(f"{kind}socket_power") for kind in ("", "current_", "average_"))
    held = tuple(_processes(processes.get(index), figures))
    return Device(
        id=f"amd:{index}",
        name=names.get(index, "AMD card"),
        kind="amd",
        memory_total_bytes=figures.size("memory total", memory.get("total_vram"), "MB"),
        memory_used_bytes=figures.size("memory used", memory.get("used_vram"), "MB"),
        utilisation_pct=figures.percent("utilisation", usage.get("gfx_activity")),
        temperature_c=figures.number("temperature", heat.get("edge"), heat.get("hotspot"), heat.get("mem")),
        power_w=figures.number("power", *sockets),
        energy_j=figures.joules("energy", _counter(card)),
        processes=held,
        unknown=figures.unknown,
    )


def _counter(card: Mapping[str, Any]) -> Any:
    return _inside(card, "energy").get("total_energy_consumption")


def _inside(card: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = card.get(name)
    return value if isinstance(value, Mapping) else {}


def _processes(listed: Any, figures: Figures) -> Iterator[DeviceProcess]:
    if not isinstance(listed, list):
        figures.missing("processes", "not told")
        return
    for entry in listed[:_MOST_PROCESSES]:
        info = entry.get("process_info", entry) if isinstance(entry, Mapping) else entry
        if isinstance(info, Mapping):
            pid, _ = amount(info.get("pid"))
            if pid is not None:
                yield DeviceProcess(int(pid), _name(info), _held(info))
        elif not str(info).startswith(_NO_PROCESSES):
            figures.missing("processes", f"the tool says '{one_line(str(info), 60)}'")


def _name(info: Mapping[str, Any]) -> str | None:
    name = info.get("name")
    return one_line(name, 80) if isinstance(name, str) and name != "N/A" else None


def _held(info: Mapping[str, Any]) -> int | None:
    """Memory of the card, not what the process has mapped of the system's."""
    return Figures().size("memory", _inside(info, "memory_usage").get("vram_mem"))
