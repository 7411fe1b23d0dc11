"""The JSON value an answer consists of, or holds in one fenced block."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, NoReturn

from llmbench_validators import fences

MAX_DEPTH = 64
_MAX_FENCES = 400
_TAGGED = ("json", "jsonc", "json5")


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    """``value`` counts only where ``problem`` is None; ``text`` is what was read and ``extractor`` how it was found."""

    value: Any
    text: str
    extractor: str | None
    problem: str | None = None


def find(text: str) -> JsonAnswer:
    """The whole text as JSON, else its only fenced block that is marked as JSON, else its only unmarked block.

    Strict JSON by RFC 8259: no NaN, no number beyond a double, nothing after the value; at most 64 levels deep.
    """
    whole = read(text, "whole text")
    if whole.problem is None:
        return whole
    if text.count("```") + text.count("~~~") > _MAX_FENCES:
        return JsonAnswer(None, text, None, "there are too many fenced blocks")
    blocks = fences.blocks(text)
    found = [block for block in blocks if block.language in _TAGGED] or [b for b in blocks if not b.language]
    if len(found) == 1:
        return read(found[0].text, "fenced block")
    if found:
        return JsonAnswer(None, text, None, f"{len(found)} fenced blocks could be the JSON; one is wanted")
    if text.lstrip()[:1] in ("{", "["):
        return whole
    return JsonAnswer(None, text, None, "the answer is no JSON and has no block of it")


def read(text: str, extractor: str) -> JsonAnswer:
    """``text`` as one JSON value."""
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        return JsonAnswer(None, text, extractor, f"the JSON is nested deeper than {MAX_DEPTH} levels")
    except ValueError as error:
        return JsonAnswer(None, text, extractor, f"the {extractor} is no JSON ({error})")
    if is_deep(value):
        return JsonAnswer(None, text, extractor, f"the JSON is nested deeper than {MAX_DEPTH} levels")
    return JsonAnswer(value, text, extractor)


def is_deep(value: Any) -> bool:
    """Whether lists and objects lie in each other more than MAX_DEPTH levels deep."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number
