"""A JSON Schema of the VALIDATION block, for editors: made from the keys and words that the validators themselves know.

It helps while writing; what counts is the validator's own check, which knows more than a schema can say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmbench_validators import (
    coding_spec,
    compare,
    exact,
    exam_spec,
    instructions_kinds,
    multifile_spec,
    planning,
    reasoning_spec,
    tool_spec,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string", "minLength": 1}
_TEXTS: Schema = {"type": "array", "items": _TEXT, "minItems": 1}
_CODE: Schema = {"type": "string"}
_FUNCTIONS: Schema = {"type": "array", "items": {"type": ["object", "string"]}}
_FILES: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
_VALUE: Schema = {"type": ["string", "number", "array"]}
_TEST: Schema = {
    "type": "object",
    "properties": {
        "input": {"description": "one positional argument, as JSON text or a value"},
        "args": {"type": "array"},
        "kwargs": {"type": "object"},
        "expected": {},
    },
    "required": ["expected"],
    "additionalProperties": False,
}
_TESTS: Schema = {"type": "array", "items": _TEST, "minItems": 1}
_CALL: Schema = {
    "type": "object",
    "properties": {
        "function": _TEXT,
        "arguments": {"type": "object"},
        "result": {"description": "of a call in turns: text, or plain data sent as JSON"},
    },
    "required": ["function"],
    "additionalProperties": False,
}
_CALLS: Schema = {"type": "array", "items": _CALL, "description": "empty: no call may be made"}
_TURNS: Schema = {
    "type": "array",
    "minItems": 2,
    "maxItems": tool_spec.MAX_TURNS,
    "items": {
        "type": "object",
        "properties": {"expected_calls": _CALLS},
        "required": ["expected_calls"],
        "additionalProperties": False,
    },
    "description": "in place of expected_calls; every call but the last turn's has a result, which the model is given",
}
_CRITERION: Schema = {
    "type": "object",
    "properties": {
        "criterion": _TEXT,
        "keywords": _TEXTS,
        "weight": {"type": "number", "exclusiveMinimum": 0},
        "match": {"enum": ["any", "all"]},
    },
    "required": ["criterion", "keywords"],
    "additionalProperties": False,
}


def _words(values: Sequence[str]) -> Schema:
    return {"enum": list(values)}


_LIMITS: Mapping[str, Schema] = {
    "timeout_s": {"type": "number", "minimum": 0.1, "maximum": 300, "description": "seconds a stage may take"},
    "memory_mb": {"type": "number", "minimum": 16, "maximum": 16384},
    "language": _words(("python",)),
    "reference_solution": {"type": "string", "description": "a right answer"},
}
_CODING: Mapping[str, Schema] = {
    **_LIMITS,
    "function_name": {**_TEXT, "description": "the function that is called"},
    "base_tests": _TESTS,
    "tests": _TESTS,
    "edge_tests": _TESTS,
    "randomizable": {"type": "boolean", "description": "vary the base tests' inputs; needs reference_solution"},
    "comparison": _words(compare.MODES),
    "compare": _words(coding_spec.COMPARED),
    "trust": _words(coding_spec.TRUST),
    "test_code": _CODE,
    "setup_code": _CODE,
    "random_inputs": _CODE,
}
_REASONING: Mapping[str, Schema] = {
    "expected_answer": _VALUE,
    "answer_type": _words(reasoning_spec.KINDS),
    "tolerance": {"description": "a number, or a share such as 1%"},
    "accept": {"type": "array", "items": _VALUE, "minItems": 1, "description": "further right answers"},
    "extract_patterns": {"description": "regular expressions that must all match"},
}
_TOOL_USE: Mapping[str, Schema] = {
    "tools": _FUNCTIONS,
    "available_functions": _FUNCTIONS,
    "expected_calls": _CALLS,
    "turns": _TURNS,
    "order": _words(("any", "strict")),
    "match": _words(("strict", "bfcl")),
    "calls": _words(("any", "native")),
}
_EXACT: Mapping[str, Schema] = {
    "expected": {"anyOf": [_TEXT, _TEXTS]},
    "ignore_case": {"type": "boolean"},
    "whitespace": _words(("trim", "collapse", "exact")),
    "nfc": {"type": "boolean"},
}
_MULTIFILE: Mapping[str, Schema] = {
    **_LIMITS,
    "files": _FILES,
    "modified_files": _TEXTS,
    "integration_tests": {"type": ["array", "object"]},
}
_EXAM: Mapping[str, Schema] = {
    **_LIMITS,
    "module": _TEXT,
    "tests": _TEXT,
    "files": _FILES,
    "pillars": {"type": "object", "minProperties": exam_spec.PILLARS, "maxProperties": exam_spec.PILLARS},
}


def _instructions() -> Mapping[str, Schema]:
    named = {"type": "object", "properties": {"id": _words(list(instructions_kinds.KINDS))}, "required": ["id"]}
    return {
        "instructions": {"type": "array", "minItems": 1, "items": named},
        "mode": _words(("strict", "loose")),
    }


def _own() -> Mapping[str, tuple[Sequence[str], Mapping[str, Schema], Sequence[str]]]:
    """By validator: every key it knows, what is known of their values, and the keys that must be there."""
    return {
        "coding": (coding_spec.KEYS, _CODING, ("function_name",)),
        "coding_multifile": (multifile_spec.KEYS, _MULTIFILE, ("integration_tests",)),
        "reasoning": (reasoning_spec.KEYS, _REASONING, ()),
        "tool_use": (tool_spec.KEYS, _TOOL_USE, ()),
        "planning": (planning.KEYS, {"rubric": {"type": "array", "items": _CRITERION, "minItems": 1}}, ("rubric",)),
        "keyword": (("type", "expected"), {"expected": _TEXT}, ("expected",)),
        "exact": (exact.KEYS, _EXACT, ("expected",)),
        "json_schema": (("type", "schema"), {"schema": {"type": ["object", "boolean"]}}, ("schema",)),
        "instructions": (("type", "instructions", "mode"), _instructions(), ("instructions",)),
        "exam": (exam_spec.KEYS, _EXAM, ("module", "pillars")),
    }


_ONE_OF: Mapping[str, Schema] = {"tool_use": {"oneOf": [{"required": ["expected_calls"]}, {"required": ["turns"]}]}}


def types() -> tuple[str, ...]:
    """The validators that have a schema."""
    return tuple(_own())


def block_schema(name: str) -> Schema:
    """The schema of one validator's block. Raises KeyError for a name that is not in ``types()``."""
    keys, values, required = _own()[name]
    properties = {key: dict(values.get(key, {})) for key in keys if key not in ("type", "hidden_tests")}
    return {
        "type": "object",
        "properties": {"type": {"const": name}, **properties},
        "required": ["type", *required],
        "additionalProperties": False,
        **_ONE_OF.get(name, {}),
    }


def schema() -> Schema:
    """The schema of every block."""
    return {
        "$schema": DIALECT,
        "title": "The VALIDATION block of a task",
        "oneOf": [block_schema(name) for name in types()],
    }
