"""Generators of values that no expression can make: our own, then the ``llmbench.generators`` entry points.

A generator is a function of ``(dice, **options)`` that returns plain data; all its chance comes from ``dice``
(:class:`~llmbench_mcp.domain.dice.Dice`), so that a seed gives the same everywhere.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "llmbench.generators"
# Found without a search for plug-ins, which costs more than reading a task.
_OWN = {
    "haystack": "llmbench_datasets.generators.haystack:haystack",
    "filler": "llmbench_datasets.generators.haystack:filler",
}

Generator = Callable[..., Any]


def find(name: str) -> Generator | None:
    """The generator of that name; None when there is none."""
    if name in _OWN:
        module, _, function = _OWN[name].partition(":")
        return cast("Generator", getattr(importlib.import_module(module), function))
    entry = _plug_ins().get(name)
    return cast("Generator", entry.load()) if entry is not None else None


def names() -> list[str]:
    """The names of all generators, sorted."""
    return sorted({*_OWN, *_plug_ins()})


@functools.cache
def _plug_ins() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP)}
