"""New inputs made from a task's own: the same ones for every model, because the seed is the task's."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

_LARGE = 50
_MAX_LENGTH = 1_000
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def variants(inputs: Sequence[tuple[Any, ...]], seed: int, count: int) -> list[tuple[Any, ...]]:
    """Up to ``count`` argument lists like ``inputs`` but unlike each of them, from a generator seeded with ``seed``."""
    rng = random.Random(seed)  # noqa: S311 - repeatable on purpose
    found: list[tuple[Any, ...]] = []
    for _ in range(count * 10):
        if len(found) == count or not inputs:
            break
        made = tuple(_mutated(argument, rng) for argument in rng.choice(inputs))
        if made not in found and made not in inputs:
            found.append(made)
    return found


def boundaries(inputs: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The first input with one argument at a time empty, single or large."""
    found: list[tuple[Any, ...]] = []
    for position, argument in enumerate(inputs[0] if inputs else ()):
        for extreme in _extremes(argument):
            made = (*inputs[0][:position], extreme, *inputs[0][position + 1 :])
            if made not in found and made not in inputs:
                found.append(made)
    return found


def _extremes(value: Any) -> list[Any]:
    if type(value) is int:
        return [0, 1, value * 10]
    if type(value) in (str, list, tuple):
        times = max(1, min(_LARGE, _MAX_LENGTH // max(1, len(value))))
        return [value[:0], value[:1], value * times]
    return [{}] if type(value) is dict else []


def _mutated(value: Any, rng: random.Random) -> Any:
    change = _CHANGES.get(type(value))
    return value if change is None else change(value, rng)


def _int(value: int, rng: random.Random) -> int:
    size = max(10, 2 * abs(value))
    return rng.randint(-size if value < 0 else 0, size)


def _float(value: float, rng: random.Random) -> float:
    return round(value * rng.uniform(0.1, 3) + rng.choice((0, 0, 1)), 3)


def _str(value: str, rng: random.Random) -> str:
    letters = list(value)
    if letters and rng.random() < 0.3:
        rng.shuffle(letters)
    alphabet = value + (_LETTERS if any(letter.isalpha() for letter in value) else "")
    for _ in range(rng.randint(1, 3)):
        position = rng.randint(0, len(letters))
        step = rng.random()
        if step < 0.4 and letters:
            del letters[min(position, len(letters) - 1)]
        elif alphabet:
            letters.insert(position, rng.choice(alphabet))
    return "".join(letters)


def _list(value: list[Any], rng: random.Random) -> list[Any]:
    items = [_mutated(item, rng) if rng.random() < 0.6 else item for item in value]
    step = rng.random()
    if step < 0.3 and items:
        del items[rng.randrange(len(items))]
    elif step < 0.6 and items:
        items.insert(rng.randint(0, len(items)), _mutated(rng.choice(items), rng))
    elif step < 0.8:
        rng.shuffle(items)
    return items


def _dict(value: dict[Any, Any], rng: random.Random) -> dict[Any, Any]:
    kept = {key: _mutated(item, rng) for key, item in value.items()}
    if kept and rng.random() < 0.3:
        del kept[rng.choice(list(kept))]
    return kept


_CHANGES: dict[type, Callable[[Any, random.Random], Any]] = {
    bool: lambda _value, rng: rng.random() < 0.5,
    int: _int,
    float: _float,
    str: _str,
    list: _list,
    tuple: lambda value, rng: tuple(_mutated(item, rng) for item in value),
    dict: _dict,
}
