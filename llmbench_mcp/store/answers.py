"""A model's answer as it is stored, and back: its text, reasoning and calls, and all its turns where it has some."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from llmbench_mcp.domain.chat import Completion, Timing, ToolCall, ToolResult, Turn, Usage
from llmbench_mcp.store.codec import dump
from llmbench_mcp.store.packing import Texts

_USED = ("prompt_tokens", "completion_tokens", "reasoning_tokens")
_TIMED = ("ttft_s", "ttfat_s", "e2e_s", "decode_tps")


def texts_of_answer(completion: Completion) -> Texts:
    """What is stored of a completion beside its columns."""
    calls = _calls(completion)
    told = {"calls": calls, "turns": [_turn(turn) for turn in completion.turns]} if completion.turns else calls
    return completion.text, completion.reasoning, dump(told)


def answer_of(texts: Texts, finish_reason: str | None) -> Completion:
    """The completion as far as it decides a verdict, turns with their figures."""
    told = json.loads(texts[2])
    calls, turns = (told["calls"], told["turns"]) if isinstance(told, dict) else (told, [])
    return Completion(
        texts[0], texts[1], _read_calls(calls), finish_reason, turns=tuple(_read_turn(turn) for turn in turns)
    )


def _calls(completion: Completion) -> list[dict[str, Any]]:
    return [asdict(call) for call in completion.tool_calls]


def _turn(turn: Turn) -> dict[str, Any]:
    answer, usage = turn.answer, turn.answer.usage or Usage()
    return {
        "text": answer.text,
        "reasoning": answer.reasoning,
        "calls": _calls(answer),
        "results": [asdict(result) for result in turn.results],
        "finish_reason": answer.finish_reason,
        "usage": {name: getattr(usage, name) for name in _USED},
        "timing": {name: getattr(answer.timing, name) for name in _TIMED},
    }


def _read_calls(calls: Sequence[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(call["name"], call["arguments"]) for call in calls)


def _read_turn(turn: Mapping[str, Any]) -> Turn:
    answer = Completion(
        turn["text"],
        turn["reasoning"],
        _read_calls(turn["calls"]),
        turn["finish_reason"],
        Usage(**turn["usage"]),
        Timing(**turn["timing"]),
    )
    return Turn(answer, tuple(ToolResult(**result) for result in turn["results"]))
