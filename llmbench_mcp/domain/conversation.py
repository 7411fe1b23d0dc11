"""One conversation as one attempt: what its turns took together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from llmbench_mcp.domain.chat import Completion, Timing, Turn, Usage


def as_one(turns: Sequence[Turn]) -> Completion:
    """The last answer with the sums of all: tokens, seconds, gaps between tokens, and tokens per second while decoding.

    Times to the first token, and what the server told, are the first answer's, which alone stood before an unread
    prompt. A sum with an unknown part is unknown.
    """
    answers = [turn.answer for turn in turns]
    return replace(answers[-1], usage=_usage(answers), timing=_timing(answers), turns=tuple(turns))


def _usage(answers: Sequence[Completion]) -> Usage:
    used = [answer.usage or Usage() for answer in answers]
    return Usage(
        _sum([one.prompt_tokens for one in used]),
        _sum([one.completion_tokens for one in used]),
        _sum([one.reasoning_tokens for one in used]),
        _sum([one.cached_tokens for one in used]),
        any(one.estimated for one in used),
    )


def _timing(answers: Sequence[Completion]) -> Timing:
    times = [answer.timing for answer in answers]
    e2e_s = [one.e2e_s for one in times]
    return replace(
        times[0],
        e2e_s=None if None in e2e_s else sum(one or 0.0 for one in e2e_s),
        itl_s=tuple(gap for one in times for gap in one.itl_s),
        decode_tps=_decode_tps(answers),
    )


def _decode_tps(answers: Sequence[Completion]) -> float | None:
    """All tokens after their answer's first, over the seconds they took; of answers where both are known."""
    tokens = seconds = 0.0
    for answer in answers:
        count, rate = answer.usage and answer.usage.completion_tokens, answer.timing.decode_tps
        if count and count > 1 and rate:
            tokens, seconds = tokens + count - 1, seconds + (count - 1) / rate
    return tokens / seconds if seconds else None


def _sum(counts: Sequence[int | None]) -> int | None:
    return None if None in counts else sum(count or 0 for count in counts)
