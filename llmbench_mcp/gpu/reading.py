"""What one reader found: devices, and why there are none or not all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llmbench_mcp.domain.hardware import Device
from llmbench_mcp.domain.text import one_line

_BYTES = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
"""AMD's tools write MB for mebibytes: a card of 192 GiB has ``196592 MB``."""
_MOST = 2**62
_JOULES = {"J": 1.0, "MJ": 1e-3, "UJ": 1e-6, "KJ": 1e3}


@dataclass(frozen=True, slots=True)
class Reading:
    """All devices a reader knows, and why there are none or fewer than there might be."""

    devices: tuple[Device, ...] = ()
    notes: tuple[str, ...] = ()


class Figures:
    """Collects a device's figures: what is no number becomes None, with a reason in ``unknown``."""

    def __init__(self) -> None:
        self._unknown: list[str] = []

    @property
    def unknown(self) -> tuple[str, ...]:
        """The reasons, in order."""
        return tuple(self._unknown)

    def missing(self, what: str, reason: str) -> None:
        """Note why there is no ``what``."""
        self._unknown.append(f"{what}: {one_line(reason, 120)}")

    def number(self, what: str, *said: Any) -> float | None:
        """The first of ``said`` that is a number: as a number, a text or ``{"value", "unit"}``."""
        return self._first(what, said, lambda value, unit: value)

    def percent(self, what: str, *said: Any) -> float | None:
        """As ``number``, of 0 to 100."""
        return self._first(what, said, lambda value, unit: value if 0 <= value <= 100 else None)

    def size(self, what: str, said: Any, default_unit: str = "B") -> int | None:
        """An amount of memory, in bytes."""
        found = self._first(what, (said,), lambda value, unit: _scaled(value, unit or default_unit, _BYTES))
        return None if found is None else int(found)

    def joules(self, what: str, said: Any, default_unit: str = "J") -> float | None:
        """An energy, in joules; a counter of exactly 0 is one that does not count."""
        return self._first(what, (said,), lambda value, unit: _scaled(value, unit or default_unit, _JOULES) or None)

    def _first(self, what: str, said: tuple[Any, ...], accept: Any) -> float | None:
        for one in said:
            value, unit = amount(one)
            accepted = None if value is None else accept(value, unit)
            if accepted is not None:
                return float(accepted)
        texts = [words for one in said if (words := _words(one))]
        self.missing(what, f"the tool says '{texts[0]}'" if texts else "not told")
        return None


def amount(said: Any) -> tuple[float | None, str]:
    """A number and its unit; None for ``N/A``, ``[N/A]``, words, and what is not finite."""
    if isinstance(said, Mapping):
        value, _ = amount(said.get("value"))
        return value, str(said.get("unit") or "").strip()
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        return None, ""
    text, _, unit = str(said).strip().partition(" ")
    try:
        value = float(text)
    except ValueError:
        return None, ""
    return (value, unit.strip()) if math.isfinite(value) else (None, "")


def _scaled(value: float, unit: str, scale: Mapping[str, float]) -> float | None:
    factor = scale.get(unit.upper())
    return None if factor is None or not 0 <= value * factor < _MOST else value * factor


def _words(said: Any) -> str:
    if isinstance(said, Mapping):
        said = " ".join(str(said[key]) for key in ("value", "unit") if said.get(key) is not None)
    return "" if said is None else one_line(str(said)[:200], 60)
