"""Which of two versions of this program is newer."""

from __future__ import annotations

import re

_VERSION = re.compile(r"(\d+(?:\.\d+)*)(?:[.-]?(dev|a|b|rc)\.?(\d*))?")
_PHASES = ("dev", "a", "b", "rc", None)


def is_newer(one: str, other: str) -> bool:
    """Whether ``one`` comes after ``other``, as in ``1.2 < 1.10rc1 < 1.10``; what is no version comes before all."""
    return _key(one) > _key(other)


def _key(version: str) -> tuple[list[int], int, int]:
    found = _VERSION.match(version)
    if found is None:
        return [], 0, 0
    release = [int(part) for part in found[1].split(".")]
    while release and not release[-1]:
        release.pop()
    return release, _PHASES.index(found[2]), int(found[3] or 0)
