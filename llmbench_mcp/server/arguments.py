"""Arguments that several tools share."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BeforeValidator, Field

_TEXT_LIMIT = 2_000
_JSON_LIMIT = 64_000
_LIST_LIMIT = 500

Limit = Annotated[int, Field(ge=1, le=50)]
Cursor = str
Detail = Literal["concise", "detailed"]


def _listed(value: Any) -> Any:
    """One bare name counts as a list of one: clients often send that."""
    return [value] if isinstance(value, str) and value else value


Names = Annotated[list[str], BeforeValidator(_listed)]
RunId = str


def check_sizes(tool: str, arguments: dict[str, Any]) -> None:
    """Refuse absurdly long arguments before anything works on them. Raises ToolError."""
    for name, value in arguments.items():
        if isinstance(value, list) and len(value) > _LIST_LIMIT:
            raise ToolError(f"{tool}: {name} has {len(value)} entries. Give at most {_LIST_LIMIT}.")
        for text in value if isinstance(value, list) else [value]:
            # A list may come as one JSON string.
            most = _JSON_LIMIT if isinstance(text, str) and text.startswith("[") else _TEXT_LIMIT
            if isinstance(text, str) and len(text) > most:
                raise ToolError(f"{tool}: {name} is {len(text)} characters long. Give at most {most}.")
