"""When the pieces of an answer came, and the rates that follow from it."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from operator import sub
from typing import Any

from llmbench_mcp.domain.chat import Timing

_SERVER_FIGURES = 32
_NAME_CHARS = 64


class StreamTimer:
    """Collects stamps (monotonic seconds); ``origin`` is when the request's last byte was handed over."""

    def __init__(self) -> None:
        self.origin: float | None = None
        self.end: float | None = None
        self._first_visible: float | None = None
        self._first_answer: float | None = None
        self._stamps = array("d")
        self.again = self._stamps.append
        """Notes the stamp of one more delta of a kind that ``delta`` has seen before."""

    def read(self, stamp: float) -> None:
        """Bytes came, of whatever meaning."""
        self.end = stamp

    def delta(self, stamp: float, *, reasoning: bool, content: bool, call: bool) -> None:
        """A non-empty delta came, holding at least one of the three."""
        if (reasoning or content) and self._first_visible is None:
            self._first_visible = stamp
        if (content or call) and self._first_answer is None:
            self._first_answer = stamp
        self._stamps.append(stamp)

    def finish(self, completion_tokens: int | None, server_timings: Any = None) -> Timing:
        """The timings; ``server_timings`` is llama.cpp's ``timings`` object or None."""
        figures = server_figures(server_timings)
        return Timing(
            ttft_s=self._since(self._first_visible),
            ttfat_s=self._since(self._first_answer),
            e2e_s=self._since(self.end),
            itl_s=tuple(map(sub, self._stamps[1:], self._stamps)),
            decode_tps=self._decode_tps(completion_tokens),
            prefill_tps=figures.get("prompt_per_second"),
            server=figures,
        )

    def _since(self, stamp: float | None) -> float | None:
        return None if stamp is None or self.origin is None else stamp - self.origin

    def _decode_tps(self, tokens: int | None) -> float | None:
        """(tokens - 1) / (last delta - first delta): the first token belongs to the time to first token."""
        if tokens is None or tokens < 2 or not self._stamps:
            return None
        span = self._stamps[-1] - self._stamps[0]
        return (tokens - 1) / span if span > 0 else None


def server_figures(timings: Any) -> dict[str, float]:
    """The finite numbers of a server's timings object, at most 32; those with odd names are left out."""
    if not isinstance(timings, Mapping):
        return {}
    numbers = (
        (name, float(value))
        for name, value in list(timings.items())[:_SERVER_FIGURES]
        if _is_name(name) and isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15
    )
    return {name: value for name, value in numbers if math.isfinite(value)}


def _is_name(name: Any) -> bool:
    """Whole and plain: what is cut short could no longer be recognised as a secret."""
    return isinstance(name, str) and 0 < len(name) <= _NAME_CHARS and name.isascii() and name.isprintable()
