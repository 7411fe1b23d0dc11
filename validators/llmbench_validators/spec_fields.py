"""Values of a VALIDATION block, checked as they are read; every error names the key and says what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llmbench_validators import show
from llmbench_validators.types import ValidationSpecError

_MISSING = object()


def refuse_unknown(spec: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    """Raise ValidationSpecError when ``spec`` has a key that is not in ``keys``."""
    unknown = [key for key in spec if key not in keys]
    if unknown:
        allowed = ", ".join(keys) if keys else "none"
        raise ValidationSpecError(f"{where}: unknown key {show.value(unknown[0])}; valid are {allowed}")


def text(spec: Mapping[str, Any], key: str, where: str) -> str:
    """Text that is not blank."""
    value = _present(spec, key, where)
    if not isinstance(value, str) or not value.strip():
        raise ValidationSpecError(f"{where}: {key} must be text that is not empty, not {show.value(value)}")
    return value


def texts(spec: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """A list of at least one text, none of them blank."""
    value = _present(spec, key, where)
    if not isinstance(value, list | tuple) or not value:
        raise ValidationSpecError(f"{where}: {key} must be a list with at least one text, not {show.value(value)}")
    for item in value:
        if not isinstance(item, str) or not item.strip():
            raise ValidationSpecError(f"{where}: {key} holds {show.value(item)}; every entry must be text")
    return tuple(value)


def mappings(spec: Mapping[str, Any], key: str, where: str) -> tuple[Mapping[str, Any], ...]:
    """A list of at least one mapping."""
    value = _present(spec, key, where)
    if not isinstance(value, list | tuple) or not value or not all(isinstance(item, Mapping) for item in value):
        raise ValidationSpecError(f"{where}: {key} must be a list with at least one mapping, not {show.value(value)}")
    return tuple(value)


def whole(spec: Mapping[str, Any], key: str, where: str, least: int = 1) -> int:
    """A whole number of at least ``least``; 3.0 counts as 3, as data sets stored in columns write it."""
    value = _present(spec, key, where)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        message = f"{where}: {key} must be a whole number of at least {least}, not {show.value(value)}"
        raise ValidationSpecError(message)
    return value


def positive(spec: Mapping[str, Any], key: str, where: str, default: float) -> float:
    """A finite number above 0."""
    value = spec.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValidationSpecError(f"{where}: {key} must be a number above 0, not {show.value(value)}")
    return float(value)


def flag(spec: Mapping[str, Any], key: str, where: str, *, default: bool) -> bool:
    """``true`` or ``false``."""
    value = spec.get(key, default)
    if not isinstance(value, bool):
        raise ValidationSpecError(f"{where}: {key} must be true or false, not {show.value(value)}")
    return value


def choice(spec: Mapping[str, Any], key: str, where: str, allowed: Iterable[str], default: str | None = None) -> str:
    """One of ``allowed``."""
    value = spec.get(key, default) if default is not None else _present(spec, key, where)
    options = list(allowed)
    if not isinstance(value, str) or value not in options:
        raise ValidationSpecError(f"{where}: {key} is {show.value(value)}; valid are {', '.join(options)}")
    return value


def _present(spec: Mapping[str, Any], key: str, where: str) -> Any:
    value = spec.get(key, _MISSING)
    if value is _MISSING:
        raise ValidationSpecError(f"{where}: {key} is missing")
    return value
