"""The part of the OpenAI HTTP API that every compatible server shares: list models, chat."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio

from llmbench_mcp.backends.client import JSON_BYTES, HttpClient, parse_json
from llmbench_mcp.backends.measured import ByteStream
from llmbench_mcp.backends.messages import openai_messages
from llmbench_mcp.backends.openai_stream import TEXT_CHARS, ChatStream
from llmbench_mcp.backends.sse import SseParser
from llmbench_mcp.domain.chat import ChatRequest, Completion, ToolCall, Watch
from llmbench_mcp.domain.endpoint import ModelList, OfferedModel
from llmbench_mcp.domain.errors import EndpointError, EndpointTimeout, ProtocolError, ServerFault
from llmbench_mcp.domain.text import is_text

MODELS_PATH = "/v1/models"
CHAT_PATH = "/v1/chat/completions"
_MAX_MODELS = 10_000
_MAX_NAME = 512
_DRAIN_S = 0.5
TAIL_S = 2.0
"""Seconds that the usage and the end of a stream may take after its finish reason."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds: the whole answer, and the longest silence before or within it; ``watch`` as in ChatRequest."""

    total_s: float
    stall_s: float
    watch: Watch | None = None


def model_entries(payload: Any) -> list[Mapping[str, Any]] | None:
    """The usable entries of a ``/v1/models`` answer, without repeats; None when it is not such an answer."""
    data = _data_of(payload)
    if data is None:
        return None
    entries = {entry["id"]: entry for entry in data[:_MAX_MODELS] if _is_entry(entry)}
    return list(entries.values())


def left_out(payload: Any) -> tuple[str, ...]:
    """What ``model_entries`` passes over, a sentence each."""
    data = _data_of(payload) or []
    bad = sum(not _is_entry(entry) for entry in data[:_MAX_MODELS])
    told = []
    if bad:
        told.append(f"The server lists {bad} without a usable name (blank, too long or no text); left out.")
    if len(data) > _MAX_MODELS:
        told.append(f"The server lists {len(data)} models; only the first {_MAX_MODELS} were taken.")
    return tuple(told)


def warned(models: list[OfferedModel], warnings: tuple[str, ...]) -> list[OfferedModel]:
    """``models``, the first of them bearing the warnings about the whole list, or, when empty, the list itself."""
    if not models:
        return ModelList((), warnings)
    if not warnings:
        return models
    return [replace(models[0], warnings=models[0].warnings + warnings), *models[1:]]


def _data_of(payload: Any) -> list[Any] | None:
    data = payload.get("data") if isinstance(payload, Mapping) else None
    return data if isinstance(data, list) else None


def _is_entry(entry: Any) -> bool:
    name = entry.get("id") if isinstance(entry, Mapping) else None
    return isinstance(name, str) and 0 < len(name) <= _MAX_NAME and bool(name.strip()) and is_text(name)


async def fetch_models(client: HttpClient) -> list[Mapping[str, Any]]:
    """Model entries as the server lists them. Raises EndpointError subclasses."""
    entries, _ = await fetch_list(client)
    return entries


async def fetch_list(client: HttpClient) -> tuple[list[Mapping[str, Any]], dict[str, Any]]:
    """Model entries and the whole answer they come from. Raises EndpointError subclasses."""
    payload = await client.get_json(MODELS_PATH)
    entries = model_entries(payload)
    if entries is None:
        raise ProtocolError(
            f"{client.address.base} answered {MODELS_PATH} with JSON that lists no models.",
            "Check that the address is an OpenAI-compatible server.",
        )
    return entries, payload


