"""What comparing one candidate with the expected answers gave."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """``exact`` is False where closeness within a tolerance or a loose wording decided."""

    right: bool
    exact: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The expected answers, any of which is right, and how far a number may be off."""

    answers: tuple[str, ...]
    tolerance: float | None = None
