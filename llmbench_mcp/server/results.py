"""What tools return: the bases every result shares."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class Result(BaseModel):
    """A tool's result; unknown values are left out."""

    # Building every validator at import would slow the start; the SDK builds the ones it needs.
    model_config = ConfigDict(frozen=True, defer_build=True)


Details = dict[str, Any]
"""Further facts by name, only with ``detail="detailed"``; unknown ones are left out."""


class Page(Result):
    """A page of a list; ``total`` counts all rows that match.

    These fields mean the same everywhere, so the server's instructions describe them once for all tools.
    """

    total: int
    next_cursor: str | None = None
    truncated: bool | None = None
    next: str | None = None
