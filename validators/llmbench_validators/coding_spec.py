"""The VALIDATION block of a coding task, checked and put into the form the sandbox works with."""

from __future__ import annotations

import ast
import functools
import json
import keyword
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llmbench_validators import compare, task_code, wire
from llmbench_validators.types import ValidationSpecError

KEYS = (
    "type",
    "language",
    "function_name",
    "base_tests",
    "tests",
    "edge_tests",
    "hidden_tests",
    "randomizable",
    "random_inputs",
    "reference_solution",
    "test_code",
    "setup_code",
    "comparison",
    "compare",
    "trust",
    "timeout_s",
    "memory_mb",
)
"""Every key a block may hold; ``tests`` is the old name of ``base_tests``."""

COMPARED = ("result", "argument")
"""What expected values are of: what the function returns, or its first argument as it is after the call."""

TRUST = ("auto", "strong", "weak")
"""Whether test_code may run beside the answer: when nothing else will do, never, always."""

_TEST_KEYS = ("input", "args", "kwargs", "expected")
_TIMEOUT_S, _MEMORY_MB = 10.0, 512
_MAX_TIMEOUT_S, _MEMORY_RANGE = 300.0, (16, 16_384)


@dataclass(frozen=True, slots=True)
class Test:
    """One call and its expected value, all plain data."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    expected: Any


@dataclass(frozen=True, slots=True)
class CodingSpec:
    """A checked block. ``timeout_s`` is per stage, ``memory_mb`` beyond the interpreter's own size.

    ``random_inputs`` is code that defines ``random_inputs(rng)``, which returns the arguments of one call.
    """

    function: str
    base: tuple[Test, ...]
    edge: tuple[Test, ...]
    hidden: tuple[Test, ...]
    test_code: str
    setup_code: str
    imports: tuple[str, ...]
    reference: str
    randomizable: bool
    random_inputs: str
    comparison: str
    compare: str
    trust: str
    timeout_s: float
    memory_mb: int


def parse(block: Mapping[str, Any]) -> CodingSpec:
    """Check ``block``. Raises ValidationSpecError naming the key."""
    unknown = [key for key in block if key not in KEYS]
    if unknown:
        raise ValidationSpecError(f"coding: unknown key {unknown[0]!r}; allowed are {', '.join(KEYS)}")
    if block.get("language", "python") != "python":
        raise ValidationSpecError(f"language: {block['language']!r} is not supported; only python is")
    if "tests" in block and "base_tests" in block:
        raise ValidationSpecError("tests: the old name of base_tests; give one of the two")
    setup = _text(block, "setup_code")
    spec = CodingSpec(
        function=_function(block),
        base=_tests(block, "tests" if "tests" in block else "base_tests"),
        edge=_tests(block, "edge_tests"),
        hidden=_tests(block, "hidden_tests"),
        test_code=_text(block, "test_code"),
        setup_code=setup,
        imports=_imports(setup),
        reference=_text(block, "reference_solution"),
        randomizable=_randomizable(block),
        random_inputs=_random_inputs(block),
        comparison=_word(block, "comparison", compare.MODES),
        compare=_word(block, "compare", COMPARED),
        trust=_word(block, "trust", TRUST),
        timeout_s=_number(block, "timeout_s", _TIMEOUT_S, (0.1, _MAX_TIMEOUT_S)),
        memory_mb=int(_number(block, "memory_mb", _MEMORY_MB, _MEMORY_RANGE)),
    )
    if not spec.base and not spec.test_code:
        raise ValidationSpecError("base_tests: no test at all; give base_tests or test_code")
    declared = (*spec.base, *spec.edge, *spec.hidden)
    if spec.compare == "argument" and not all(test.args for test in declared):
        raise ValidationSpecError("compare: argument needs a positional argument in every test")
    return spec


def _function(block: Mapping[str, Any]) -> str:
    name = block.get("function_name")
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ValidationSpecError(f"function_name: must be the name of the function to call, not {name!r}")
    return name


def _randomizable(block: Mapping[str, Any]) -> bool:
    """Whether inputs may be varied; the expected values then come from the reference solution."""
    value = block.get("randomizable", False)
    if not isinstance(value, bool):
        raise ValidationSpecError(f"randomizable: must be true or false, not {value!r}")
    if value and not block.get("reference_solution"):
        raise ValidationSpecError("randomizable: needs a reference_solution to know the expected values")
    return value


def _random_inputs(block: Mapping[str, Any]) -> str:
    """The task's own maker of inputs, for those that random changes to the visible ones would spoil."""
    code = _text(block, "random_inputs")
    if code and not block.get("reference_solution"):
        raise ValidationSpecError("random_inputs: needs a reference_solution to know the expected values")
    if code and "random_inputs" not in {
        node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)
    }:
        raise ValidationSpecError("random_inputs: must define a function random_inputs(rng)")
    return code


