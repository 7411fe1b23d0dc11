"""The answer that a task's own block says is right, graded like a model's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from llmbench_mcp.domain.chat import Completion, ToolCall, Turn
from llmbench_mcp.domain.task import Task


def reference_answer(task: Task) -> Completion | None:
    """The right answer as a model would give it; None for a block that only tells right from wrong."""
    block = task.validation
    if isinstance(block.get("reference_solution"), str) and block["reference_solution"]:
        return Completion(block["reference_solution"], finish_reason="stop")
    make = _MAKERS.get(str(block.get("type")))
    return make(block) if make else None


def _final(block: Mapping[str, Any]) -> Completion | None:
    answer = block.get("expected_answer")
    if answer is None:
        return None
    text = ", ".join(map(str, answer)) if isinstance(answer, list) else str(answer)
    return Completion(f"<answer>{text}</answer>", finish_reason="stop")


def _text(block: Mapping[str, Any]) -> Completion:
    expected = block.get("expected", "")
    return Completion(str(expected[0] if isinstance(expected, list) else expected), finish_reason="stop")


def _plan(block: Mapping[str, Any]) -> Completion:
    points = [point for point in block.get("rubric", ()) if isinstance(point, Mapping)]
    said = [_mentions(point.get("keywords", ()), point.get("match")) for point in points]
    return Completion("\n".join(f"We do {words}." for words in said), finish_reason="stop")


def _mentions(keywords: Sequence[Any], match: object) -> str:
    return ", ".join(map(str, keywords if match == "all" else keywords[:1]))


def _calls(block: Mapping[str, Any]) -> Completion:
    if isinstance(block.get("turns"), Sequence):
        answers = [_calls(turn) for turn in block["turns"] if isinstance(turn, Mapping)]
        return replace(answers[-1], turns=tuple(Turn(answer) for answer in answers)) if answers else Completion("")
    wanted = [call for call in block.get("expected_calls", ()) if isinstance(call, Mapping)]
    calls = tuple(ToolCall(str(call.get("function")), _arguments(call.get("arguments") or {})) for call in wanted)
    return Completion("" if calls else "None of the functions helps here.", tool_calls=calls, finish_reason="stop")


def _arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    options = {str(name): _option(value) for name, value in given.items()}
    return {name: value for name, value in options.items() if value is not _LEFT_OUT}


_LEFT_OUT = object()


def _option(value: Any) -> Any:
    """The first value that is allowed, as the block writes choices; what may be left out is."""
    if isinstance(value, Mapping) and value.get("optional") is True:
        return _LEFT_OUT
    if isinstance(value, Mapping) and isinstance(value.get("any_of"), list) and value["any_of"]:
        return _literal(value["any_of"][0])
    return value


def _literal(option: Any) -> Any:
    if isinstance(option, Mapping) and isinstance(option.get("fields"), Mapping):
        return {name: _first(values) for name, values in option["fields"].items()}
    if isinstance(option, Mapping) and isinstance(option.get("items"), list):
        return [_first(values) for values in option["items"]]
    return json.loads(json.dumps(option))


def _first(values: Any) -> Any:
    if isinstance(values, Mapping):
        return _option(values)
    return _literal(values[0]) if isinstance(values, list) and values else values


_MAKERS: Mapping[str, Callable[[Mapping[str, Any]], Completion | None]] = {
    "reasoning": _final,
    "exact": _text,
    "keyword": _text,
    "planning": _plan,
    "tool_use": _calls,
}
