"""Keeps keys out of whatever is shown, stored or logged."""

from __future__ import annotations

import base64
import json
import logging
import re
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar
from urllib.parse import quote, quote_plus

PLACEHOLDER = "[redacted]"
_MIN_LENGTH = 8
_HEADER = re.compile(r"(?i)\b(bearer|basic)(\s{1,5}|%20|\+)(?=[^\s\"'<>,;]{0,300}\d)[A-Za-z0-9._~+/=%-]{8,2000}")
_KEY_NAME = r"api[-_]?key|x-api-key|access[-_]?token|auth[-_]?token|token|secret|password|signature|sig|key"
_QUERY = re.compile(rf"(?i)([?&;](?:{_KEY_NAME})=)[^&;#\s\"'<>]+")
_FIELD = re.compile(
    r"(?i)(\b(?:x-api-key|api-key|authorization)\"?\s{0,5}[:=]\s{0,5}\"?)(?!bearer\b|basic\b)[^\s\"',;]{8,}"
)


class Revealable(Protocol):
    """A secret."""

    def reveal(self) -> str:
        """The secret itself."""
        ...


S = TypeVar("S", bound=Revealable | None)


class Redactor:
    """Replaces known secrets in every form they travel in, and what looks like a key by its place."""

    def __init__(self, secrets: Iterable[Revealable] = ()) -> None:
        self._values: set[str] = set()
        self._patterns: dict[str, int] = {}
        self._known: re.Pattern[str] | None = None
        for secret in secrets:
            self.add(secret)

    def add(self, secret: Revealable) -> None:
        """Know one more; secrets under 8 characters are not known, or common words would vanish."""
        value = secret.reveal()
        if len(value) < _MIN_LENGTH or value in self._values:
            return
        self._values.add(value)
        self._patterns |= {re.escape(form): len(form) for form in forms_of(value)} | {_spelled(value): len(value)}
        longest_first = sorted(self._patterns, key=lambda pattern: self._patterns[pattern], reverse=True)
        self._known = re.compile("|".join(longest_first), re.I)

    def remembering(self, resolve: Callable[[str], S]) -> Callable[[str], S]:
        """``resolve``, but every secret it gives is known from then on."""

        def resolved(reference: str) -> S:
            secret = resolve(reference)
            if secret is not None:
                self.add(secret)
            return secret

        return resolved

    def redact_known(self, text: str) -> str:
        """``text`` without the known secrets and otherwise unchanged: right for what models answer."""
        return text if self._known is None else self._known.sub(PLACEHOLDER, text)

    def redact(self, text: str) -> str:
        """``text`` without known secrets and without what looks like one: right for logs and messages."""
        text = self.redact_known(text)
        text = _HEADER.sub(rf"\1 {PLACEHOLDER}", text)
        text = _QUERY.sub(rf"\1{PLACEHOLDER}", text)
        return _FIELD.sub(rf"\1{PLACEHOLDER}", text)


class RedactingFormatter(logging.Formatter):
    """Formats log records, tracebacks included, without the secrets that ``redactor`` knows or suspects."""

    def __init__(self, redactor: Redactor, layout: str, dates: str | None = None) -> None:
        super().__init__(layout, dates)
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """The whole text of one record."""
        return self._redactor.redact(super().format(record))


def _spelled(value: str) -> str:
    """A pattern of the key, any of its characters perhaps written as ``%2d``, ``%252d`` or ``\\u002d``."""
    return "".join(rf"(?:{re.escape(char)}|(?:%(?:25){{0,3}}|\\u00){ord(char):02x})" for char in value)


def forms_of(value: str) -> set[str]:
    """Plain, URL-encoded, JSON-escaped, hex and base64 (alone, or anywhere inside something encoded with it)."""
    raw = value.encode()
    plain = {value, quote(value, safe=""), quote(value), quote_plus(value), json.dumps(value)[1:-1], raw.hex()}
    encoded = {form for offset in range(3) for form in _base64_inside(raw, offset)}
    return {form for form in plain | encoded if len(form) >= _MIN_LENGTH}


def _base64_inside(raw: bytes, offset: int) -> set[str]:
    """The characters that depend on ``raw`` alone when ``offset`` (mod 3) other bytes stand before it."""
    padded = bytes(offset) + raw
    start = 0 if offset == 0 else offset + 1
    stop = len(padded) * 8 // 6
    codes = (base64.b64encode(padded), base64.urlsafe_b64encode(padded))
    return {code.decode("ascii")[start:stop] for code in codes}