def chat_body(request: ChatRequest) -> dict[str, Any]:
    """The JSON body of a streaming chat request; sampling values of None are left to the server."""
    body: dict[str, Any] = {
        "model": request.model,
        "messages": openai_messages(request),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    sampling = request.sampling
    given = {name: getattr(sampling, name) for name in ("temperature", "top_p", "seed", "max_tokens")}
    body |= {name: value for name, value in given.items() if value is not None}
    if sampling.reasoning in ("off", "on"):
        # As llama.cpp, vLLM and SGLang take it: a switch of the model's chat template.
        body["chat_template_kwargs"] = {"enable_thinking": sampling.reasoning == "on"}
    elif sampling.reasoning is not None:
        body["reasoning_effort"] = sampling.reasoning
    if request.tools:
        body["tools"] = [dict(tool) for tool in request.tools]
    return body


async def ask(client: HttpClient, body: dict[str, Any], patience: Patience) -> Completion:
    """Ask once; a server that refuses ``stream_options`` is asked again without it.

    Raises:
        EndpointError: nothing usable came. Once text has come, the completion carries the error instead.
    """
    try:
        return await _ask_once(client, body, patience)
    except EndpointError as refusal:
        if "stream_options" not in refusal.what or "stream_options" not in body:
            raise
    without = {name: value for name, value in body.items() if name != "stream_options"}
    return await _ask_once(client, without, patience)


async def _ask_once(client: HttpClient, body: Mapping[str, Any], patience: Patience) -> Completion:
    chat = ChatStream(patience.watch)
    trouble: EndpointError | None = None
    try:
        await _read_all(client, body, patience, chat)
    except EndpointError as error:
        trouble = None if chat.finished else error
    trouble = fault(client, chat, trouble)
    if trouble and not chat.has_text:
        raise trouble
    said = chat.error.message if chat.error else trouble.what if trouble else None
    completion = chat.finish(client.clean(said) if said is not None else None)
    return redacted(completion, client.options.redact)


def redacted(completion: Completion, redact: Callable[[str], str]) -> Completion:
    """The completion without known secrets in anything the server wrote."""
    calls = tuple(_redacted_call(call, redact) for call in completion.tool_calls)
    names = ("text", "reasoning", "model", "finish_reason")
    cleaned: dict[str, Any] = {name: redact(value) for name in names if (value := getattr(completion, name))}
    server = {redact(name): value for name, value in completion.timing.server.items()}
    return replace(completion, tool_calls=calls, timing=replace(completion.timing, server=server), **cleaned)


def _redacted_call(call: ToolCall, redact: Callable[[str], str]) -> ToolCall:
    if isinstance(call.arguments, str):
        return replace(call, name=redact(call.name), arguments=redact(call.arguments))
    said = json.dumps(call.arguments)
    cleaned = redact(said)
    return replace(call, name=redact(call.name), arguments=call.arguments if cleaned == said else parse_json(cleaned))


async def _read_all(client: HttpClient, body: Mapping[str, Any], patience: Patience, chat: ChatStream) -> None:
    with anyio.move_on_after(patience.total_s) as budget:
        async with client.stream(CHAT_PATH, body, stall_s=patience.stall_s) as stream:
            chat.timer.origin, chat.headers = stream.sent_at, stream.headers
            await _read(client, stream, chat)
    if budget.cancelled_caught:
        out_of_time(client, patience, chat)


def out_of_time(client: HttpClient, patience: Patience, chat: ChatStream) -> None:
    """The time is up: what has come is the answer, cut unless finished; raises EndpointTimeout when nothing has."""
    if chat.finished:
        return
    if not chat.has_text:
        raise EndpointTimeout(
            f"{client.address.base} gave no answer within {patience.total_s:g} s.",
            "See the server's log, or raise LLMBENCH_TOTAL_TIMEOUT_S.",
        )
    chat.cut = "time"


class _Tail:
    """Ends the reading of a stream that the server leaves open after the finish reason."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self._size = -1

    def look(self, chat: ChatStream) -> None:
        """To be called after each read. Text after the finish, which some servers send, gives more time."""
        if chat.finish_reason is not None and chat.size != self._size:
            self._size = chat.size
            # Not anyio's clock: it cannot be asked outside a task, where reads are taken.
            self.scope.deadline = asyncio.get_running_loop().time() + TAIL_S


async def _read(client: HttpClient, stream: ByteStream, chat: ChatStream) -> None:
    parser, whole, first, tail = SseParser(), bytearray(), b"", _Tail()

    def take(chunk: bytes, stamp: float) -> bool:
        nonlocal first
        chat.timer.read(stamp)
        if parser.between and chat.feed_read(chunk, stamp):
            chat.look()
            tail.look(chat)
            return not chat.ended
        first = first or chunk.lstrip()[:1]
        if first in (b"{", b"<"):
            whole.extend(chunk)
        else:
            chat.feed(parser.feed(chunk), stamp)
            chat.look()
            tail.look(chat)
        return not (chat.done or chat.ended or len(whole) > JSON_BYTES)

    with tail.scope:
        await stream.deliver(take)
    if chat.done:
        await stream.rest(_DRAIN_S)
    chat.feed(parser.close(), chat.timer.end or 0.0)
    if whole:
        _take_whole(client, bytes(whole), chat)


def _take_whole(client: HttpClient, body: bytes, chat: ChatStream) -> None:
    """A server that ignored ``stream``: one JSON answer. Or no inference server at all."""
    if len(body) > JSON_BYTES and body.lstrip()[:1] == b"{":
        raise ProtocolError(
            f"{client.address.base} answered the chat with one JSON object of more than {JSON_BYTES} bytes.",
            "Set max_tokens, or use a server that streams.",
        )
    payload = parse_json(body.decode("utf-8-sig", "replace"))
    if not isinstance(payload, Mapping):
        raise ProtocolError(
            f"{client.address.base} answered the chat with {client.describe(body)} instead of a stream.",
            "Check that the address is an inference server's base URL and needs no login.",
        )
    chat.feed_object(payload, None)


def fault(
    client: HttpClient, chat: ChatStream, trouble: EndpointError | None, path: str = CHAT_PATH
) -> EndpointError | None:
    """What is wrong with an answer once reading it is over; ``trouble`` is what stopped the reading, if anything."""
    base = client.address.base
    if chat.error:
        return client.carried("POST", path, chat.error, chat.headers)
    if trouble:
        return trouble
    if chat.too_long:
        return ServerFault(f"{base} sent more than {TEXT_CHARS} characters; the rest was not read.", "Set max_tokens.")
    if not chat.has_text and (chat.odd_choices or (chat.finished and not chat.saw_choice)):
        return _no_answer(base, chat)
    if not chat.finished and not chat.has_text:
        return ServerFault(f"{base} ended the stream before any text.", "Look at the server's log.")
    return None


def _no_answer(base: str, chat: ChatStream) -> ProtocolError:
    if not chat.odd_choices:
        return ProtocolError(f"{base} sent a stream without an answer in it.", "Look at the server's log.")
    return ProtocolError(
        f"{base} sent an answer whose 'choices' cannot be read: they must be a list of objects with a 'delta' or a "
        "'message'.",
        "Check that the server speaks OpenAI's chat API.",
    )
