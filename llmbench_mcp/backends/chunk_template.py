"""Stream chunks that differ from the one before in one piece of text only, read without parsing all of them again.

A server repeats everything around the text of a delta: id, model, role of fields, even their order. From a chunk that
was parsed, the bytes before and after its text are remembered. A chunk between whose same beginning and same end
lies one JSON string is, by JSON's grammar, that same object with that other text. Anything else is parsed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Field = Literal["content", "reasoning_content", "reasoning", "thinking"]
FIELDS: tuple[Field, ...] = ("content", "reasoning_content", "reasoning", "thinking")
_PROBE = "probe-5b1f6a0c"
_BACKOFF_MOST = 256


@dataclass(frozen=True, slots=True)
class Template:
    """Bytes around the text of ``choices[0].delta[field]``, quotes included."""

    field: Field
    before: bytes
    after: bytes
    event_before: bytes
    event_after: bytes

    def text(self, data: bytes) -> str | None:
        """The text of a chunk of this shape, None for any other."""
        return _between(self.before, data, self.after)

    def text_of_event(self, event: bytes) -> str | None:
        """The text of a whole server-sent event that is nothing but a chunk of this shape, else None.

        No string of JSON holds a line end, so that such an event ends where it seems to.
        """
        return _between(self.event_before, event, self.event_after)


def _between(before: bytes, data: bytes, after: bytes) -> str | None:
    """What the one JSON string means of which the rest of ``data`` is the inside."""
    if not (data.startswith(before) and data.endswith(after) and len(data) >= len(before) + len(after)):
        return None
    try:
        text = data[len(before) : len(data) - len(after)].decode("utf-8")
    except UnicodeDecodeError:
        return None
    if text.isprintable() and '"' not in text and "\\" not in text:
        return text
    return _literal(text)


def _literal(inside: str) -> str | None:
    """What a JSON string with that between its quotes means; None when it is not one string."""
    try:
        value = json.loads(f'"{inside}"')
    except ValueError:
        return None
    return value if isinstance(value, str) else None


class TemplateMaker:
    """Makes templates of parsed chunks, ever more rarely while they fit nothing that follows."""

    def __init__(self) -> None:
        self._skip = 0
        self._backoff = 0

    def make(self, data: bytes, chunk: Mapping[str, Any]) -> Template | None:
        """The template of a chunk that carries one text and nothing else worth noting, else None."""
        if self._skip:
            self._skip -= 1
            return None
        if b"\n" in data or b"\r" in data:
            return None  # of several lines: an event of one line is never like it
        self._backoff = min(_BACKOFF_MOST, self._backoff * 2 + 1)
        self._skip = self._backoff
        field = _only_text(chunk)
        return _around(data, chunk, field) if field else None

    def fitted(self) -> None:
        """The template made last fits: the next one may be made at once."""
        self._skip = self._backoff = 0


def _only_text(chunk: Mapping[str, Any]) -> Field | None:
    """The field of the only text in a chunk without error, finish reason, tool calls, or any figures (usage, ...)."""
    choices = chunk.get("choices")
    if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
        return None
    if chunk.get("error") or chunk.get("object") == "error" or _has_more(chunk, "choices"):
        return None
    delta = choices[0].get("delta")
    if choices[0].get("finish_reason") is not None or not isinstance(delta, dict) or _has_more(delta):
        return None
    with_text = [name for name in FIELDS if delta.get(name)]
    return with_text[0] if len(with_text) == 1 and isinstance(delta[with_text[0]], str) else None


def _has_more(values: Mapping[str, Any], but: str = "") -> bool:
    """Whether there are objects or lists, which may mean something, beside the one named."""
    return any(value and isinstance(value, dict | list) for name, value in values.items() if name != but)


def _around(data: bytes, chunk: Mapping[str, Any], field: Field) -> Template | None:
    """Where the text stands, proven: with another text in its place, that and nothing else must change."""
    for blank in (b"", b" "):
        start = data.find(b'"%s":%s"' % (field.encode(), blank))
        if start < 0:
            continue
        begin = start + len(field) + len(blank) + 4
        end = _closing_quote(data, begin)
        template = _template(field, data[:begin], data[end:])
        return template if end >= 0 and _proven(template, chunk) else None
    return None


def _template(field: Field, before: bytes, after: bytes) -> Template:
    return Template(field, before, after, b"data: " + before, after + b"\n\n")


def _closing_quote(data: bytes, begin: int) -> int:
    """Index of the quote that ends the string whose inside begins at ``begin``, -1 when there is none."""
    at = begin
    while (at := data.find(b'"', at)) >= 0:
        slashes = len(data[begin:at]) - len(data[begin:at].rstrip(b"\\"))
        if slashes % 2 == 0:
            return at
        at += 1
    return -1


def _proven(template: Template, chunk: Mapping[str, Any]) -> bool:
    probe = template.before + _PROBE.encode() + template.after
    try:
        found = json.loads(probe.decode("utf-8"))
        there = found["choices"][0]["delta"]
        was, there[template.field] = there[template.field], chunk["choices"][0]["delta"][template.field]
    except (ValueError, RecursionError, LookupError, TypeError):
        return False
    return bool(was == _PROBE and found == chunk)
