"""Results as an agent gets them: rounded, escaped, cut to a budget, paged."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel

from llmbench_mcp.credentials.known import known
from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.text import one_line, visible

_CHARS_PER_TOKEN = 3.5
ROWS_BUDGET = int(7_000 * _CHARS_PER_TOKEN)
"""Characters that the rows of one result may take: about 7k tokens, 1k left for the rest."""
NAME_LIMIT = 160
MESSAGE_LIMIT = 300


def reply(result: BaseModel, nulls: bool = False) -> CallToolResult:
    """The same facts as structured content and as compact JSON text; unknown values are left out unless ``nulls``."""
    # What servers say is clean when it is stored; this is for keys that got into a name or a note some other way.
    data = _clean(result.model_dump(mode="json"), nulls, known().redact_known)
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=data)


def _clean(value: Any, nulls: bool, redact: Callable[[str], str]) -> Any:
    if isinstance(value, float):
        return four_digits(value)
    if isinstance(value, str):
        return visible(redact(value))
    if isinstance(value, dict):
        kept = ((key, item) for key, item in value.items() if nulls or item is not None)
        return {visible(redact(key)): _clean(item, nulls, redact) for key, item in kept}
    return [_clean(item, nulls, redact) for item in value] if isinstance(value, list) else value


def four_digits(value: float) -> float:
    """Rounded to 4 significant digits."""
    return float(f"{value:.4g}")


def ms(seconds: float | None) -> float | None:
    """Seconds as milliseconds."""
    return None if seconds is None else seconds * 1000


def gib(size: int | None) -> float | None:
    """Bytes as GiB."""
    return None if size is None else size / 2**30


def shown(text: str, limit: int = NAME_LIMIT) -> str:
    """Outside text on one line, harmless; when longer than ``limit`` cut there, with its full length told."""
    flat = one_line(text, 10 * limit)
    if len(text) <= limit and len(flat) <= limit:
        return flat
    return f"{flat[:limit]}… [cut, {len(text)} characters]"


def shown_or_none(text: str | None, limit: int = NAME_LIMIT) -> str | None:
    """``shown``, or None for None and the empty text."""
    return shown(text, limit) if text else None


def names(values: Sequence[str], count: int = 20) -> list[str]:
    """At most ``count`` outside names, shown."""
    return [shown(value) for value in values[:count]]


def encode_cursor(offset: int, query: object) -> str:
    """An opaque position in the list that ``query`` describes."""
    return base64.urlsafe_b64encode(f"{offset}.{_mark(query)}".encode()).decode().rstrip("=")


def decode_cursor(cursor: str, query: object) -> int:
    """The position; 0 for the empty cursor. Raises InputError for one of another list."""
    if not cursor:
        return 0
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        offset, mark = base64.urlsafe_b64decode(padded.encode("ascii")).decode("ascii").split(".")
        if mark == _mark(query) and 0 <= int(offset) < 2**53:
            return int(offset)
    except (ValueError, binascii.Error):
        pass
    raise InputError(
        "The cursor does not belong to this list.", "Repeat the call with the same filters, or leave cursor empty."
    )


def _mark(query: object) -> str:
    return f"{zlib.crc32(repr(query).encode('utf-8', 'replace')):08x}"


class Cut:
    """The rows of a page that fit the budget, and what the result says of the others.

    Args:
        rows: the page's rows in order.
        total: how many rows match in all.
        offset: how many came before this page.
        query: what identifies the list, for the cursor.
    """

    def __init__(self, rows: Sequence[BaseModel], total: int, offset: int, query: object) -> None:
        kept = _fitting(rows)
        end = offset + kept
        self.kept = kept
        self.facts: dict[str, Any] = {
            "total": total,
            "next_cursor": encode_cursor(end, query) if end < total else None,
            "truncated": True if kept < len(rows) else None,
        }


def _fitting(rows: Sequence[BaseModel]) -> int:
    used = 0
    for count, row in enumerate(rows):
        used += len(row.model_dump_json(exclude_none=True))
        if used > ROWS_BUDGET and count:
            return count
    return len(rows)
