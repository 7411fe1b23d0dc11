"""Tests made from a task's reference solution: random variants and boundaries of its own inputs.

A task may bring code of its own that draws random inputs; it runs in the sandbox too.

The expected values come from the reference solution, which runs in the sandbox like any answer; inputs it does
not accept are left out. What was computed once is kept for the life of the process.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from llmbench_validators import mutate, wire
from llmbench_validators.coding_spec import CodingSpec, Test
from llmbench_validators.types import ValidationSpecError

RANDOM_TESTS = 20
_KEPT = 512
_SECONDS_EACH = 1.0
_DRAW = """
def draw_inputs_(seed):
    import random
    return list(random_inputs(random.Random(seed)))
"""

Run = Callable[[dict[str, Any], float], dict[str, Any]]
Generated = tuple[tuple[Test, ...], tuple[Test, ...]]

_cache: OrderedDict[str, Generated] = OrderedDict()
_lock = threading.Lock()


def generated(task: CodingSpec, run: Run) -> Generated:
    """Random and boundary tests of ``task``; the latter only when it is randomizable, the former also when it draws
    inputs itself. Raises ValidationSpecError when that fails, and as ``run`` does."""
    inputs = [test.args for test in task.base if not test.kwargs]
    if not task.random_inputs and not (task.randomizable and inputs):
        return (), ()
    key = _fingerprint(task)
    with _lock:
        if key in _cache:
            _cache.move_to_end(key)
            return _cache[key]
    made = _generate(task, inputs, int(key[:15], 16), run)
    with _lock:
        _cache[key] = made
        while len(_cache) > _KEPT:
            _cache.popitem(last=False)
    return made


def _fingerprint(task: CodingSpec) -> str:
    """Changes with everything the tests depend on, and with nothing else: it is the generator's seed too."""
    inputs = [wire.encode(list(test.args)) for test in task.base]
    parts = [
        task.function,
        task.reference,
        task.setup_code,
        inputs,
        *([task.compare] if task.compare == "argument" else []),
        *([task.random_inputs] if task.random_inputs else []),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _generate(task: CodingSpec, inputs: Sequence[tuple[Any, ...]], seed: int, run: Run) -> Generated:
    variants = _drawn(task, inputs, seed, run) if task.random_inputs else mutate.variants(inputs, seed, RANDOM_TESTS)
    extremes = mutate.boundaries(inputs) if task.randomizable else []
    calls = [[list(args), {}] for args in (*variants, *extremes)]
    job = {
        "code": task.reference,
        "function": task.function,
        "imports": list(task.imports),
        "compare": task.compare,
        "watched": task.compare == "argument",
        "timeout_s": _SECONDS_EACH,
        "memory_mb": task.memory_mb,
        "calls": calls,
    }
    values = run(job, 8 * _SECONDS_EACH * len(calls) + 60)["values"]
    tests = [
        Test(args, {}, _as_json(value)) if good else None
        for args, (good, value) in zip((*variants, *extremes), values, strict=True)
    ]
    kept, edges = tests[: len(variants)], tests[len(variants) :]
    return tuple(test for test in kept if test), tuple(test for test in edges if test)


def _drawn(task: CodingSpec, known: Sequence[tuple[Any, ...]], seed: int, run: Run) -> list[tuple[Any, ...]]:
    """What the task's own code draws, without repeats and what can be seen already."""
    job = {
        "code": f"{task.random_inputs}\n{_DRAW}",
        "function": "draw_inputs_",
        "imports": [],
        "timeout_s": _SECONDS_EACH,
        "memory_mb": task.memory_mb,
        "calls": [[[seed + number], {}] for number in range(RANDOM_TESTS)],
    }
    drawn: list[tuple[Any, ...]] = []
    for good, args in run(job, 8 * _SECONDS_EACH * RANDOM_TESTS + 60)["values"]:
        if not good or not isinstance(args, list):
            raise ValidationSpecError("random_inputs: failed, or returned no list of arguments")
        if tuple(args) not in (*known, *drawn):
            drawn.append(tuple(args))
    return drawn


def _as_json(value: Any) -> Any:
    """Tuples as lists, so that these tests ask no more than the ones written down, which cannot hold a tuple."""
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items()}
    return value
