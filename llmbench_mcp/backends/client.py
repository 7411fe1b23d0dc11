"""One HTTP client per server address: bounded, never redirected, its credential bound to its own origin."""

from __future__ import annotations

import ipaddress
import json
import re
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2

from llmbench_mcp.backends.failures import ErrorObject, Exchange, error_object, from_error_object, from_status
from llmbench_mcp.backends.retry_after import retry_after_s
from llmbench_mcp.backends.transport_errors import mapped
from llmbench_mcp.domain.address import Address
from llmbench_mcp.domain.clock import SystemClock
from llmbench_mcp.domain.errors import EndpointError, EndpointTimeout, ProtocolError
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.domain.text import one_line

JSON_BYTES = 8 * 1024 * 1024
ERROR_BYTES = 64 * 1024
STREAM_BYTES = 128 * 1024 * 1024
CONNECT_S = 5.0
_LIMITS = {
    # llama.cpp's server closes a connection after a stream although it promises to keep it, so that the next
    # request on it may be lost. A new connection costs nothing nearby, and no timing includes it.
    "http": httpx2.Limits(max_keepalive_connections=0),
    # A handshake is dear; 2 s is well below the idle limit of any server behind TLS.
    "https": httpx2.Limits(keepalive_expiry=2.0),
}

_TITLE = re.compile(rb"<title[^>]*>(.{0,200}?)</title", re.I | re.S)
_MESSAGE_LENGTH = 300
_PLAIN_BYTES = 2000


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """``credential`` gives the bearer secret at each request; ``redact`` cleans text from the server."""

    credential: Callable[[], str | None] = lambda: None
    redact: Callable[[str], str] = str
    clock: Clock = field(default_factory=SystemClock)


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer, its body bounded. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    method: str
    path: str
    cut: bool = False

    def json(self) -> Any:
        """The parsed body, or None when it is not JSON."""
        return parse_json(self.body)


class ByteStream:
    """The body of a streaming answer, read by read. ``sent_at`` is when the request's last byte left."""

    def __init__(self, response: httpx2.Response, sent_at: float | None, clock: Clock) -> None:
        self._chunks = response.aiter_bytes()
        self._clock = clock
        self.sent_at = sent_at
        self.headers = _lower(response)

    async def reads(self) -> AsyncIterator[tuple[bytes, float]]:
        """Pairs of bytes and the monotonic time they came. Raises ProtocolError beyond STREAM_BYTES."""
        total = 0
        async with aclosing(self._chunks) as chunks:
            async for chunk in chunks:
                stamp = self._clock.monotonic()
                total += len(chunk)
                if total > STREAM_BYTES:
                    raise ProtocolError(f"The stream grew beyond {STREAM_BYTES} bytes.")
                yield chunk, stamp


