"""Inference-server addresses: one canonical base URL for every way people write them."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.text import one_line

_API_TAIL = re.compile(r"(/v1)?(/(chat/completions|completions|models|embeddings|responses))?/*$")
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_NUMBERS = re.compile(r"(0x[0-9a-f]*|\d+)(\.(0x[0-9a-f]*|\d+))*", re.I)
_MOST_CHARS = 2000
_HINT = "Give it like http://127.0.0.1:8080 or http://host:8000/v1."


@dataclass(frozen=True, slots=True)
class Address:
    """A normalised server address. ``base`` has no trailing slash and no ``/v1``; IPv6 keeps brackets."""

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
    host = (parts.hostname or "").rstrip(".")
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


def is_agent_reachable(resolved_ips: list[str]) -> bool:
    """Whether an agent may add a server at these resolved addresses: loopback or private, never link-local."""
    return bool(resolved_ips) and all(_is_near(ipaddress.ip_address(ip)) for ip in resolved_ips)


def _is_near(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    mapped = getattr(ip, "ipv4_mapped", None)
    if mapped is not None:
        return _is_near(mapped)
    if ip.is_loopback:
        return True
    if ip.is_link_local or ip.is_unspecified or ip.is_multicast or ip.is_reserved:
        return False
    return ip.is_private
