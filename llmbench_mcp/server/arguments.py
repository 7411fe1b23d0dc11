"""Arguments that several tools share."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BeforeValidator, Field

from llmbench_mcp.credentials.known import known

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


def check_keys(tool: str, arguments: dict[str, Any]) -> None:
    """Refuse what would store a known key or token: in a name, an address, a prompt. Raises ToolError without it."""
    redactor = known()
    for name, value in arguments.items():
        text = json.dumps(value, ensure_ascii=False)
        if redactor.redact_known(text) != text:
            raise ToolError(
                f"{tool}: {name} holds a key or token. Never write one into a call, be it into a name, an address, "
                "its query or a prompt: credential_request has the person enter a server's key."
            )
