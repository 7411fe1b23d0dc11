"""Figures for people: three significant digits and a unit. JSON gets the raw values instead."""

from __future__ import annotations

UNKNOWN = "-"


def number(value: float | None) -> str:
    """Three significant digits, never an exponent; ``-`` for unknown."""
    if value is None:
        return UNKNOWN
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    digits = 2 - _exponent(abs(value))
    return f"{value:.{max(0, digits)}f}"


def _exponent(value: float) -> int:
    return int(f"{value:e}".partition("e")[2])


def count(number: int, noun: str) -> str:
    """A count with its noun: 1 error, 2 errors."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"


def percent(rate: float | None) -> str:
    """A rate of 0..1 as per cent, to a tenth."""
    return UNKNOWN if rate is None else f"{rate * 100:.1f}".removesuffix(".0") + " %"


def interval(ends: tuple[float, float]) -> str:
    """An interval of rates as per cent."""
    return f"{ends[0] * 100:.0f}-{ends[1] * 100:.0f} %"


def duration(seconds: float | None) -> str:
    """Seconds below two minutes, then minutes and hours."""
    if seconds is None:
        return UNKNOWN
    if seconds < 120:
        return f"{number(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def roughly(seconds: float) -> str:
    """An estimate in no finer a measure than it is good for: about 45 s, about 2 min, about 1 h 20 min."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 60 else f"about {minutes // 60} h {minutes % 60} min"


def size(count: int | None) -> str:
    """Bytes in binary units, as memory is sold and as every other part of this program tells it."""
    return UNKNOWN if count is None else _scaled(count, ("B", "KiB", "MiB", "GiB", "TiB"), 1024)


def parameters(count: int | None) -> str:
    """A parameter count: 1.5 B, 135 M."""
    return UNKNOWN if count is None else _scaled(count, ("", "k", "M", "B", "T"))


def _scaled(count: float, units: tuple[str, ...], step_by: int = 1000) -> str:
    step = 0
    while count >= step_by and step < len(units) - 1:
        count, step = count / step_by, step + 1
    return f"{number(count)} {units[step]}".strip()


def rank(low: int | None, high: int | None) -> str:
    """A rank, or the range that the evidence leaves open."""
    if low is None:
        return UNKNOWN
    return str(low) if high in (None, low) else f"{low}-{high}"