class _SentStamp:
    """httpx2 trace hook: notes when the request body had been handed to the socket."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.at: float | None = None

    async def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        if event in ("http11.send_request_body.complete", "http11.send_request_body.failed"):
            self.at = self._clock.monotonic()


class HttpClient:
    """Speaks HTTP with one inference server and raises only EndpointError subclasses."""

    def __init__(self, address: Address, options: ClientOptions | None = None) -> None:
        self.address = address
        self.options = options or ClientOptions()
        plain = address.scheme == "http" and _is_loopback(address.host)
        self._http = httpx2.AsyncClient(
            follow_redirects=False,
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True,  # spares plain HTTP the CA bundle
            trust_env=not _is_loopback(address.host),
            limits=_LIMITS[address.scheme],
            headers={"Accept-Encoding": "identity"},
        )

    @property
    def clock(self) -> Clock:
        """The clock that stamps streams."""
        return self.options.clock

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    def clean(self, text: str, limit: int = _MESSAGE_LENGTH) -> str:
        """Foreign text without secrets, on one line, cut."""
        return one_line(self.options.redact(text), limit)

    def exchange(self, method: str, path: str) -> Exchange:
        """What error messages say about one request."""
        return Exchange(self.address.base, method, path, self.clean)

    async def get_json(self, path: str) -> dict[str, Any]:
        """GET a JSON object. Raises EndpointError subclasses."""
        return self.accept(await self.request("GET", path))

    async def post_json(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """POST a JSON object and get one back. Raises EndpointError subclasses."""
        return self.accept(await self.request("POST", path, body))

    async def request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, total_s: float = 30.0
    ) -> Answer:
        """One exchange whatever its status. Raises UnreachableError, EndpointTimeout or ProtocolError."""
        with mapped(self.address.base), anyio.move_on_after(total_s):
            request = self._build(method, path, body, httpx2.Timeout(total_s, connect=CONNECT_S))
            response = await self._http.send(request, stream=True)
            try:
                return await _whole(response, method, path)
            finally:
                await response.aclose()
        raise EndpointTimeout(f"{self.address.base} did not finish its answer in {total_s:g} s.", "Try again later.")

    def accept(self, answer: Answer) -> dict[str, Any]:
        """The JSON object of a good answer; raises what any other answer means."""
        if not 200 <= answer.status < 300:
            raise self.refusal(answer)
        payload = answer.json()
        if not isinstance(payload, dict):
            raise self._no_object(answer)
        error = error_object(payload)
        if error:
            raise self.carried(answer.method, answer.path, error, answer.headers)
        return payload

    def carried(
        self, method: str, path: str, error: ErrorObject, headers: Mapping[str, str] | None = None
    ) -> EndpointError:
        """What an error object inside a 200 answer means."""
        return from_error_object(self.exchange(method, path), error, retry_after_s(headers or {}))

    def refusal(self, answer: Answer) -> EndpointError:
        """What an answer with a status other than 2xx means."""
        if 300 <= answer.status < 400:
            return self._redirect(answer)
        error = error_in(answer.body)
        exchange = self.exchange(answer.method, answer.path)
        return from_status(exchange, answer.status, error, retry_after_s(answer.headers))

    def _redirect(self, answer: Answer) -> ProtocolError:
        return ProtocolError(
            f"{self.address.base} redirects to {self._target(answer)} (HTTP {answer.status}).",
            "Redirects are not followed: give the address it redirects to, if you trust it.",
        )

    def _target(self, answer: Answer) -> str:
        try:
            target = urlsplit(answer.headers.get("location", ""))
        except ValueError:
            return "an unreadable address"
        host = target.netloc.rpartition("@")[2]
        return self.clean(f"{target.scheme or self.address.scheme}://{host}") if host else "another path"

    def _no_object(self, answer: Answer) -> ProtocolError:
        if answer.cut:
            return ProtocolError(f"{self.address.base} answered with more than {JSON_BYTES} bytes of JSON.")
        return ProtocolError(
            f"{self.address.base} answered {answer.path} with {self.describe(answer.body)} instead of JSON.",
            "Check that the address is an inference server's base URL and needs no login.",
        )

    def describe(self, body: bytes) -> str:
        """Names a body that is not the JSON expected, e.g. ``a web page (title 'Sign in')``."""
        title = _TITLE.search(body[:ERROR_BYTES])
        if title:
            return f"a web page (title '{self.clean(title[1].decode('utf-8', 'replace'), 80)}')"
        if body.lstrip()[:1] == b"<":
            return "a web page"
        return "an empty body" if not body.strip() else "something else"

    @asynccontextmanager
    async def stream(self, path: str, body: Mapping[str, Any], *, stall_s: float) -> AsyncIterator[ByteStream]:
        """POST and read the answer as it comes; silence longer than ``stall_s`` raises EndpointTimeout.

        Raises:
            EndpointError: any status but 2xx, as ``accept`` does.
        """
        sent = _SentStamp(self.clock)
        with mapped(self.address.base):
            request = self._build("POST", path, body, httpx2.Timeout(stall_s, connect=CONNECT_S))
            request.extensions["trace"] = sent
            response = await self._http.send(request, stream=True)
            try:
                if not 200 <= response.status_code < 300:
                    raise self.refusal(await _whole(response, "POST", path))
                yield ByteStream(response, sent.at, self.clock)
            finally:
                await response.aclose()

    def _build(self, method: str, path: str, body: Mapping[str, Any] | None, timeout: httpx2.Timeout) -> httpx2.Request:
        headers = {"Accept": "application/json, text/event-stream"}
        secret = self.options.credential()
        if secret:
            headers["Authorization"] = f"Bearer {secret}"
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body).encode("ascii")
        url = self.address.base + path
        return self._http.build_request(method, url, headers=headers, content=content, timeout=timeout)


async def _whole(response: httpx2.Response, method: str, path: str) -> Answer:
    limit = JSON_BYTES if 200 <= response.status_code < 300 else ERROR_BYTES
    body = bytearray()
    async with aclosing(response.aiter_bytes()) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) > limit:
                break
    return Answer(response.status_code, _lower(response), bytes(body[:limit]), method, path, len(body) > limit)


def _lower(response: httpx2.Response) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def parse_json(data: bytes | str) -> Any:
    """The JSON in ``data``, or None where there is none: malformed, not UTF-8, nested too deeply."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def error_in(body: bytes) -> ErrorObject | None:
    """The error an error body tells of, as JSON or as plain text; None for web pages and empty bodies."""
    payload = parse_json(body)
    if payload is not None:
        return error_object(payload)
    text = body[:_PLAIN_BYTES].decode("utf-8", "replace").strip()
    return None if not text or text.startswith("<") else ErrorObject(text)


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped_v4 = getattr(address, "ipv4_mapped", None)
    return bool((mapped_v4 or address).is_loopback)
