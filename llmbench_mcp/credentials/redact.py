"""Keeps keys out of whatever is shown, stored or logged."""

from __future__ import annotations

import base64
import json
import logging
import re
from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from typing import Protocol, TypeVar
from urllib.parse import quote, quote_plus

from llmbench_mcp.domain.text import visible

PLACEHOLDER = "[redacted]"
_MIN_LENGTH = 8
_HEADER = re.compile(r"(?i)\b(bearer|basic)(\s{1,5}|%20|\+)(?=[^\s\"'<>,;]{0,300}\d)[A-Za-z0-9._~+/=%-]{8,2000}")
_KEY_NAME = r"api[-_]?key|x-api-key|access[-_]?token|auth[-_]?token|token|secret|password|signature|sig|key"
_QUERY = re.compile(rf"(?i)([?&;](?:{_KEY_NAME})=)[^&;#\s\"'<>]+")
_ESCAPE = re.compile(r"(?:%|\\u00)([0-9a-f]{2})")
_MOST_ESCAPES = 4
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
        self._known: dict[str, _Key] = {}
        for secret in secrets:
            self.add(secret)

    def add(self, secret: Revealable) -> None:
        """Know one more; secrets under 8 characters are not known, or common words would vanish."""
        value = secret.reveal()
        if len(value) < _MIN_LENGTH or value in self._known:
            return
        longer_first = sorted([*self._known.values(), _Key(value)], key=lambda key: len(key.value), reverse=True)
        self._known = {key.value: key for key in longer_first}  # a new one: others may be reading in their threads

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
        if self._known:
            variants = _variants(text)
            for key in self._known.values():
                if key.is_in(variants):
                    text = key.pattern.sub(PLACEHOLDER, text)
        return text

    def redact(self, text: str) -> str:
        """``text`` without known secrets and without what looks like one: right for logs and messages."""
        text = self.redact_known(text)
        text = _HEADER.sub(rf"\1 {PLACEHOLDER}", text)
        text = _QUERY.sub(rf"\1{PLACEHOLDER}", text)
        return _FIELD.sub(rf"\1{PLACEHOLDER}", text)


class RedactingFormatter(logging.Formatter):
    """Formats log records, tracebacks included, without the secrets that ``redactor`` knows or suspects.

    A record begins one line and no more, and holds nothing that a terminal would obey: servers' text stands in it.
    """

    def __init__(self, redactor: Redactor, layout: str, dates: str | None = None) -> None:
        super().__init__(layout, dates)
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """The whole text of one record; all lines but its first are indented."""
        text = visible(self._redactor.redact(super().format(record)))
        return text.replace("\n", "\n  ")


class _Key:
    """One secret and how it is found: a quick look first, since most texts hold none."""

    def __init__(self, value: str) -> None:
        self.value = value
        self._forms = forms_of(value)
        self._sought = {form.casefold() for form in self._forms} | set(_variants(value))

    def is_in(self, variants: Collection[str]) -> bool:
        """Whether a text may hold the secret, by the text's ``_variants``."""
        return any(form in variant for variant in variants for form in self._sought)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Every form of it, the longest first, but before all with escapes, which the plain form would cut short."""
        forms = sorted(self._forms, key=len, reverse=True)
        return re.compile("|".join([_spelled(self.value), *map(re.escape, forms)]), re.I)


def _variants(text: str) -> list[str]:
    """``text`` without case, as it is and with its escapes undone once, twice, and so on."""
    found = [text.casefold()]
    for _ in range(_MOST_ESCAPES):
        undone = _ESCAPE.sub(_unescaped, found[-1])
        if undone == found[-1]:
            break
        found.append(undone)
    return found


def _unescaped(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)).casefold()


def _spelled(value: str) -> str:
    """A pattern of the key, any of its characters perhaps written as ``%2d``, ``%252d`` or ``\\u002d``."""
    return "".join(rf"(?:(?:%(?:25){{0,3}}|\\u00){ord(char):02x}|{re.escape(char)})" for char in value)


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
