"""What tools return: the bases every result shares."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Result(BaseModel):
    """A tool's result; unknown values are left out."""

    # Building every validator at import would slow the start; the SDK builds the ones it needs.
    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid")


class Page(Result):
    """A page of a list."""

    total: int = Field(description="rows that match in all")
    next_cursor: str | None = Field(default=None, description="pass as cursor for the next page; absent on the last")
    truncated: bool | None = Field(
        default=None, description="true: cut to fit; go on with next_cursor or narrow the filters"
    )
    next: str | None = Field(default=None, description="the next call to make")
