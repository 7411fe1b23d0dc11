"""Choosing the validator of a task by the block's ``type``: our own, then the ``llmbench.validators`` entry points."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from llmbench_validators import sandbox
from llmbench_validators.types import MAX_TEXT, Completion, SandboxFault, ValidationSpecError, Validator, Verdict

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "llmbench.validators"
# Lets the package grade alone, from a folder that was never installed, and without a search for plug-ins.
_OWN = {
    "coding": "llmbench_validators.coding:validate",
    "reasoning": "llmbench_validators.reasoning:validate",
    "tool_use": "llmbench_validators.tool_use:validate",
    "planning": "llmbench_validators.planning:validate",
    "keyword": "llmbench_validators.keywords:validate",
    "exact": "llmbench_validators.exact:validate",
    "json_schema": "llmbench_validators.json_schema:validate",
    "instructions": "llmbench_validators.instructions:validate",
    "coding_multifile": "llmbench_validators.coding_multifile:validate",
    "exam": "llmbench_validators.exam:validate",
}
_RUNS_CODE = frozenset({"coding", "coding_multifile", "exam"})
_READS_MAX_TEXT = _RUNS_CODE | {"tool_use"}


def grade(spec: Mapping[str, Any], completion: Completion) -> Verdict:
    """Grade with the validator ``spec["type"]`` names.

    Raises ValidationSpecError for an unknown type or a wrong block, SandboxFault when code could not be run. Anything
    else, such as the TypeError for what is no verdict, is a fault of the validator and says nothing of the answer.
    """
    name = spec.get("type")
    try:
        verdict = validator(name)(spec, completion)
    except SystemExit as exc:  # of a plug-in: it must not end the process it is loaded into
        raise RuntimeError(f"the validator {name!r} tried to end the process ({exc})") from exc
    if (fault := _fault(verdict)) is not None:
        raise TypeError(f"the validator {name!r} returned no verdict: {fault}")
    if len(completion.text) > MAX_TEXT and name in _READS_MAX_TEXT:
        told = f"only the first {MAX_TEXT:,} of {len(completion.text):,} characters of the answer were read"
        verdict = replace(verdict, findings=(*verdict.findings, told))
    return verdict


def _fault(verdict: object) -> str | None:
    """What makes a value no verdict."""
    if not isinstance(verdict, Verdict):
        return f"a {type(verdict).__name__}"
    if not isinstance(verdict.passed, bool) or verdict.confidence not in ("high", "medium", "low"):
        return "passed must be a boolean, confidence high, medium or low"
    score = verdict.score
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        return f"score must be a number from 0 to 1, not {score!r:.60}"
    if verdict.passed is not (verdict.failure is None):
        return "failure must be a word when it did not pass, and None when it did"
    return None


def check(spec: Mapping[str, Any]) -> None:
    """Refuse a block that could not grade anything; runs no code.

    An empty answer is graded: every validator reads its whole block before the answer. Raises ValidationSpecError.
    """
    grade(spec, Completion(""))


def validator(name: object) -> Validator:
    """The validator called ``name``. Raises ValidationSpecError listing the valid ones."""
    if isinstance(name, str) and name in _OWN:
        return _own(_OWN[name])
    entry = _plug_ins().get(name) if isinstance(name, str) else None
    if entry is None:
        raise ValidationSpecError(f"type: {name!r} is no validator; valid are {', '.join(types())}")
    return _loaded(entry)


def runs_code(name: object) -> bool:
    """Whether the validator called ``name`` runs code of the answer, and so needs the sandbox."""
    return name in _RUNS_CODE


def types() -> list[str]:
    """The names of every installed validator, sorted."""
    return sorted({*_OWN, *_plug_ins()})


def isolation_level() -> str:
    """How well code is kept apart here: full, partial or process; ``unavailable`` when it cannot run at all."""
    return str(isolation_report()["level"])


def require_isolation(level: str) -> None:
    """Set the lowest level under which code is run. Raises ValueError for an unknown one."""
    sandbox.require(level)


def meets_isolation(level: str) -> bool:
    """Whether ``level`` is at least the one required."""
    return sandbox.meets(level)


def isolation_report() -> dict[str, Any]:
    """``level``, ``guarantees`` (name: whether an attempt against it was refused), ``mechanisms``, ``reason``.

    Starts the sandbox when it is not running yet. Blocks for a moment; call it off the event loop.
    """
    try:
        return {**sandbox.isolation_report(), "reason": None}
    except SandboxFault as exc:
        return {"level": "unavailable", "guarantees": {}, "mechanisms": {}, "reason": str(exc)}


@functools.cache
def _own(place: str) -> Validator:
    module, _, name = place.partition(":")
    return cast("Validator", getattr(importlib.import_module(module), name))


@functools.cache
def _plug_ins() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # costs as much time as everything else here

    return {entry.name: entry for entry in entry_points(group=GROUP)}


@functools.cache
def _loaded(entry: EntryPoint) -> Validator:
    return cast("Validator", entry.load())
