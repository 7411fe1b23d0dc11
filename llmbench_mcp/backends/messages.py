"""A request as the messages of a chat, in the words of each protocol.

Calls that stood in the text go back as that text and their results as a user's words: a server that did not take
them for calls has no place for a tool's answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from llmbench_mcp.domain.chat import ChatRequest, ToolCall, Turn

Message = dict[str, Any]


def openai_messages(request: ChatRequest) -> list[Message]:
    """As OpenAI's chat API has them: calls with an id, each result a message of role ``tool`` that names it."""
    messages = _opening(request)
    for number, turn in enumerate(request.turns):
        if _is_native(turn):
            messages += _openai_turn(turn, number)
        else:
            messages += _text_turn(turn)
    return messages


def ollama_messages(request: ChatRequest) -> list[Message]:
    """As Ollama's ``/api/chat`` has them: arguments are objects, a result names its tool, thoughts are sent back."""
    messages = _opening(request)
    for turn in request.turns:
        messages += _ollama_turn(turn) if _is_native(turn) else _text_turn(turn)
    return messages


def _opening(request: ChatRequest) -> list[Message]:
    system = [{"role": "system", "content": request.system}] if request.system is not None else []
    return [*system, {"role": "user", "content": request.prompt}]


def _is_native(turn: Turn) -> bool:
    return all(result.native for result in turn.results) and bool(turn.answer.tool_calls)


def _openai_turn(turn: Turn, number: int) -> Iterator[Message]:
    # Nine letters and digits, as Mistral's templates want them.
    ids = [f"call{number % 100:02d}{place % 1000:03d}" for place in range(len(turn.answer.tool_calls))]
    calls = [
        {"id": name, "type": "function", "function": {"name": call.name, "arguments": _written(call)}}
        for name, call in zip(ids, turn.answer.tool_calls, strict=True)
    ]
    yield {"role": "assistant", "content": turn.answer.text, "tool_calls": calls}
    for name, result in zip(ids, turn.results, strict=True):
        yield {"role": "tool", "tool_call_id": name, "content": result.content}


def _written(call: ToolCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)


def _ollama_turn(turn: Turn) -> Iterator[Message]:
    calls = [{"function": {"name": call.name, "arguments": _object(call)}} for call in turn.answer.tool_calls]
    said: Message = {"role": "assistant", "content": turn.answer.text, "tool_calls": calls}
    yield said | ({"thinking": turn.answer.reasoning} if turn.answer.reasoning else {})
    for result in turn.results:
        yield {"role": "tool", "tool_name": result.name, "content": result.content}


def _object(call: ToolCall) -> Any:
    """Ollama takes no text for arguments; text that is JSON of text of an object has been judged right before."""
    given = call.arguments
    while isinstance(given, str):
        given = json.loads(given)
    return given


def _text_turn(turn: Turn) -> Iterator[Message]:
    yield {"role": "assistant", "content": turn.answer.text}
    told = [f"Result of {result.name}:\n{result.content}" for result in turn.results]
    yield {"role": "user", "content": "\n\n".join(told)}
