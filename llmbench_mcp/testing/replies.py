"""What a scripted server answers: whole bodies, streams step by step, and the usual OpenAI chunks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

DONE = b"data: [DONE]\n\n"


class Gate:
    """A point in a reply where the server stops until the test says go on."""

    def __init__(self) -> None:
        self._reached = asyncio.Event()
        self._open = asyncio.Event()

    def open(self) -> None:
        """Let the server go on, now or when it comes here."""
        self._open.set()

    async def reached(self) -> None:
        """Wait until the server stands here: all before it has been written."""
        await self._reached.wait()

    async def pass_through(self) -> None:
        """The server's side of the gate."""
        self._reached.set()
        await self._open.wait()


class Cut:
    """A step that breaks the connection in the middle of the answer."""


Step = bytes | Gate | Cut


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. With ``steps`` the body is streamed, each bytes step written and flushed on its own.

    ``before`` holds the whole answer back, headers too. ``content_type`` None guesses it from the body.
    """

    status: int = 200
    body: bytes | str | Mapping[str, Any] | Sequence[Any] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    steps: Sequence[Step] | None = None
    content_type: str | None = None
    before: Gate | None = None

    def encoded(self) -> tuple[bytes, str]:
        """Body bytes and content type."""
        if isinstance(self.body, bytes):
            return self.body, self.content_type or "application/octet-stream"
        if isinstance(self.body, str):
            return self.body.encode(), self.content_type or "text/html; charset=utf-8"
        return json.dumps(self.body).encode(), self.content_type or "application/json"


def event(payload: Any) -> bytes:
    """One SSE event holding JSON."""
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


def chunk(content: str | None = None, *, finish: str | None = None, model: str = "m", **delta: Any) -> bytes:
    """One chat-completion chunk; extra keywords go into its delta (``role=``, ``reasoning_content=``, ...)."""
    if content is not None:
        delta["content"] = content
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event({"id": "c", "object": "chat.completion.chunk", "model": model, "choices": [choice]})


def usage_chunk(prompt: int, completion: int, *, model: str = "m", **more: Any) -> bytes:
    """The closing chunk with empty ``choices``; extra keywords go into ``usage``."""
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, **more}
    return event({"id": "c", "object": "chat.completion.chunk", "model": model, "choices": [], "usage": usage})


def streamed(steps: Iterable[Step]) -> Reply:
    """A 200 event stream of these steps."""
    return Reply(steps=tuple(steps), content_type="text/event-stream")


def text_reply(
    text: str, *, model: str = "m", finish: str = "stop", reasoning: str = "", field: str = "reasoning_content"
) -> Reply:
    """A whole, ordinary streamed answer: role, reasoning under the name ``field``, words, finish, usage, [DONE]."""
    words = [word + " " for word in text.split(" ")]
    words[-1] = words[-1][:-1]
    thought = [chunk(model=model, **{field: reasoning})] if reasoning else []
    tokens = len(words) + len(reasoning.split())
    steps = [
        chunk("", role="assistant", model=model),
        *thought,
        *(chunk(word, model=model) for word in words),
        chunk(finish=finish, model=model),
        usage_chunk(7, tokens, model=model),
        DONE,
    ]
    return streamed(steps)


def calls_reply(*calls: tuple[str, Mapping[str, Any]], model: str = "m", tokens: int = 5) -> Reply:
    """A streamed answer that only calls: ``(name, arguments)`` each, the arguments in two pieces."""
    steps: list[bytes] = [chunk("", role="assistant", model=model)]
    for index, (name, arguments) in enumerate(calls):
        written = json.dumps(arguments)
        begun = {"index": index, "id": f"c{index}", "type": "function", "function": {"name": name, "arguments": ""}}
        pieces = [{"index": index, "function": {"arguments": part}} for part in (written[:3], written[3:])]
        steps += [chunk(model=model, tool_calls=[piece]) for piece in (begun, *pieces)]
    return streamed([*steps, chunk(finish="tool_calls", model=model), usage_chunk(7, tokens, model=model), DONE])


def error_reply(status: int, message: str, *, kind: str = "server_error", **headers: str) -> Reply:
    """An OpenAI-style error; header names are given with underscores (``retry_after="2"``)."""
    body = {"error": {"message": message, "type": kind, "code": status}}
    return Reply(status, body, {name.replace("_", "-"): value for name, value in headers.items()})
