"""Fixture tools that ask the client in the middle of a call, as protocols up to 2025-11-25 allow."""

from __future__ import annotations

import json
import warnings
from typing import Any, Literal

import anyio
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.types import SamplingMessage, TextContent
from pydantic import BaseModel, Field

Call = Context[Any, Any]
_ENUM = ["option1", "option2", "option3"]


class Who(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class Defaults(BaseModel):
    name: str = Field("John Doe", description="User name")
    age: int = Field(30, description="User age")
    score: float = Field(95.5, description="User score")
    status: Literal["active", "inactive", "pending"] = Field("active", description="User status")
    verified: bool = Field(True, description="Verification status")


def _titled(*titles: str) -> list[dict[str, str]]:
    return [{"const": f"value{number}", "title": title} for number, title in enumerate(titles, 1)]


ENUMS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": _ENUM},
        "titledSingle": {"type": "string", "oneOf": _titled("First Option", "Second Option", "Third Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _ENUM}},
        "titledMulti": {
            "type": "array",
            "items": {"anyOf": _titled("First Choice", "Second Choice", "Third Choice")},
        },
    },
    "required": [],
}


async def test_tool_with_logging(ctx: Call) -> str:
    """Sends three log messages."""
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await ctx.info(text)
        await anyio.sleep(0.05)
    return "done"


async def test_sampling(prompt: str, ctx: Call) -> str:
    """Asks the client's model."""
    asked = [SamplingMessage(role="user", content=TextContent(type="text", text=prompt))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        answer = await ctx.session.create_message(asked, max_tokens=100, related_request_id=ctx.request_id)
    return f"LLM response: {answer.content.text if isinstance(answer.content, TextContent) else ''}"


async def test_elicitation(message: str, ctx: Call) -> str:
    """Asks the person."""
    answer = await ctx.elicit(message, Who)
    content = answer.data.model_dump() if answer.action == "accept" else None
    return f"User response: action={answer.action}, content={json.dumps(content)}"


async def test_elicitation_sep1034_defaults(ctx: Call) -> str:
    """Asks the person, with a default for every kind of value."""
    answer = await ctx.elicit("Please review and update the form fields with defaults", Defaults)
    content = answer.data.model_dump() if answer.action == "accept" else None
    return f"Elicitation completed: action={answer.action}, content={json.dumps(content)}"


async def test_elicitation_sep1330_enums(ctx: Call) -> str:
    """Asks the person to choose, in every form there is."""
    answer = await ctx.session.elicit_form("Please select options from the enum fields", ENUMS, ctx.request_id)
    return f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}"


async def test_reconnection(ctx: Call) -> str:
    """Closes the stream of its own call, where the server can go on with it."""
    await ctx.close_sse_stream()
    await anyio.sleep(0.1)
    return "Reconnection test completed"


TOOLS = (
    test_tool_with_logging,
    test_sampling,
    test_elicitation,
    test_elicitation_sep1034_defaults,
    test_elicitation_sep1330_enums,
    test_reconnection,
)
