"""Token counts as OpenAI-compatible servers report them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmbench_mcp.domain.chat import Usage


def parse_usage(usage: Any, timings: Any = None) -> Usage | None:
    """Usage from a ``usage`` object, else from llama.cpp's ``timings``; None when neither counts anything.

    Some servers fill the fields with 0 and count nothing: no prompt is empty, so that is no count either.
    """
    return _from_usage(usage) or _from_timings(timings)


def _from_usage(usage: Any) -> Usage | None:
    if not isinstance(usage, Mapping):
        return None
    found = Usage(
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        reasoning_tokens=_detail(usage, "completion_tokens_details", "reasoning_tokens", "reasoning"),
        cached_tokens=_detail(usage, "prompt_tokens_details", "cached_tokens"),
    )
    return found if found.prompt_tokens or found.completion_tokens else None


def _from_timings(timings: Any) -> Usage | None:
    """llama.cpp counts without usage: ``prompt_n`` leaves out the ``cache_n`` tokens taken from its cache."""
    if not isinstance(timings, Mapping):
        return None
    fresh, cached = _count(timings.get("prompt_n")), _count(timings.get("cache_n"))
    prompt = None if fresh is None else fresh + (cached or 0)
    found = Usage(prompt_tokens=prompt, completion_tokens=_count(timings.get("predicted_n")), cached_tokens=cached)
    return None if found == Usage() else found


def _detail(usage: Mapping[str, Any], group: str, *names: str) -> int | None:
    inner = usage.get(group)
    places = [inner, usage] if isinstance(inner, Mapping) else [usage]
    counts = (_count(place.get(name)) for place in places for name in names)
    return next((count for count in counts if count is not None), None)


def _count(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    valid = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if valid else None
