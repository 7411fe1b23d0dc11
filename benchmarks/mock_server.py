"""An OpenAI-compatible server whose timings are scripted and logged: the truth that clients are held against.

    python benchmarks/mock_server.py            prints PORT n, then serves until killed

``POST /v1/chat/completions`` answers as its body's ``script`` says (see Script); ``user`` names it in the log.
``GET /v1/models`` lists the model m. ``GET /log`` gives and forgets the log: per answer the monotonic seconds at
which its request had been read and its first and last deltas were written, and how many writes there were. Loopback
only.
"""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, cast

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
BURST_WRITE = 256 * 1024
_MODELS = b'{"object":"list","data":[{"id":"m","object":"model","created":1,"owned_by":"mock"}]}'
_asked: set[str] = set()


@dataclass(frozen=True, slots=True)
class Script:
    """One answer. ``tokens`` of content in events of ``per_event`` tokens, after ``reasoning`` tokens of thought.

    ``burst`` writes all at once after ``ttft_ms``. ``split`` writes every event in two halves, cut inside the first
    character that has several bytes. ``cold_ms`` is added to the first answer of a model. ``vary`` makes all events
    differ, so that no client can learn their shape.
    """

    ttft_ms: float = 50.0
    itl_ms: float = 10.0
    tokens: int = 64
    per_event: int = 1
    reasoning: int = 0
    text: str = " tok"
    role: bool = True
    burst: bool = False
    split: bool = False
    vary: bool = False
    cold_ms: float = 0.0


@dataclass(slots=True)
class Truth:
    """What one answer really did; times are monotonic seconds."""

    user: str
    read_at: float
    first_at: float = 0.0
    first_answer_at: float = 0.0
    last_at: float = 0.0
    events: int = 0


_log: list[Truth] = []


def _event(payload: str) -> bytes:
    data = f"data: {payload}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(data), data)


def _chunk(model: str, delta: dict[str, str], finish: str = "null", extra: str = "") -> bytes:
    choice = f'{{"index":0,"delta":{json.dumps(delta, ensure_ascii=False)},"logprobs":null,"finish_reason":{finish}}}'
    head = f'"id":"chatcmpl-123456789","object":"chat.completion.chunk","created":1700000000,"model":"{model}"'
    return _event(f'{{{head},"choices":[{choice}]{extra}}}')


def _tail(model: str, script: Script) -> bytes:
    """Finish, usage and [DONE]."""
    total = script.tokens + script.reasoning
    usage = {
        "prompt_tokens": 7,
        "completion_tokens": total,
        "completion_tokens_details": {"reasoning_tokens": script.reasoning},
    }
    closing = {"id": "c", "object": "chat.completion.chunk", "model": model, "choices": [], "usage": usage}
    return _chunk(model, {}, '"stop"') + _event(json.dumps(closing)) + _event("[DONE]") + END


@dataclass(frozen=True, slots=True)
class Pieces:
    """The bytes of an answer, made once for all answers alike."""

    begin: bytes
    thought: bytes
    content: bytes
    end: bytes


@cache
def _pieces(model: str, script: Script) -> Pieces:
    role = _chunk(model, {"role": "assistant", "content": ""}) if script.role else b""
    thought = _chunk(model, {"reasoning_content": " hm"})
    content = _chunk(model, {"content": script.text * script.per_event})
    return Pieces(HEAD + role, thought, content, _tail(model, script))


class Answer:
    """One scripted answer at work."""

    def __init__(
        self, transport: asyncio.Transport, body: dict[str, Any], read_at: float, done: Callable[[], None]
    ) -> None:
        self._script = script = Script(**body.get("script", {}))
        self._model = model = str(body["model"])
        self._pieces = _pieces(model, script)
        self._write = transport.write
        self._closing = transport.is_closing
        self._loop = asyncio.get_running_loop()
        self._truth = Truth(str(body.get("user", "")), read_at)
        self._done = done
        self._count = script.reasoning + -(-script.tokens // script.per_event)
        cold = 0.0 if model in _asked else script.cold_ms
        _asked.add(model)
        self._start = read_at + (script.ttft_ms + cold) / 1000
        self._write(self._pieces.begin)
        self._loop.call_at(self._start, self._burst if script.burst else self._next)

    def _next(self) -> None:
        """Write one event and plan the next by the script's clock, not by when this one came to be written."""
        truth, script = self._truth, self._script
        if self._closing():
            return
        now = time.monotonic()
        thinking = truth.events < script.reasoning
        if not truth.events:
            truth.first_at = now
        if not thinking and not truth.first_answer_at:
            truth.first_answer_at = now
        self._write_event(self._pieces.thought if thinking else self._pieces.content)
        truth.events += 1
        truth.last_at = now
        if truth.events == self._count:
            self._finish()
            return
        answered = max(0, truth.events - script.reasoning)
        tokens = min(truth.events, script.reasoning) + answered * script.per_event
        self._loop.call_at(self._start + tokens * script.itl_ms / 1000, self._next)

    def _write_event(self, event: bytes) -> None:
        if not self._script.split:
            self._write(event)
            return
        cut = next((i for i, byte in enumerate(event) if byte >= 0xC0), len(event) // 2) + 1
        self._write(event[:cut])
        self._write(event[cut:])

    def _burst(self) -> None:
        truth = self._truth
        events = [self._pieces.content] * self._count
        if self._script.vary:
            extra = self._script.text * self._script.per_event
            events = [_chunk(self._model, {"content": extra}, extra=f',"n":{i}') for i in range(self._count)]
        truth.first_at = truth.first_answer_at = truth.last_at = time.monotonic()
        truth.events = self._count
        whole = b"".join(events)
        for begin in range(0, len(whole), BURST_WRITE):
            self._write(whole[begin : begin + BURST_WRITE])
        self._finish()

    def _finish(self) -> None:
        _log.append(self._truth)
        self._write(self._pieces.end)
        self._done()


class Connection(asyncio.Protocol):
    """Requests one after another; nothing is checked that a benchmark's own clients do right."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=0)  # what is written goes out at once: the log tells the truth
        self._buffer = b""
        self._busy = False

    def data_received(self, data: bytes) -> None:
        """Answer once the request is whole."""
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found or self._busy:
            return
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        length = int(fields.get(b"content-length", 0))
        if len(rest) < length:
            return
        read_at = time.monotonic()
        self._buffer = rest[length:]
        if head.startswith(b"GET /log"):
            self._whole(json.dumps([asdict(truth) for truth in _log]).encode())
            _log.clear()
            return
        if head.startswith(b"GET "):
            self._whole(_MODELS if b" /v1/models " in head else b'{"error":{"message":"not here","code":404}}')
            return
        self._busy = True
        Answer(self._transport, json.loads(rest[:length]), read_at, self._free)

    def _free(self) -> None:
        self._busy = False

    def _whole(self, body: bytes) -> None:
        self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


async def serve() -> None:
    """Listen on a free port."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    server = await asyncio.get_running_loop().create_server(Connection, sock=listening, backlog=2048)
    print(f"PORT {listening.getsockname()[1]}", flush=True)
    gc.freeze()
    await server.serve_forever()


def main() -> None:
    """Serve until killed, on uvloop where it is installed: the server must be the faster side."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if find_spec("uvloop"):
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serve())


if __name__ == "__main__":
    main()
