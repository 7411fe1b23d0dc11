"""Fixture tools that ask for more input by their result, as protocol 2026-07-28 does."""

from __future__ import annotations

import json
from typing import Any

from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
)

Call = Context[Any, Any]
Asked = ElicitRequest | CreateMessageRequest | ListRootsRequest
Answer = str | InputRequiredResult


def form(message: str, field: str, kind: str = "string") -> ElicitRequest:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sampled(text: str, max_tokens: int = 100) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(type="text", text=text))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=max_tokens))


def ask(state: str | None = None, /, **asked: Asked) -> InputRequiredResult:
    return InputRequiredResult(input_requests=asked or None, request_state=state)


def answers(ctx: Call, *names: str) -> dict[str, Any] | None:
    """The answers by name as plain data; None while one is missing or no answer."""
    given = ctx.input_responses or {}
    if any(name not in given for name in names):
        return None
    plain = {name: given[name].model_dump(mode="json", by_alias=True, exclude_none=True) for name in names}
    return plain if all(_complete(one) for one in plain.values()) else None


def _complete(answer: dict[str, Any]) -> bool:
    return answer.get("action") != "accept" or isinstance(answer.get("content"), dict)


async def test_input_required_result_elicitation(ctx: Call) -> Answer:
    """Asks for a name."""
    given = answers(ctx, "user_name")
    name = given["user_name"].get("content", {}).get("name") if given else None
    if not isinstance(name, str):
        return ask(user_name=form("What is your name?", "name"))
    return f"Hello, {name}!"


async def test_input_required_result_sampling(ctx: Call) -> Answer:
    """Asks the client's model."""
    given = answers(ctx, "capital_question")
    if given is None:
        return ask(capital_question=sampled("What is the capital of France?"))
    return json.dumps(given["capital_question"])


async def test_input_required_result_list_roots(ctx: Call) -> Answer:
    """Asks for the client's roots."""
    given = answers(ctx, "client_roots")
    return ask(client_roots=ListRootsRequest()) if given is None else json.dumps(given["client_roots"])


async def test_input_required_result_request_state(ctx: Call) -> Answer:
    """Asks, and wants its state back."""
    if answers(ctx, "confirm") is None or ctx.request_state != "expected":
        return ask("expected", confirm=form("Please confirm", "ok", "boolean"))
    return "state-ok"


async def test_input_required_result_tampered_state(ctx: Call) -> Answer:
    """Asks, with a state that nobody else can make."""
    if answers(ctx, "confirm") is None:
        return ask("sealed", confirm=form("Please confirm", "ok", "boolean"))
    return "state-ok"


async def test_input_required_result_multiple_inputs(ctx: Call) -> Answer:
    """Asks for three things at once."""
    given = answers(ctx, "user_name", "greeting", "client_roots")
    if given is None:
        return ask(
            "three",
            user_name=form("What is your name?", "name"),
            greeting=sampled("Generate a greeting", 50),
            client_roots=ListRootsRequest(),
        )
    return json.dumps(given)


async def test_input_required_result_multi_round(ctx: Call) -> Answer:
    """Asks twice."""
    if ctx.request_state is None or (ctx.request_state == "1" and answers(ctx, "step1") is None):
        return ask("1", step1=form("Step 1: What is your name?", "name"))
    given = answers(ctx, "step2")
    if given is None:
        return ask("2", step2=form("Step 2: What is your favorite color?", "color"))
    return json.dumps(given)


async def test_input_required_result_capabilities(ctx: Call) -> Answer:
    """Asks only for what the client can do."""
    can = ctx.client_capabilities
    asked: dict[str, Asked] = {}
    if can is not None and can.sampling is not None:
        asked["model"] = sampled("Say something")
    if can is not None and can.elicitation is not None:
        asked["person"] = form("Say something", "text")
    return ask(None, **asked) if asked and not ctx.input_responses else "done"


async def test_missing_capability(ctx: Call) -> str:
    """Cannot work without sampling."""
    if ctx.client_capabilities is None or ctx.client_capabilities.sampling is None:
        needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs the capability sampling.", needed)
    return "done"


async def test_streaming_elicitation(ctx: Call) -> Answer:
    """Reports progress, then asks."""
    await ctx.report_progress(1, 2)
    return ask(user_name=form("What is your name?", "name")) if answers(ctx, "user_name") is None else "done"


async def test_input_required_result_prompt(ctx: Call) -> Any:
    """Asks before it tells its text."""
    given = answers(ctx, "user_context")
    if given is None:
        return ask(user_context=form("What context should the prompt use?", "context"))
    return f"Use this context: {given['user_context']['content']['context']}"


TOOLS = (
    test_input_required_result_elicitation,
    test_input_required_result_sampling,
    test_input_required_result_list_roots,
    test_input_required_result_request_state,
    test_input_required_result_tampered_state,
    test_input_required_result_multiple_inputs,
    test_input_required_result_multi_round,
    test_input_required_result_capabilities,
    test_missing_capability,
    test_streaming_elicitation,
)
