"""A JSON value against a JSON Schema: what is wrong with it, and where.

``check`` decides in this process where time is bounded by the sizes, and in a child process with limits on
processor time and memory where it is not: patterns can backtrack without end, references can multiply.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, cast

from llmbench_validators import json_answer, limited, show
from llmbench_validators.types import ValidationSpecError

MAX_PROBLEMS = 200

_FRAMES = 5000
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_COSTLY = frozenset(
    ("pattern", "patternProperties", "uniqueItems", "unevaluatedItems", "unevaluatedProperties", *_REFERENCES)
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One violation: the top-level property it lies in (None for the value as a whole), its path, a sentence, and
    the schema's keyword that is violated.
    """

    property: str | None
    path: str
    message: str
    keyword: str


def usable(schema: object) -> dict[str, Any]:
    """A plain copy of ``schema``.

    Raises ValidationSpecError when it is no JSON Schema, holds a pattern Python cannot read, or refers to anything
    outside itself: schemas are never fetched.
    """
    plain = _plain(schema)
    _check_parts(plain)
    _check_against_dialect(plain)
    _check_references(plain)
    return plain


def check(schema: Mapping[str, Any], value: Any) -> list[Problem]:
    """What is wrong with ``value``; at most MAX_PROBLEMS.

    Raises LimitExceeded, ValidationSpecError for a schema that refers to itself without end, and SandboxFault when
    the child process itself fails.
    """
    if any(key in _COSTLY for key, _ in _members(schema)):
        return _in_child(schema, value)
    return problems(schema, value)


def problems(schema: Mapping[str, Any], value: Any) -> list[Problem]:
    """As ``check``, in this process whatever it costs."""
    from itertools import islice

    return [_problem(error) for error in islice(_validator(schema).iter_errors(value), MAX_PROBLEMS)]


def serve(job: Mapping[str, Any]) -> None:
    """The child's side: limit this process, check, write the problems to standard output."""
    _validator(job["schema"])  # what loading the library takes is not the answer's fault
    limited.restrain()
    sys.setrecursionlimit(_FRAMES)
    try:
        reply: Any = [asdict(problem) for problem in problems(job["schema"], job["value"])]
    except RecursionError:
        reply = "endless"
    json.dump(reply, sys.stdout)


def _in_child(schema: Mapping[str, Any], value: Any) -> list[Problem]:
    job = json.dumps({"path": sys.path, "schema": schema, "value": value})
    reply = json.loads(limited.in_child("json_schema_check", job.encode(), "checking the answer"))
    if reply == "endless":
        raise ValidationSpecError("json_schema: schema refers to itself without end")
    return [Problem(**problem) for problem in reply]


def _plain(schema: object) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        raise ValidationSpecError(f"json_schema: schema must be a mapping, not {show.value(schema)}")
    try:
        plain = json.loads(json.dumps(dict(schema), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationSpecError(f"json_schema: schema must be plain JSON ({show.cut(str(error))})") from error
    if json_answer.is_deep(plain):
        raise ValidationSpecError(f"json_schema: schema is nested deeper than {json_answer.MAX_DEPTH} levels")
    return cast("dict[str, Any]", plain)


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key and value of every object, at any depth."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            yield from item.items()
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


def _check_parts(schema: Mapping[str, Any]) -> None:
    for key, value in _members(schema):
        if key in _REFERENCES and isinstance(value, str) and not value.startswith("#"):
            raise ValidationSpecError(
                f"json_schema: schema refers to {show.value(value)}; only #… within it may be used"
            )
        patterns = [value] if key == "pattern" else list(value) if key == "patternProperties" else []
        for pattern in patterns:
            _check_pattern(pattern)


def _check_pattern(pattern: object) -> None:
    if not isinstance(pattern, str):
        return  # a property called "pattern", or caught by the dialect
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValidationSpecError(f"json_schema: schema has the pattern {show.value(pattern)}: {error}") from error


def _check_against_dialect(schema: Mapping[str, Any]) -> None:
    from jsonschema import SchemaError  # type: ignore[import-untyped]  # ships no types
    from jsonschema.validators import (  # type: ignore[import-untyped]  # ships no types
        Draft202012Validator,
        validator_for,
    )

    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        raise ValidationSpecError(f"json_schema: schema is wrong at {error.json_path}: {_said(error)}") from error


def _check_references(schema: Mapping[str, Any]) -> None:
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012, specification_with

    specification = specification_with(str(schema.get("$schema")), default=DRAFT202012)
    resolver = Registry().resolver_with_root(specification.create_resource(schema))
    for key, value in _members(schema):
        if key not in _REFERENCES or not isinstance(value, str):
            continue
        try:
            resolver.lookup(value)
        except Unresolvable as error:
            raise ValidationSpecError(f"json_schema: schema refers to {show.value(value)}, which it lacks") from error


def _validator(schema: Mapping[str, Any]) -> Any:
    from jsonschema.validators import Draft202012Validator, extend, validator_for
    from referencing import Registry

    dialect = validator_for(schema, default=Draft202012Validator)
    return extend(dialect, {"multipleOf": _multiple_of})(schema, registry=Registry())


def _multiple_of(validator: Any, step: Any, value: Any, _schema: Any) -> Iterator[Any]:
    """The keyword by the decimal numbers that were written: as binary fractions 0.3 is no multiple of 0.1."""
    from jsonschema import ValidationError

    if validator.is_type(value, "number") and not _is_multiple(value, step):
        yield ValidationError(f"{value!r} is not a multiple of {step}")


def _is_multiple(value: float, step: float) -> bool:
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return (_as_written(value) / _as_written(step)).denominator == 1


def _as_written(number: float) -> Fraction:
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _problem(error: Any) -> Problem:
    path = list(error.absolute_path)
    inside = path[0] if path and isinstance(path[0], str) else None
    where = str(error.json_path)  # holds the answer's own keys as they are
    where = show.cut(where if where.isprintable() else ascii(where)[1:-1])
    return Problem(inside, where, _said(error), str(error.validator))


def _said(error: Any) -> str:
    return show.cut(" ".join(str(error.message).split()))
