"""Ollama's chat stream: one JSON object a line, put together into one Completion.

Format: Ollama's ``docs/api.md``: newline-delimited JSON, the last object with ``done`` true, ``done_reason``, token
counts and durations in nanoseconds, where zeros are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from llmbench_mcp.backends.client import parse_json
from llmbench_mcp.backends.failures import error_object
from llmbench_mcp.backends.openai_stream import ChatStream
from llmbench_mcp.domain.chat import Completion, Timing, Watch
from llmbench_mcp.domain.errors import ProtocolError
from llmbench_mcp.domain.text import one_line

LINE_BYTES = 1024 * 1024
COLD_S = 0.5
"""A load shorter than this inside a call is the server's book-keeping, which every call shows."""

_DURATIONS = {
    "total_duration": "total_s",
    "load_duration": "load_s",
    "prompt_eval_duration": "prompt_eval_s",
    "eval_duration": "eval_s",
}
_LONGEST_S = 30 * 86_400.0


class LineSplitter:
    """Lines from bytes, however the network cut them. Only LF ends a line: text may hold U+2028 and the like."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines this read completed. Raises ProtocolError when one grows beyond LINE_BYTES."""
        head, found, tail = chunk.rpartition(b"\n")
        lines = bytes(self._rest + head).split(b"\n") if found else []
        if found:
            self._rest.clear()
        self._rest += tail
        if len(self._rest) > LINE_BYTES or any(len(line) > LINE_BYTES for line in lines):
            raise ProtocolError(f"The server sent a stream line of more than {LINE_BYTES} bytes.")
        return [line for line in lines if line.strip()]

    def close(self) -> list[bytes]:
        """What the end of the stream left without its line end, if anything."""
        rest, self._rest = bytes(self._rest), bytearray()
        return [rest] if rest.strip() else []


class OllamaStream(ChatStream):
    """Feed it lines; ask it for the completion at the end."""

    def __init__(self, watch: Watch | None = None) -> None:
        super().__init__(watch)
        self._last: Mapping[str, Any] = {}
        self._called = False

    def feed(self, events: Iterable[bytes], stamp: float) -> None:
        """The lines that one read completed, and when it came. Nothing counts after the last object."""
        for line in events:
            if not (self.done or self.ended):
                self._line(line, stamp)

    def _line(self, line: bytes, stamp: float) -> None:
        found = parse_json(line.decode("utf-8", "replace"))  # a bad byte costs its character, not the line
        if not isinstance(found, dict):
            self.bad_events += 1
            return
        message = found.get("message")
        if found.get("done") is True or found.get("error") or not isinstance(message, dict):
            self._ending(found, stamp)
            return
        self._called = self._called or bool(message.get("tool_calls"))
        self._piece(found.get("model"), message, stamp)

    def _piece(self, model: Any, message: dict[str, Any], stamp: float | None) -> None:
        if isinstance(model, str) and model:
            self._model = model
        self.saw_choice = True
        self._delta(message, stamp)

    def _ending(self, found: dict[str, Any], stamp: float) -> None:
        """An error, the last object, or something else that says nothing."""
        self.error = error_object(found)
        if self.error or found.get("done") is not True:
            return
        message = found.get("message")
        if isinstance(message, dict):
            self._called = self._called or bool(message.get("tool_calls"))
            # A server that does not stream sends this object only: then no delta was observed.
            self._piece(found.get("model"), message, stamp if self.saw_choice else None)
        self._usage = {"prompt_tokens": found.get("prompt_eval_count"), "completion_tokens": found.get("eval_count")}
        self.finish_reason = self._reason(found.get("done_reason"))
        self._last, self.done = found, True

    def _reason(self, said: Any) -> str | None:
        """Ollama says ``stop`` after tool calls too."""
        if not isinstance(said, str) or not said:
            return None
        return "tool_calls" if said == "stop" and self._called else one_line(said, 64)

    def finish(self, error: str | None = None) -> Completion:
        """The completion so far, with the server's own figures beside ours."""
        completion = super().finish(error)
        return replace(completion, timing=with_server(completion.timing, self._last))


def with_server(timing: Timing, last: Mapping[str, Any]) -> Timing:
    """``timing`` with the figures of the last object; a call that loaded the model has no warm times to first token."""
    figures = {ours: s for name, ours in _DURATIONS.items() if (s := _seconds(last.get(name))) is not None}
    prefill = _rate(last.get("prompt_eval_count"), figures.get("prompt_eval_s"))
    decode = _rate(last.get("eval_count"), figures.get("eval_s"))
    figures |= {"eval_tps": decode} if decode is not None else {}
    timing = replace(timing, prefill_tps=prefill, server=figures)
    return _cold(timing) if figures.get("load_s", 0.0) >= COLD_S else timing


def _cold(timing: Timing) -> Timing:
    observed = {"cold_ttft_s": timing.ttft_s, "cold_ttfat_s": timing.ttfat_s}
    kept = {name: s for name, s in observed.items() if s is not None}
    return replace(timing, ttft_s=None, ttfat_s=None, server={**timing.server, **kept})


def _seconds(nanoseconds: Any) -> float | None:
    if not isinstance(nanoseconds, int | float) or isinstance(nanoseconds, bool):
        return None
    seconds = nanoseconds / 1e9 if abs(nanoseconds) < 1e18 else _LONGEST_S
    return seconds if 0 < seconds < _LONGEST_S else None


def _rate(count: Any, seconds: float | None) -> float | None:
    usable = isinstance(count, int) and not isinstance(count, bool) and 0 < count < 2**53
    return count / seconds if usable and seconds else None
