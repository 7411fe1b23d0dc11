"""Inference-server addresses: one canonical base URL for every way people write them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.text import one_line

_API_TAIL = re.compile(r"(/v1)?(/(chat/completions|completions|models|embeddings|responses))?/*$")
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_NUMBERS = re.compile(r"(0x[0-9a-f]*|\d+)(\.(0x[0-9a-f]*|\d+))*", re.I)
_MOST_CHARS = 2000
_NEAR = tuple(
    map(
        ipaddress.ip_network,
        ("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),  # RFC 1918, RFC 4193
    )
)
_METADATA = frozenset(map(ipaddress.ip_address, ("fd00:ec2::254", "fd20:ce::254", "fd00:42::42")))
"""Where clouds (Amazon's, Google's, Scaleway's) tell their machines secrets, inside the private range."""
_HINT = "Give it like http://127.0.0.1:8080 or http://host:8000/v1."


@dataclass(frozen=True, slots=True)
class Address:
    """A normalised server address, its host in ASCII. ``base`` has no trailing slash and no ``/v1``; IPv6 keeps
    brackets."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> str:
        """Scheme, host and port: what a credential is bound to."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def base(self) -> str:
        """The URL requests are built from, e.g. ``http://[::1]:8080/llm/api``."""
        return self.origin + self.path


def parse_address(text: str) -> Address:
    """Normalise what a person or agent typed.

    ``/v1``, ``/v1/chat/completions`` and trailing slashes are dropped; a missing scheme means http.

    Raises:
        InputError: not an http(s) address, or it carries a user name or password.
    """
    typed = text.strip()
    if not typed or any(c.isspace() or ord(c) < 32 for c in typed):
        raise InputError("The server address is empty or has blanks in it.", _HINT)
    if len(typed) > _MOST_CHARS:
        raise InputError(f"The server address has {len(typed)} characters; at most {_MOST_CHARS} are taken.", _HINT)
    if not _SCHEME.match(typed):
        typed = f"http://{typed}"
    try:
        parts = urlsplit(typed)
        port = parts.port
    except ValueError as error:
        raise InputError("The server address cannot be read: bad host or port.", _HINT) from error
    _check_parts(parts)
    if port == 0:
        raise InputError("The server address has port 0, where nothing can listen.", _HINT)
    _check_host(parts.hostname or "")
    host = _plain(parts.hostname or "").rstrip(".")
    _check_host(host)
    default = 443 if parts.scheme == "https" else 80
    path = _API_TAIL.sub("", re.sub(r"/{2,}", "/", parts.path).rstrip("/"))
    return Address(parts.scheme, host, port or default, path)


def _check_parts(parts: SplitResult) -> None:
    if parts.username is not None or parts.password is not None:
        raise InputError(
            "The server address carries a user name or password, which would be stored and shown.",
            "Leave it out of the address and name a credential instead.",
        )
    if parts.scheme not in ("http", "https"):
        raise InputError(f"The scheme '{one_line(parts.scheme, 40)}' is not served; only http and https are.", _HINT)
    if not parts.hostname:
        raise InputError("The server address has no host.", _HINT)
    if parts.query or parts.fragment:
        raise InputError("The server address has a query or fragment, which a base address cannot have.", _HINT)


def _plain(host: str) -> str:
    """The host as it is looked up (RFC 3490): look-alikes of other scripts show, other forms of a letter do not."""
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        raise InputError(f"The host '{one_line(host, 80)}' is no host's name.", _HINT) from error


def _check_host(host: str) -> None:
    """Refuse the old shorthands of IPv4 (``2130706433``, ``0x7f.1``): what they lead to is not seen from them."""
    if not _NUMBERS.fullmatch(host):
        return
    try:
        ipaddress.IPv4Address(host)
    except ValueError as error:
        raise InputError(
            f"The host '{one_line(host, 40)}' is no IPv4 address in the usual form.",
            "Write it as four decimal numbers, like 127.0.0.1, or give the host's name.",
        ) from error


def is_loopback(host: str) -> bool:
    """Whether the host, by name or number, is this machine."""
    name = host.lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped_v4 = getattr(number, "ipv4_mapped", None)
    return bool((mapped_v4 or number).is_loopback)


def is_agent_reachable(resolved_ips: Iterable[str]) -> bool:
    """Whether an agent may add a server at these resolved addresses: all of them this machine's or private."""
    ips = [ipaddress.ip_address(ip.partition("%")[0]) for ip in resolved_ips]
    return bool(ips) and all(map(_is_near, ips))


def _is_near(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    mapped = getattr(ip, "ipv4_mapped", None)
    if mapped is not None:
        return _is_near(mapped)
    # Not what Python calls private: that has ranges, too, behind which any other address may be (6to4, Teredo).
    return any(ip in network for network in _NEAR) and ip not in _METADATA
