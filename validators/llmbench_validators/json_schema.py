"""The ``json_schema`` validator: the answer is JSON that fits a schema.

Keys: ``schema``, a JSON Schema (draft 2020-12 unless its ``$schema`` says otherwise). The answer is the whole text or
its one fenced JSON block. What fails earns the share of its top-level properties that are right: those the schema
requires, those it describes and the answer has, and one more for each other rule that is broken. ``format`` is
not asserted. A schema is never fetched: references lead into itself. Checking that takes too long (patterns that
backtrack, references that multiply) is stopped; the verdict is then ``timeout``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmbench_validators import final_text, json_answer, json_schema_check, spec_fields
from llmbench_validators.json_answer import JsonAnswer
from llmbench_validators.json_schema_check import Problem
from llmbench_validators.limited import LimitExceeded
from llmbench_validators.types import Completion, Stage, ValidationSpecError, Verdict

VERSION = "2"

_MAX_FINDINGS = 10


@dataclass(frozen=True, slots=True)
class _Failed:
    word: str
    findings: tuple[str, ...]
    share: float = 0.0


def validate(spec: Mapping[str, Any], completion: Completion) -> Verdict:
    """Check an answer against a schema.

    Raises ValidationSpecError for a wrong block or schema, SandboxFault when the process that checks costly schemas
    fails.
    """
    schema = _schema(spec)
    found = final_text.read(completion)
    if found.failure is not None:
        return _verdict(JsonAnswer(None, found.text, None), _Failed(found.failure, (found.finding,)))
    answer = json_answer.find(found.text)
    if answer.problem is not None:
        failure, note = final_text.why_short(completion, found.text, "format")
        return _verdict(answer, _Failed(failure, (note or f"There is no JSON to check: {answer.problem}.",)))
    return _verdict(answer, _checked(schema, answer.value))


def _schema(spec: Mapping[str, Any]) -> dict[str, Any]:
    spec_fields.refuse_unknown(spec, ("type", "schema"), "json_schema")
    if "schema" not in spec:
        raise ValidationSpecError("json_schema: schema is missing")
    return json_schema_check.usable(spec["schema"])


def _checked(schema: Mapping[str, Any], value: Any) -> _Failed | None:
    try:
        problems = json_schema_check.check(schema, value)
    except LimitExceeded as error:
        return _Failed("timeout", (f"Stopped: {error}.",))
    if not problems:
        return None
    findings = [f"{problem.path}: {problem.message}" for problem in problems[:_MAX_FINDINGS]]
    if len(problems) > _MAX_FINDINGS:
        findings.append(f"and {len(problems) - _MAX_FINDINGS} more")
    return _Failed("wrong_answer", tuple(findings), _share(_root(schema), value, problems))


def _root(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that describes the top level: where a reference at the root leads, as model classes write it."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return schema
    target: Any = schema
    for step in reference[2:].split("/"):
        target = target.get(step) if isinstance(target, Mapping) else None
    return target if isinstance(target, Mapping) else schema


def _share(root: Mapping[str, Any], value: Any, problems: Sequence[Problem]) -> float:
    if not isinstance(value, dict):
        return 0.0
    described, required = root.get("properties", {}), root.get("required", [])
    missing = {name for name in required if name not in value}
    bad = missing | {problem.property for problem in problems if problem.property is not None}
    names = bad | set(required) | {name for name in described if name in value}
    broken = {problem.keyword for problem in problems if problem.property is None} - {"required"}
    others = len(broken) or int(not bad)
    return (len(names) - len(bad)) / (len(names) + others)


def _verdict(answer: JsonAnswer, failed: _Failed | None) -> Verdict:
    return Verdict(
        passed=failed is None,
        score=1.0 if failed is None else round(failed.share, 6),
        confidence="high",
        validator="json_schema",
        version=VERSION,
        failure=None if failed is None else failed.word,
        findings=() if failed is None else failed.findings,
        stages={"schema": Stage(int(failed is None), 1)},
        graded_text=answer.text,
        extractor=answer.extractor,
    )
