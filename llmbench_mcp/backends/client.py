"""One HTTP client per server address: bounded, never redirected, its credential bound to its own origin."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2

from llmbench_mcp.backends.failures import ErrorObject, Exchange, error_object, from_error_object, from_status
from llmbench_mcp.backends.measured import ByteStream, MeasuredPath, StreamPath
from llmbench_mcp.backends.measured_connect import CONNECT_S, is_proxied, tls_context
from llmbench_mcp.backends.measured_proxied import ProxiedPath
from llmbench_mcp.backends.places import places_of
from llmbench_mcp.backends.retry_after import retry_after_s
from llmbench_mcp.backends.transport_errors import Trouble, mapped
from llmbench_mcp.domain.address import Address, is_loopback
from llmbench_mcp.domain.clock import SystemClock
from llmbench_mcp.domain.errors import EndpointError, EndpointTimeout, ProtocolError
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.domain.text import one_line

JSON_BYTES = 8 * 1024 * 1024
ERROR_BYTES = 64 * 1024
_LIMITS = {
    # As on the measured path, and for the same reason.
    "http": httpx2.Limits(max_keepalive_connections=0),
    "https": httpx2.Limits(keepalive_expiry=2.0),
}

_TITLE = re.compile(rb"<title[^>]*>(.{0,200}?)</title", re.I | re.S)
_MESSAGE_LENGTH = 300
_PLAIN_BYTES = 2000


async def no_credential() -> str | None:
    """Of a server that wants none."""
    return None


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """``credential`` gives the bearer secret at each request, or raises AuthError; ``redact`` cleans text from the
    server.

    ``certificate``: PEM text of the one certificate that an https server must have, instead of the system's
    authorities. ``near_only``: connect to this machine and private networks only, whatever the host's name leads to by
    then, and through no proxy.
    """

    credential: Callable[[], Awaitable[str | None]] = no_credential
    redact: Callable[[str], str] = str
    clock: Clock = field(default_factory=SystemClock)
    certificate: str | None = None
    near_only: bool = False


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


class HttpClient:
    """Speaks HTTP with one inference server and raises only EndpointError subclasses."""

    def __init__(self, address: Address, options: ClientOptions | None = None) -> None:
        self.address = address
        self.options = options or ClientOptions()
        tls = tls_context(address, self.options.certificate)
        self._http = httpx2.AsyncClient(
            follow_redirects=False,
            verify=tls,
            trust_env=not is_loopback(address.host) and not self.options.near_only,
            limits=_LIMITS[address.scheme],
            headers={"Accept-Encoding": "identity"},
        )
        self._measured = MeasuredPath(address, self.options.clock, tls, near_only=self.options.near_only)
        proxied = ProxiedPath(address.base, self._http, self.options.clock)
        self._streams: StreamPath = proxied if is_proxied(address) and not self.options.near_only else self._measured

    @property
    def clock(self) -> Clock:
        """The clock that stamps streams."""
        return self.options.clock

    async def aclose(self) -> None:
        """Close all connections."""
        self._measured.close()
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
        """One exchange whatever its status. Raises UnreachableError, EndpointTimeout, ProtocolError or AuthError."""
        headers = await self._headers()
        with mapped(self.address.base), anyio.move_on_after(total_s):
            request = self._build(method, path, body, headers, httpx2.Timeout(total_s, connect=CONNECT_S))
            response = await self._sent(request)
            try:
                answer = await _whole(response, method, path)
            finally:
                await response.aclose()
            # A server may put the key it was given anywhere, into a model's name too.
            return replace(answer, body=self.options.redact(answer.body.decode("latin-1")).encode("latin-1"))
        raise EndpointTimeout(f"{self.address.base} did not finish its answer in {total_s:g} s.", "Try again later.")

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        """The answer's beginning; where the server must stay near, of the first of its checked addresses that answers.

        The connection goes to the address that was checked: the name is not looked up a second time.
        """
        if not self.options.near_only:
            return await self._http.send(request, stream=True)
        *others, last = await self._checked()
        for number in others:
            with suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
                return await self._http.send(self._pinned(request, number), stream=True)
        return await self._http.send(self._pinned(request, last), stream=True)

    async def _checked(self) -> list[str]:
        trouble = Trouble(self.address.base)
        try:
            return [where[0] for _, where in await places_of(self.address, near_only=True)]
        except UnicodeError as error:
            raise trouble.no_host() from error
        except OSError as error:
            raise trouble.refused(error) from error

    def _pinned(self, request: httpx2.Request, number: str) -> httpx2.Request:
        """The request for one address of the server; it and its certificate are still asked for by name."""
        names = {"sni_hostname": self.address.host}
        return httpx2.Request(
            request.method,
            request.url.copy_with(host=number),
            headers=request.headers,
            content=request.content,
            extensions={**request.extensions, **names},
        )

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
        headers = await self._headers() | {"Accept-Encoding": "identity", "Content-Type": "application/json"}
        async with self._streams.post(path, headers, _encoded(body), stall_s) as stream:
            if not 200 <= stream.status < 300:
                raise self.refusal(await self._refused(stream, path))
            if _is_coded(stream):
                raise Trouble(self.address.base).encoded()
            yield stream

    async def _refused(self, stream: ByteStream, path: str) -> Answer:
        body = bytearray()
        if not _is_coded(stream):
            async for chunk, _ in stream.reads():
                body += chunk
                if len(body) > ERROR_BYTES:
                    break
        return Answer(stream.status, stream.headers, bytes(body[:ERROR_BYTES]), "POST", path, len(body) > ERROR_BYTES)

    async def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json, text/event-stream"}
        secret = await self.options.credential()
        if secret:
            headers["Authorization"] = f"Bearer {secret}"
        return headers

    def _build(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        headers: dict[str, str],
        timeout: httpx2.Timeout,
    ) -> httpx2.Request:
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = _encoded(body)
        url = self.address.base + path
        return self._http.build_request(method, url, headers=headers, content=content, timeout=timeout)


def _encoded(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode("ascii")


def _is_coded(stream: ByteStream) -> bool:
    """Whether the body is compressed, which was not asked for, as content or for its transfer (RFC 9112, 6.1)."""
    content = stream.headers.get("content-encoding", "").strip().lower()
    transfer = {coding.strip().lower() for coding in stream.headers.get("transfer-encoding", "").split(",")}
    return content not in ("", "identity") or bool(transfer - {"", "identity", "chunked"})


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
