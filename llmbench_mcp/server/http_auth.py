"""Who may ask the HTTP server: known hosts and origins, and where it matters a token."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.server.http_tokens import Tokens

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
HEALTH = "/healthz"
HEADER_LIMIT = 32 * 1024
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]{2,60}\]|[A-Za-z0-9._-]{1,253})(?::[0-9]{1,5})?")
_TOKEN_STEP = "Give one with --token-file or --token-env."  # noqa: S105 - a sentence
_A_TOKEN = ("a token is needed", _TOKEN_STEP)
_NAMES = (
    "the names it is reached by must be listed",
    "Give each name with --allow-host, for instance --allow-host bench.example.org.",
)


@dataclass(frozen=True, slots=True)
class Access:
    """What a request must show: a host and an origin of these, and a token where there are any.

    Hosts are names without a port, lower case, IPv6 in brackets; any port goes. Origins are exact. Loopback names, and
    pages of this machine where no other host is allowed, are always right.
    """

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    tokens: Tokens = field(default_factory=Tokens)

    def knows_host(self, header: str) -> bool:
        """Whether that ``Host`` header is of this server."""
        return _without_port(header) in (*LOOPBACK_HOSTS, *self.hosts)

    def knows_origin(self, header: str | None) -> bool:
        """Whether a page of that origin may ask; programs send none."""
        if header is None or header in self.origins:
            return True
        local = not self.hosts and header.startswith("http://")
        return local and _without_port(header.removeprefix("http://")) in LOOPBACK_HOSTS

    def for_sdk(self) -> TransportSecuritySettings:
        """The same for the SDK's own check, which is silently off for other hosts unless it is told."""
        hosts = (*LOOPBACK_HOSTS, *self.hosts)
        pages = () if self.hosts else tuple(f"http://{host}" for host in LOOPBACK_HOSTS)
        return TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=[*hosts, *(f"{host}:*" for host in hosts)],
            allowed_origins=[*self.origins, *pages, *(f"{page}:*" for page in pages)],
        )


def checked_access(bind: str, hosts: Sequence[str], origins: Sequence[str], tokens: Tokens) -> Access:
    """The access that a server bound to ``bind`` may be given.

    Raises:
        InputError: it would be open to strangers, or a host or origin is none.
    """
    allowed = tuple(_host(word) for word in hosts)
    foreign = tuple(host for host in allowed if host not in LOOPBACK_HOSTS)
    if not is_loopback(bind):
        lacks = ([] if tokens else [_A_TOKEN]) + ([] if foreign else [_NAMES])
        if lacks:
            what = " and ".join(what for what, _ in lacks)
            raise InputError(f"Others can reach {one_line(bind, 60)}, so {what}.", " ".join(step for _, step in lacks))
    elif foreign and not tokens:
        raise InputError(f"Whoever comes through a proxy as {foreign[0]} needs a token.", _TOKEN_STEP)
    return Access(foreign, tuple(_origin(word) for word in origins), tokens)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address or name."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _host(word: str) -> str:
    host = _without_port(word.strip())
    if not host:
        raise InputError(f"'{one_line(word, 60)}' is no host.", "Give a name or address, without http:// and path.")
    return host


def _origin(word: str) -> str:
    try:
        parts = urlsplit(word.strip())
        right = parts.scheme in ("http", "https") and parts.hostname and not parts.path and "*" not in word
    except ValueError:
        right = False
    if not right:
        raise InputError(f"'{one_line(word, 60)}' is no origin.", "Give it like https://bench.example.org, no path.")
    return word.strip()


def _without_port(header: str) -> str:
    """The name or address in lower case; empty for what is neither."""
    found = _HOST.fullmatch(header)
    return found[1].lower() if found else ""


class KnownHosts:
    """Turns away requests for another host, from another site's page, or with headers of unreasonable size."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and scope["path"] != HEALTH and (refusal := self._refusal(scope)):
            await refusal(scope, receive, send)
            return
        await self._app(_with_plain_host(scope), receive, send)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        sizes = sum(len(name) + len(value) for name, value in scope["headers"])
        if sizes + len(scope["raw_path"]) + len(scope["query_string"]) > HEADER_LIMIT:
            return refused(431, "The request's headers are too large.")
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) != 1 or not self._access.knows_host(headers["host"]):
            return refused(421, "This server does not answer for that host. Its operator may allow it: --allow-host.")
        if not self._access.knows_origin(headers.get("origin")):
            return refused(403, "Pages of that origin may not ask. The server's operator may allow it: --allow-origin.")
        return None


def _with_plain_host(scope: Scope) -> Scope:
    """With the host in lower case: the SDK compares letter by letter."""
    plain = [(name, value.lower() if name == b"host" else value) for name, value in scope.get("headers", ())]
    return scope if plain == scope.get("headers") else {**scope, "headers": plain}


class KnownTokens:
    """Where there are tokens, lets only their holders in, and says who asks: sessions belong to who opened them."""

    def __init__(self, app: ASGIApp, tokens: Tokens) -> None:
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and self._tokens and scope["path"] != HEALTH:
            holder = self._holder(scope)
            if holder is None:
                await _UNAUTHORIZED(scope, receive, send)
                return
            # The SDK compares client and subject; the token itself goes no further.
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=holder, scopes=[], subject=holder))
        await self._app(scope, receive, send)

    def _holder(self, scope: Scope) -> str | None:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1:
            return None
        scheme, _, token = given[0].decode("latin-1").partition(" ")
        return self._tokens.holder(token.strip()) if scheme.lower() == "bearer" else None


def asker(scope: Scope) -> str:
    """Who asks: the token holder's name, empty where there are no tokens."""
    user = scope.get("user")
    return user.access_token.client_id if isinstance(user, AuthenticatedUser) else ""


def refused(status: int, why: str, headers: dict[str, str] | None = None) -> PlainTextResponse:
    """An answer that turns a request away and closes its connection: a body may be unread."""
    return PlainTextResponse(f"{why}\n", status, {"connection": "close", **(headers or {})})


_UNAUTHORIZED = refused(
    401,
    "A token is needed: Authorization: Bearer ...",
    {"www-authenticate": 'Bearer realm="llmbench-mcp", error="invalid_token"'},
)
