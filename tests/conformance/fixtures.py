"""What the official conformance suite expects to find on a server, put beside the product's own tools.

Scenario by scenario as the suite describes it (``conformance list``); the transport, the dispatch and everything else
that is scored is the product's.
"""

from __future__ import annotations

import base64
import json
from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    SetLevelRequestParams,
    TextContent,
    TextResourceContents,
)
from pydantic import Field

from llmbench_mcp.server.build import BenchServer
from tests.conformance import asking, old_clients

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
)
WAV = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0\x80>\0\0\x02\0\x10\0data\0\0\0\0"
SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def register(server: BenchServer) -> None:
    """Add every fixture to the server."""
    for tool in (*_TOOLS, *asking.TOOLS, *old_clients.TOOLS):
        server.add_tool(tool, structured_output=False)
    _give_schemas(server)
    _add_resources(server)
    _add_prompts(server)
    server.prompt()(asking.test_input_required_result_prompt)
    # Logging is optional and the product does without; the suite of 2025-11-25 wants it answered.
    server._lowlevel_server.add_request_handler("logging/setLevel", SetLevelRequestParams, _set_level)


async def test_simple_text() -> str:
    """Answers with text."""
    return "This is a simple text response for testing."


async def test_image_content() -> CallToolResult:
    """Answers with a picture."""
    return CallToolResult(content=[_image()])


async def test_audio_content() -> CallToolResult:
    """Answers with sound."""
    sound = AudioContent(type="audio", data=base64.b64encode(WAV).decode(), mime_type="audio/wav")
    return CallToolResult(content=[sound])


async def test_embedded_resource() -> CallToolResult:
    """Answers with a resource."""
    return CallToolResult(
        content=[_embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]
    )


async def test_multiple_content_types() -> CallToolResult:
    """Answers with several kinds of content."""
    data = json.dumps({"test": "data", "value": 123})
    text = TextContent(type="text", text="Multiple content types test:")
    return CallToolResult(
        content=[text, _image(), _embedded("test://mixed-content-resource", "application/json", data)]
    )


async def test_error_handling() -> str:
    """Fails on purpose."""
    raise ToolError("This tool intentionally returns an error for testing")


async def test_tool_with_progress(ctx: Context[Any, Any]) -> str:
    """Reports how far it is."""
    for done in (0, 50, 100):
        await ctx.report_progress(done, 100, f"Completed step {done} of 100")
        await anyio.sleep(0.05)
    return "done"


async def json_schema_2020_12_tool() -> str:
    """Tool with JSON Schema 2020-12 features"""
    return "ok"


async def test_mirrored_header(region: str) -> str:
    """Takes an argument that clients mirror into a header."""
    return region


async def test_trigger_tool_change(ctx: Context[Any, Any]) -> str:
    """Tells subscribers that the list of tools changed."""
    await ctx.notify_tools_changed()
    return "told"


async def test_trigger_prompt_change(ctx: Context[Any, Any]) -> str:
    """Tells subscribers that the list of prompts changed."""
    await ctx.notify_prompts_changed()
    return "told"


async def test_logging_tool() -> str:
    """Has nothing to log: the product never sends log messages."""
    return "no log"


_TOOLS = (
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
    test_tool_with_progress,
    json_schema_2020_12_tool,
    test_mirrored_header,
    test_trigger_tool_change,
    test_trigger_prompt_change,
    test_logging_tool,
)


def _image() -> ImageContent:
    return ImageContent(type="image", data=base64.b64encode(PNG).decode(), mime_type="image/png")


def _embedded(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return EmbeddedResource(type="resource", resource=contents)


def _give_schemas(server: BenchServer) -> None:
    """Schemas that no Python signature gives."""
    tools = server._tool_manager
    special = tools.get_tool("json_schema_2020_12_tool")
    mirrored = tools.get_tool("test_mirrored_header")
    assert special is not None
    assert mirrored is not None
    special.parameters = SCHEMA_2020_12
    mirrored.parameters["properties"]["region"]["x-mcp-header"] = "Region"


def _add_resources(server: BenchServer) -> None:
    @server.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        """A text."""
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        """A picture."""
        return PNG

    @server.resource("test://watched-resource", mime_type="text/plain")
    def watched() -> str:
        """A text that can be subscribed to."""
        return "Watched resource content."

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def templated(id: str) -> str:  # noqa: A002 - the suite names the variable
        """A text with a variable."""
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


FirstArgument = Annotated[str, Field(description="First test argument")]
SecondArgument = Annotated[str, Field(description="Second test argument")]


def _add_prompts(server: BenchServer) -> None:
    @server.prompt()
    def test_simple_prompt() -> str:
        """A prompt."""
        return "This is a simple prompt for testing."

    @server.prompt()
    def test_prompt_with_arguments(arg1: FirstArgument, arg2: SecondArgument) -> str:
        """A prompt with arguments."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803 - the suite's name
        """A prompt with a resource in it."""
        return _messages(
            _embedded(resourceUri, "text/plain", "Embedded resource content for testing."),
            "Please process the embedded resource above.",
        )

    @server.prompt()
    def test_prompt_with_image() -> list[UserMessage]:
        """A prompt with a picture in it."""
        return _messages(_image(), "Please analyze the image above.")


def _messages(first: ContentBlock, second: str) -> list[UserMessage]:
    return [UserMessage(first), UserMessage(second)]


async def _set_level(_: Any, __: SetLevelRequestParams) -> EmptyResult:
    return EmptyResult()
