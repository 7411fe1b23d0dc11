"""One check of ``doctor``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at, how it stands, what was found, what to do about it."""

    name: str
    state: State
    found: str
    todo: str = ""
