"""As much HTTP/1.1 as one page needs: one small request a connection, everything bounded."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qs

HEAD_BYTES = 16 * 1024
_BODY_BYTES = 16 * 1024
_REQUEST = re.compile(r"(GET|POST) (/[\x21-\x7e]*) HTTP/1\.[01]")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e\x80-\xff\t]*)")
FORM = "application/x-www-form-urlencoded"


class Refused(Exception):
    """The request is answered with ``status`` and no more."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request; header names are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""

    def form(self) -> dict[str, str]:
        """The fields of a submitted form. Raises Refused when it is none, or a field comes twice."""
        if self.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        try:
            fields = parse_qs(self.body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=10)
        except ValueError:
            raise Refused(HTTPStatus.BAD_REQUEST) from None
        if any(len(values) > 1 for values in fields.values()):
            raise Refused(HTTPStatus.BAD_REQUEST)
        return {name: values[0] for name, values in fields.items()}


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """An HTML answer."""

    status: HTTPStatus
    html: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        """As it goes over the wire; the connection ends with it."""
        body = (self.html or f"<!doctype html><title>{self.status.phrase}</title>{self.status.phrase}").encode()
        lines = [
            f"HTTP/1.1 {self.status.value} {self.status.phrase}",
            "Content-Type: text/html; charset=utf-8",
            f"Content-Length: {len(body)}",
            "Connection: close",
            *(f"{name}: {value}" for name, value in self.headers.items()),
        ]
        return "\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + body


async def read_request(reader: asyncio.StreamReader) -> PageRequest:
    """One request, read whole.

    Raises:
        Refused: malformed, ambiguous or too large.
        EOFError: the other side hung up.
    """
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.LimitOverrunError:
        raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from None
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    found = _REQUEST.fullmatch(first)
    if found is None:
        raise Refused(HTTPStatus.BAD_REQUEST)
    headers = _headers(lines)
    body = await reader.readexactly(_length(headers)) if found[1] == "POST" else b""
    return PageRequest(found[1], found[2], headers, body)


def _headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        found = _HEADER.fullmatch(line)
        if found is None or found[1].lower() in headers:
            raise Refused(HTTPStatus.BAD_REQUEST)
        headers[found[1].lower()] = found[2].strip()
    return headers


def _length(headers: Mapping[str, str]) -> int:
    text = headers.get("content-length", "")
    if "transfer-encoding" in headers or not re.fullmatch(r"\d{1,9}", text):
        raise Refused(HTTPStatus.LENGTH_REQUIRED)
    if int(text) > _BODY_BYTES:
        raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return int(text)
