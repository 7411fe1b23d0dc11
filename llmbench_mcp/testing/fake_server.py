"""A scripted OpenAI-compatible HTTP server on this machine's loopback addresses.

::

    async with FakeServer(models=["m"], answer=lambda prompt: prompt.upper()) as server:
        ...  # server.url, server.requests, server.count("/v1/chat/completions")

A ``script`` sees every chat request first; what it returns (a Reply, a text, or None for the usual answer) is sent.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import isawaitable
from types import TracebackType
from typing import Any, Self

from llmbench_mcp.testing.replies import Cut, Gate, Reply, error_reply, text_reply

CHAT = "/v1/chat/completions"
MODELS = "/v1/models"


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came; ``body`` is its parsed JSON or None, header names are lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: Any

    @property
    def prompt(self) -> str:
        """The last user message of a chat request."""
        messages = (self.body or {}).get("messages", [])
        return next((m["content"] for m in reversed(messages) if m["role"] == "user"), "")

    @property
    def model(self) -> str:
        """The model asked for."""
        return str((self.body or {}).get("model", ""))


Scripted = Reply | str | None
Script = Callable[[Received], Scripted | Awaitable[Scripted]]
Route = Callable[[Received], Reply | Awaitable[Reply]]


def echo(prompt: str) -> str:
    """The default answer."""
    return f"You said: {prompt}"


class FakeServer:
    """Start it with ``async with``. ``routes`` maps ``"GET /path"`` to handlers; tests may add their own.

    Args:
        models: served names, or whole entries for the model list.
        script: decides about each chat request.
        answer: text of an ordinary answer from the prompt.
        prefix: path under which everything is served, e.g. ``/llm/api``.
        api_key: when set, requests without this bearer get 401.
    """

    server_header = "fake"
    owned_by = "fake"

    def __init__(
        self,
        models: Sequence[str | Mapping[str, Any]] = ("m",),
        script: Script | None = None,
        *,
        answer: Callable[[str], str] = echo,
        prefix: str = "",
        api_key: str | None = None,
    ) -> None:
        self.models = list(models)
        self.script = script
        self.answer = answer
        self.prefix = prefix
        self.api_key = api_key
        self.port = 0
        self.requests: list[Received] = []
        self.connections = 0
        self.routes: dict[str, Route] = {f"GET {MODELS}": self.list_models, f"POST {CHAT}": self.chat}
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._arrival = asyncio.Condition()

    @property
    def url(self) -> str:
        """Base URL on 127.0.0.1."""
        return f"http://127.0.0.1:{self.port}{self.prefix}"

    @property
    def url_v6(self) -> str:
        """Base URL on [::1]; only after ``listen_v6``."""
        return f"http://[::1]:{self.port}{self.prefix}"

    @property
    def prompts(self) -> list[str]:
        """The prompts of all chat requests, in order of arrival."""
        return [request.prompt for request in self.requests if request.path.endswith(CHAT)]

    @property
    def paths(self) -> Counter[str]:
        """How often each path was asked, the prefix included."""
        return Counter(request.path for request in self.requests)

    def count(self, path: str) -> int:
        """How often a path below the prefix was asked."""
        return self.paths[self.prefix + path]

    async def arrived(self, path: str, times: int = 1) -> None:
        """Wait until that path has been asked so often."""
        async with self._arrival:
            await self._arrival.wait_for(lambda: self.count(path) >= times)

    async def listen_v6(self) -> None:
        """Listen at [::1] too, on the same port. Raises OSError without IPv6."""
        self._servers.append(await asyncio.start_server(self._accept, "::1", self.port))

    async def __aenter__(self) -> Self:
        server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        self._servers.append(server)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Close everything at once, open answers too; ``async with`` again listens on the same port."""
        for server in self._servers:
            server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        self._servers.clear()

    def list_models(self, request: Received) -> Reply:
        """``GET /v1/models``."""
        return Reply(body={"object": "list", "data": [self.entry(model) for model in self.models]})

    def entry(self, model: str | Mapping[str, Any]) -> Mapping[str, Any]:
        """One model's entry in the list."""
        if isinstance(model, Mapping):
            return model
        return {"id": model, "object": "model", "created": 0, "owned_by": self.owned_by}

    async def chat(self, request: Received) -> Reply:
        """``POST /v1/chat/completions``: the script's reply, else an ordinary answer or 404."""
        scripted = self.script(request) if self.script else None
        if isawaitable(scripted):
            scripted = await scripted
        if isinstance(scripted, Reply):
            return scripted
        if isinstance(scripted, str):
            return text_reply(scripted, model=self.answering_model(request))
        return self.ordinary(request)

    def ordinary(self, request: Received) -> Reply:
        """The answer when no script decides."""
        if request.model not in {self.entry(model)["id"] for model in self.models}:
            return error_reply(404, f"The model `{request.model}` does not exist.", kind="NotFoundError")
        return text_reply(self.answer(request.prompt), model=self.answering_model(request))

    def answering_model(self, request: Received) -> str:
        """The ``model`` in the answer."""
        return request.model

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        self.connections += 1
        task.add_done_callback(self._connections.discard)
        task.add_done_callback(lambda done: writer.close())  # one cancelled before it began has closed nothing

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self._exchange(reader, writer):
                pass

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        request = await _read_request(reader)
        self.requests.append(request)
        async with self._arrival:
            self._arrival.notify_all()
        return await _unless_gone(reader, self._answer(request, writer))

    async def _answer(self, request: Received, writer: asyncio.StreamWriter) -> bool:
        reply = await self._reply(request)
        if reply.before:
            await reply.before.pass_through()
        return await self._write(writer, reply)

    def refused(self, request: Received) -> Reply | None:
        """401 for a request without the key, where one is set."""
        if self.api_key and request.headers.get("authorization") != f"Bearer {self.api_key}":
            return error_reply(401, "Invalid API Key", kind="authentication_error")
        return None

    async def _reply(self, request: Received) -> Reply:
        refused = self.refused(request)
        if refused:
            return refused
        path = request.path.removeprefix(self.prefix) if request.path.startswith(self.prefix) else None
        route = self.routes.get(f"{request.method} {path}")
        if route is None:
            return error_reply(404, "Not Found", kind="not_found_error")
        reply = route(request)
        return await reply if isawaitable(reply) else reply

    async def _write(self, writer: asyncio.StreamWriter, reply: Reply) -> bool:
        body, kind = reply.encoded()
        headers = {"Server": self.server_header, "Content-Type": kind, **reply.headers}
        length = ("Transfer-Encoding", "chunked") if reply.steps is not None else ("Content-Length", str(len(body)))
        lines = [f"HTTP/1.1 {reply.status} Scripted", *(f"{k}: {v}" for k, v in (*headers.items(), length))]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await writer.drain()
        return reply.steps is None or await _stream(writer, reply.steps)


async def _unless_gone(reader: asyncio.StreamReader, answer: Coroutine[Any, Any, bool]) -> bool:
    """Run ``answer``, and cancel it as soon as the client hangs up, as real servers stop working then."""
    answering, gone = asyncio.create_task(answer), asyncio.ensure_future(reader.read(1))
    try:
        await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
        return answering.result() if answering.done() else False
    finally:
        gone.cancel()
        answering.cancel()
        await asyncio.gather(gone, answering, return_exceptions=True)


async def _stream(writer: asyncio.StreamWriter, steps: Sequence[bytes | Gate | Cut]) -> bool:
    for step in steps:
        if isinstance(step, Gate):
            await step.pass_through()
        elif isinstance(step, Cut):
            return False
        elif step:
            writer.write(b"%x\r\n%s\r\n" % (len(step), step))
            await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


async def _read_request(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    path, _, query = target.partition("?")
    try:
        body = json.loads(raw)
    except ValueError:
        body = None
    return Received(method, path, query, headers, body)
