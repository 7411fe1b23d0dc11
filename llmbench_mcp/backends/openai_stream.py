"""OpenAI chat-completion chunks put together into one Completion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from llmbench_mcp.backends.chunk_template import Template, TemplateMaker
from llmbench_mcp.backends.client import parse_json
from llmbench_mcp.backends.failures import ErrorObject, error_object
from llmbench_mcp.backends.stream_timing import StreamTimer
from llmbench_mcp.backends.token_usage import parse_usage
from llmbench_mcp.backends.tool_calls import ToolCallBuilder
from llmbench_mcp.domain.chat import Completion, Watch

TEXT_CHARS = 4 * 1024 * 1024
_REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")


class ChatStream:
    """Feed it the data of each event; ask it for the completion at the end.

    Accepts what servers really send: usage in any chunk, ``choices`` empty or null, tool calls whole or in
    fragments, an error object in mid-stream, a finish without ``[DONE]`` and the other way round.
    """

    def __init__(self, watch: Watch | None = None) -> None:
        self.timer = StreamTimer()
        self.cut: str | None = None
        self.headers: Mapping[str, str] = {}
        self.error: ErrorObject | None = None
        self.done = False
        self.finish_reason: str | None = None
        self.saw_choice = False
        self.bad_events = 0
        self.odd_choices = 0
        """Chunks that may have held text which could not be found; they are bad events, too."""
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls = ToolCallBuilder()
        self._template: Template | None = None
        self._texts = self._text
        self._maker = TemplateMaker()
        self._size = 0
        self._usage: Any = None
        self._timings: Any = None
        self._model: str | None = None
        self._watch = watch
        self._watched = (0, 0)

    @property
    def has_text(self) -> bool:
        """Whether anything worth keeping has come: answer, reasoning or a tool call."""
        return self._size > 0

    @property
    def size(self) -> int:
        """Characters that came, of whatever kind."""
        return self._size

    @property
    def too_long(self) -> bool:
        """Whether the answer outgrew what is kept."""
        return self._size > TEXT_CHARS

    @property
    def ended(self) -> bool:
        """Whether reading on is no use: an error came, too much text, or a stop rule cut it."""
        return self.error is not None or self.cut is not None or self.too_long

    @property
    def finished(self) -> bool:
        """Whether the server said that the answer is whole, or a stop rule cut it."""
        return self.done or self.finish_reason is not None or self.cut is not None

    def look(self) -> None:
        """Show the watch what came since the last look; its word cuts the stream."""
        if self._watch is None or self.ended:
            return
        thought, said = self._watched
        self._watched = (len(self._reasoning), len(self._text))
        new = "".join(self._reasoning[thought:]) + "".join(self._text[said:])
        self.cut = self._watch(new) if new else None

    def feed(self, events: Iterable[bytes], stamp: float) -> None:
        """The data of the events that one read completed, and when it came. Nothing counts after the end."""
        rest = iter(events)
        for data in rest:
            if self.done or self.ended:
                return
            if self._template is not None:
                odd = self._alike(self._template, data, rest, stamp)
                if odd is None or self.too_long:
                    return
                data = odd  # the first one that was not like the others
            self._event(data, stamp)

    def feed_read(self, read: bytes, stamp: float) -> bool:
        """Take a socket read that is one event like the last one and no more; False leaves it to the SSE parser.

        That is what nearly all reads of a stream are. The parser must stand between two events.
        """
        text = self._template.text_of_event(read) if self._template is not None else None
        if text is None or self.done or self.ended:
            return False
        if text:
            self._texts.append(text)
            self.timer.again(stamp)
            self._size += len(text)
        return True

    def _alike(self, template: Template, data: bytes, rest: Iterator[bytes], stamp: float) -> bytes | None:
        """Take ``data`` and what follows while it is like the last chunk parsed; returns the first that is not."""
        text_of, again = template.text, self.timer.again
        texts = self._texts
        before, size = len(texts), self._size
        odd: bytes | None = data
        while odd is not None and size <= TEXT_CHARS:
            text = text_of(odd)
            if text is None:
                break
            if text:
                texts.append(text)
                again(stamp)
                size += len(text)
            odd = next(rest, None)
        self._size = size
        if len(texts) > before:
            self._maker.fitted()
        return odd

    def _event(self, data: bytes, stamp: float) -> None:
        self._template = None
        if data.strip() == b"[DONE]":
            self.done = True
            return
        chunk = parse_json(data.decode("utf-8", "replace"))  # a bad byte costs its character, not the event
        if not isinstance(chunk, dict):
            self.bad_events += 1
            return
        self.feed_object(chunk, stamp)
        template = self._template = self._maker.make(data, chunk)
        if template is not None:
            self._texts = self._text if template.field == "content" else self._reasoning

    def feed_object(self, chunk: Mapping[str, Any], stamp: float | None) -> None:
        """A parsed chunk, or a whole non-streamed answer with ``stamp`` None (no delta was observed)."""
        self.error = error_object(chunk)
        if self.error:
            return
        model = chunk.get("model")
        if isinstance(model, str) and model:
            self._model = model
        self._usage = chunk.get("usage") or self._usage
        self._timings = chunk.get("timings") or chunk.get("stats") or self._timings  # stats: LM Studio
        choices = chunk.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            self._choice(choices[0], stamp)
        elif choices:
            self._odd_choice()

    def _odd_choice(self) -> None:
        self.odd_choices += 1
        self.bad_events += 1

    def _choice(self, choice: dict[str, Any], stamp: float | None) -> None:
        self.saw_choice = True
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            delta = choice.get("message")
        if isinstance(delta, dict):
            self._delta(delta, stamp)
        elif any(choice.get(name) for name in ("delta", "message", "text")):
            self._odd_choice()
        if isinstance(choice.get("finish_reason"), str):
            self.finish_reason = _whole(choice["finish_reason"][:64]) or self.finish_reason

    def _delta(self, delta: dict[str, Any], stamp: float | None) -> None:
        content = _text_of(delta.get("content"))
        reasoning = ""
        for name in _REASONING_FIELDS:
            reasoning = reasoning or _text_of(delta.get(name))
        calls = self._calls.add(delta["tool_calls"]) if delta.get("tool_calls") else 0
        self._text.append(content)
        self._reasoning.append(reasoning)
        self._size += len(content) + len(reasoning) + calls
        if stamp is not None and (content or reasoning or calls):
            self.timer.delta(stamp, reasoning=bool(reasoning), content=bool(content), call=bool(calls))

    def finish(self, error: str | None = None) -> Completion:
        """The completion so far; ``error`` says why it broke off, if it did."""
        usage = parse_usage(self._usage, self._timings)
        return Completion(
            text=_whole("".join(self._text)),
            reasoning=_whole("".join(self._reasoning)),
            tool_calls=self._calls.finish(),
            finish_reason=self.cut or self.finish_reason,
            usage=usage,
            timing=self.timer.finish(usage.completion_tokens if usage else None, self._timings),
            model=None if self._model is None else _whole(self._model),
            complete=error is None and self.finished,
            error=error,
            bad_events=self.bad_events,
        )


def _text_of(value: Any) -> str:
    """Text of a content field: a string, or a list of ``{"type": "text", "text": ...}`` parts."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        texts = (part.get("text") for part in value if isinstance(part, Mapping))
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def _whole(text: str) -> str:
    """``text`` with surrogate pairs that were split over events joined, and lone ones replaced."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