def _word(block: Mapping[str, Any], key: str, allowed: tuple[str, ...]) -> str:
    """The value of a key that knows a few words, of which the first is the default."""
    word = block.get(key, allowed[0])
    if word not in allowed:
        raise ValidationSpecError(f"{key}: {word!r} is unknown; allowed are {', '.join(allowed)}")
    return str(word)


def _text(block: Mapping[str, Any], key: str) -> str:
    value = block.get(key) or ""
    if not isinstance(value, str):
        raise ValidationSpecError(f"{key}: must be text, not {type(value).__name__}")
    if fault := _fault(value):
        raise ValidationSpecError(f"{key}: is no Python ({fault})")
    return value


def _number(block: Mapping[str, Any], key: str, default: float, bounds: tuple[float, float]) -> float:
    value = block.get(key, default)
    low, high = bounds
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ValidationSpecError(f"{key}: must be a number from {low:g} to {high:g}, not {value!r}")
    return value


@functools.lru_cache(maxsize=1024)
def _fault(code: str) -> str:
    """Why the parser refuses the text; cached because a task is graded for many models."""
    return task_code.parsed(code).fault


@functools.lru_cache(maxsize=1024)
def _imports(code: str) -> tuple[str, ...]:
    """The import lines of the task's own code: prompts show them, so answers may lean on them."""
    kinds = ast.Import | ast.ImportFrom
    return tuple(ast.unparse(node) for node in task_code.parsed(code).tree.body if isinstance(node, kinds))


def _tests(block: Mapping[str, Any], key: str) -> tuple[Test, ...]:
    tests = block.get(key) or []
    if not isinstance(tests, list | tuple):
        raise ValidationSpecError(f"{key}: must be a list of tests")
    return tuple(_test(test, f"{key}[{number}]") for number, test in enumerate(tests))


def _test(test: Any, where: str) -> Test:
    if not isinstance(test, Mapping) or "expected" not in test:
        raise ValidationSpecError(f"{where}: must be a mapping with args or input, and expected")
    unknown = [key for key in test if key not in _TEST_KEYS]
    if unknown:
        raise ValidationSpecError(f"{where}: unknown key {unknown[0]!r}; allowed are {', '.join(_TEST_KEYS)}")
    if "input" in test and ("args" in test or "kwargs" in test):
        raise ValidationSpecError(f"{where}: give input (one argument) or args and kwargs, not both")
    args = (_input(test["input"]),) if "input" in test else test.get("args", [])
    kwargs = test.get("kwargs") or {}
    if not isinstance(args, list | tuple) or not isinstance(kwargs, Mapping):
        raise ValidationSpecError(f"{where}: args must be a list and kwargs a mapping")
    checked = Test(tuple(args), dict(kwargs), test["expected"])
    try:
        wire.encode([list(checked.args), checked.kwargs, checked.expected])
    except (wire.NotPlain, wire.TooLarge) as exc:
        raise ValidationSpecError(f"{where}: holds something that is no plain data ({exc})") from exc
    return checked


def _input(value: Any) -> Any:
    """``input`` is JSON text or the value itself; text that is no JSON is a string argument."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
