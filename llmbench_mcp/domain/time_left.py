"""How long work takes: what shares a device comes one after another, devices work at once, limits end it. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from llmbench_mcp.domain.endpoint import HOSTED
from llmbench_mcp.domain.run import RunLimits


@dataclass(frozen=True, slots=True)
class Stretch:
    """Requests alike, in a row. ``each_s``: what one adds to the time, None where nobody knows."""

    asks: float
    each_s: float | None
    each_tokens: float = 0.0


@dataclass(frozen=True, slots=True)
class Needed:
    """Seconds; where something is unknown, not ``is_whole``: at least so many."""

    seconds: float
    is_whole: bool


def lane_of(device: str, endpoint_id: str) -> str:
    """What one job at a time uses: its device; hosted servers share none, so each is a lane of its own."""
    return device if device != HOSTED else f"{HOSTED} {endpoint_id}"


def time_needed(lanes: Iterable[Sequence[Stretch]], limits: RunLimits) -> Needed:
    """How long the lanes take until all is asked or a limit is reached."""
    asked = [[stretch for stretch in lane if stretch.asks > 0] for lane in lanes]
    known = [[stretch for stretch in lane if stretch.each_s is not None] for lane in asked]
    is_whole = known == asked
    counts_down = limits.attempts is not None or limits.tokens is not None
    if not counts_down:
        seconds = max((sum(stretch.asks * (stretch.each_s or 0) for stretch in lane) for lane in known), default=0.0)
    else:  # what is unknown may reach such a limit soon
        seconds = _until_counted(known, limits) if is_whole else 0.0
    if limits.seconds is not None and seconds >= limits.seconds:
        return Needed(max(0.0, limits.seconds), True)
    return Needed(seconds, is_whole)


def _until_counted(lanes: Sequence[Sequence[Stretch]], limits: RunLimits) -> float:
    """From one end of a stretch to the next: between two, requests and tokens come evenly."""
    queues = [list(reversed(lane)) for lane in lanes]
    attempts = math.inf if limits.attempts is None else max(0, limits.attempts)
    tokens = math.inf if limits.tokens is None else max(0, limits.tokens)
    now = 0.0
    while heads := [queue[-1] for queue in queues if queue]:
        step = min(head.asks * _pace(head) for head in heads)
        asks_per_s = sum(1 / _pace(head) for head in heads)
        tokens_per_s = sum(head.each_tokens / _pace(head) for head in heads)
        stop = min(attempts / asks_per_s, tokens / tokens_per_s if tokens_per_s else math.inf)
        if stop <= step:
            return now + stop
        now, attempts, tokens = now + step, attempts - step * asks_per_s, tokens - step * tokens_per_s
        _work_off(queues, step)
    return now


def _pace(head: Stretch) -> float:
    return max(head.each_s or 0.0, 1e-6)


def _work_off(queues: Iterable[list[Stretch]], step: float) -> None:
    for queue in queues:
        if queue:
            head = queue.pop()
            left = head.asks - step / _pace(head)
            if left > 1e-9 * head.asks:
                queue.append(replace(head, asks=left))
