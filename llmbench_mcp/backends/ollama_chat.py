"""Asking an Ollama server: the body of ``/api/chat``, and reading its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio

from llmbench_mcp.backends.client import HttpClient
from llmbench_mcp.backends.measured import ByteStream
from llmbench_mcp.backends.messages import ollama_messages
from llmbench_mcp.backends.ollama_stream import LineSplitter, OllamaStream
from llmbench_mcp.backends.openai_wire import Patience, fault, out_of_time, redacted
from llmbench_mcp.domain.chat import ChatRequest, Completion, Sampling
from llmbench_mcp.domain.errors import EndpointError, ProtocolError

CHAT_PATH = "/api/chat"
_DRAIN_S = 0.5
_THINK = {"off": False, "on": True}
"""Other words (``low``, ``medium``, ``high``) are sent as they are."""


def chat_body(request: ChatRequest, context_length: int | None, keep_alive: int | None) -> dict[str, Any]:
    """The JSON body of a streaming chat.

    Args:
        request: sampling values of None are left to the server.
        context_length: must be the one in force: another makes the server load the model anew, and so does none.
        keep_alive: seconds the model stays loaded afterwards; None is the server's default, and resets it to that.

    A prompt that does not fit is to be refused: by default Ollama drops the oldest messages and says nothing.
    """
    body: dict[str, Any] = {"model": request.model, "messages": ollama_messages(request), "stream": True}
    body |= {"truncate": False, "shift": False, "options": options(request.sampling, context_length)}
    if request.sampling.reasoning is not None:
        body["think"] = _THINK.get(request.sampling.reasoning, request.sampling.reasoning)
    if keep_alive is not None:
        body["keep_alive"] = keep_alive
    if request.tools:
        body["tools"] = [dict(tool) for tool in request.tools]
    return body


def options(sampling: Sampling, context_length: int | None) -> dict[str, Any]:
    """Ollama's ``options``; a context length asked for wins over the one in force."""
    values = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
        "num_predict": sampling.max_tokens,
        "num_ctx": sampling.context_length or context_length,
    }
    return {name: value for name, value in values.items() if value is not None}


async def ask(client: HttpClient, body: Mapping[str, Any], patience: Patience) -> Completion:
    """Ask once.

    Raises:
        EndpointError: nothing usable came. Once text has come, the completion carries the error instead.
    """
    chat = OllamaStream(patience.watch)
    trouble: EndpointError | None = None
    try:
        await _read_all(client, body, patience, chat)
    except EndpointError as error:
        trouble = None if chat.finished else error
    trouble = fault(client, chat, trouble, CHAT_PATH)
    if trouble and not chat.has_text:
        raise trouble
    said = chat.error.message if chat.error else trouble.what if trouble else None
    completion = chat.finish(client.clean(said) if said is not None else None)
    return redacted(completion, client.options.redact)


async def _read_all(client: HttpClient, body: Mapping[str, Any], patience: Patience, chat: OllamaStream) -> None:
    with anyio.move_on_after(patience.total_s) as budget:
        async with client.stream(CHAT_PATH, body, stall_s=patience.stall_s) as stream:
            chat.timer.origin, chat.headers = stream.sent_at, stream.headers
            await _read(client, stream, chat, budget)
    if budget.cancelled_caught and not chat.done:
        out_of_time(client, patience, chat)


async def _read(client: HttpClient, stream: ByteStream, chat: OllamaStream, budget: anyio.CancelScope) -> None:
    lines, first = LineSplitter(), b""
    async for chunk, stamp in stream.reads():
        if chat.done:
            continue  # what follows the last object is read, briefly, only so that the connection can be used again
        chat.timer.read(stamp)
        first = first or chunk.lstrip()[:1]
        if first == b"<":
            raise _web_page(client, chunk)
        chat.feed(lines.feed(chunk), stamp)
        chat.look()
        if chat.ended:
            break
        if chat.done:
            budget.deadline = min(budget.deadline, anyio.current_time() + _DRAIN_S)
    chat.feed(lines.close(), chat.timer.end or 0.0)


def _web_page(client: HttpClient, start: bytes) -> ProtocolError:
    return ProtocolError(
        f"{client.address.base} answered the chat with {client.describe(start)} instead of a stream.",
        "Check that the address is an inference server's base URL and needs no login.",
    )
