"""AMD cards through ``rocm-smi``: ``{"card0": {...}, "system": {...}}``, or a list of cards; all figures are texts.

The unit is in the figure's name: ``VRAM Total Memory (B)``, ``Accumulated Energy (uJ)``. Names differ in case and
wording between versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from llmbench_mcp.domain.hardware import Device, Energy
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.gpu.program import Printed, ProgramError
from llmbench_mcp.gpu.reading import Figures, amount

ARGUMENTS = (
    "--showproductname",
    "--showuse",
    "--showmeminfo",
    "vram",
    "--showtemp",
    "--showpower",
    "--showenergycounter",
    "--json",
)
ENERGY = ("--showenergycounter", "--json")
_CARD = re.compile(r"(?:card|gpu\[?)(\d{1,3})\]?", re.IGNORECASE)
_MOST_CARDS = 128


def devices(printed: Printed) -> tuple[Device, ...]:
    """The cards in its output. Raises ProgramError when it holds none."""
    found = _cards(printed.json())
    if not found:
        raise ProgramError(f"it lists no card{printed.complaint}")
    return tuple(_device(index, card) for index, card in sorted(found.items()))


def energy(printed: Printed, index: int) -> Energy:
    """One card's counter. Raises ProgramError."""
    figures = Figures()
    joules = _counter(_cards(printed.json()).get(index, {}), figures)
    return Energy(joules) if joules is not None else Energy(reason=figures.unknown[0])


def _counter(card: Mapping[str, Any], figures: Figures) -> float | None:
    return figures.joules("energy", card.get("accumulated energy (uj)"), "uJ")


def _cards(data: Any) -> dict[int, Mapping[str, Any]]:
    if isinstance(data, list):
        listed = [_folded(card) for card in data if isinstance(card, Mapping)][:_MOST_CARDS]
        return {_index(card, place): card for place, card in enumerate(listed)}
    named = data.items() if isinstance(data, Mapping) else ()
    numbered = [(_CARD.fullmatch(str(key)), card) for key, card in named]
    return {int(match[1]): _folded(card) for match, card in numbered if match and isinstance(card, Mapping)}


def _index(card: Mapping[str, Any], place: int) -> int:
    for key in ("gpu", "card", "device"):
        match = _CARD.fullmatch(str(card.get(key)))
        number = float(match[1]) if match else amount(card.get(key))[0]
        if number is not None and number >= 0:
            return int(number)
    return place


def _folded(card: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key).casefold(): value for key, value in card.items()}


def _device(index: int, card: Mapping[str, Any]) -> Device:
    figures = Figures()
    heat = (card.get(f"temperature (sensor {place}) (c)") for place in ("edge", "junction", "memory"))
    power = (card.get(f"{kind} graphics package power (w)") for kind in ("current socket", "average"))
    device = Device(
        id=f"amd:{index}",
        name=_name(card),
        kind="amd",
        memory_total_bytes=figures.size("memory total", card.get("vram total memory (b)")),
        memory_used_bytes=figures.size("memory used", card.get("vram total used memory (b)")),
        utilisation_pct=figures.percent("utilisation", card.get("gpu use (%)")),
        temperature_c=figures.number("temperature", *heat),
        power_w=figures.number("power", *power),
        energy_j=_counter(card, figures),
    )
    figures.missing("processes", "rocm-smi does not tell them by card")
    return replace(device, unknown=figures.unknown)


def _name(card: Mapping[str, Any]) -> str:
    for key in ("card series", "card model", "device name"):
        name = card.get(key)
        if isinstance(name, str) and name.strip() and not name.startswith(("N/A", "0x")):
            return one_line(name, 120)
    return "AMD card"
