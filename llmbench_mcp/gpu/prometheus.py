"""The text format of Prometheus exporters, as far as figures need it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_LABEL = re.compile(r'(?<!\w)([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"', re.ASCII)
_ESCAPE = re.compile(r"\\(.)")
_LONGEST = 10_000


@dataclass(frozen=True, slots=True)
class Sample:
    """One line: a metric's name, its labels and its value."""

    name: str
    labels: Mapping[str, str]
    value: float


def samples(text: str, prefixes: tuple[str, ...]) -> Iterator[Sample]:
    """The samples whose name starts with one of ``prefixes``; NaN, infinite and unreadable ones are left out."""
    for line in text.splitlines():
        line = line.strip()
        if not line.startswith(prefixes) or len(line) > _LONGEST:
            continue
        name, labels, rest = _parts(line)
        value = _number(rest[0]) if rest else None
        if value is not None:
            yield Sample(name, _labels(labels), value)


def _parts(line: str) -> tuple[str, str, list[str]]:
    """Name, labels, and what follows: the value and perhaps a time."""
    if "{" not in line:
        name, *rest = line.split()
        return name, "", rest
    name, _, behind = line.partition("{")
    labels, _, tail = behind.rpartition("}")
    return name.strip(), labels, tail.split()


def _labels(text: str) -> dict[str, str]:
    return {name: _ESCAPE.sub(_unescaped, value) for name, value in _LABEL.findall(text)}


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
