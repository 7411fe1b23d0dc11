"""Input lines that are no JSON-RPC message: answered, for a client waits for every id it has sent."""

from __future__ import annotations

import json
from contextvars import Context
from types import TracebackType
from typing import Any, Protocol, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from llmbench_mcp.domain.text import one_line


class Incoming(Protocol):
    """What is asked of the transport's read stream."""

    async def receive(self) -> SessionMessage | Exception:
        """The next message, or why a line is none."""
        ...

    async def aclose(self) -> None:
        """Close it."""
        ...


class Outgoing(Protocol):
    """What is asked of the transport's write stream."""

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message."""
        ...

    async def aclose(self) -> None:
        """Close it."""
        ...

    async def __aenter__(self) -> Self:
        """The stream itself."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Close it."""
        ...


class AnsweringStream:
    """A transport's incoming messages; what it could not read is answered on ``outgoing`` and left out.

    The SDK's stdio transport (2.3) hands such lines on as exceptions, and its dispatcher drops them.
    """

    def __init__(self, incoming: Incoming, outgoing: Outgoing) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    @property
    def last_context(self) -> Context | None:
        """The context the last message was sent in, where the transport keeps it."""
        return getattr(self._incoming, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next message. Raises anyio.EndOfStream."""
        while isinstance(item := await self._incoming.receive(), ValidationError):
            answer = answer_to(item)
            if answer is not None:
                await self._answer(answer)
        return item

    async def _answer(self, answer: JSONRPCError) -> None:
        try:
            await self._outgoing.send(SessionMessage(answer))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            await anyio.lowlevel.checkpoint()  # whoever asked is gone

    async def aclose(self) -> None:
        """Close the incoming side."""
        await self._incoming.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def answer_to(refusal: ValidationError) -> JSONRPCError | None:
    """The error for a line the SDK refused; None for a blank line and for what is itself a reply."""
    problem = refusal.errors(include_url=False)[0]
    if problem["type"] == "json_invalid":
        line = str(problem["input"])
        what = f"Parse error: {one_line(problem['msg'])}"
        return _error(PARSE_ERROR, what, _parsed(line)) if line.strip() else None
    message = _whole(refusal)
    if isinstance(message, dict) and "method" not in message and ("result" in message or "error" in message):
        return None
    return _error(INVALID_REQUEST, "Invalid request: not one JSON-RPC 2.0 message (batches are not taken).", message)


def _error(code: int, what: str, message: Any) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=_id_of(message), error=ErrorData(code=code, message=what))


def _whole(refusal: ValidationError) -> Any:
    """The message as it was parsed: of the kinds it was tried as, one lacked a field or was no object at all."""
    for problem in refusal.errors(include_url=False):
        if problem["type"] in ("missing", "model_type"):
            return problem["input"]
    return None


def _parsed(line: str) -> Any:
    """What Python's more lenient reader makes of the line; it takes lone surrogates."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _id_of(message: Any) -> int | str | None:
    given = message.get("id") if isinstance(message, dict) else None
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    return given if isinstance(given, str) and given.isprintable() else None
