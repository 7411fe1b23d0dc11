"""The VALIDATION block of an exam, checked.

``module`` is the path the answer's code goes to, ``tests`` the path of the answer's own tests, ``files`` what is
given beside them, ``support`` modules that only the checks import and no answer can change. ``pillars`` maps five
names to lists of checks; a pillar is worth 0 to 20, shared out by the checks' ``points``. A check is one of:

* ``{rule: NAME}`` with ``names`` or ``value`` as the rule wants (see :data:`exam_rules.RULES`) and ``file``;
* ``{probe: CODE, expected: DATA}``: CODE defines ``probe()``, which may be a coroutine; what it returns is
  compared outside the sandbox by ``comparison`` (exact, approx or unordered);
* ``{tests: CODE}``: a test module of the task's, worth the share of its tests that pass;
* ``{own_tests: N}``: the answer's own tests are at least N and all pass;
* ``{mutation: N, kill: SHARE}``: its own tests notice SHARE of N faults put into its own code (default 0.7),
  worth proportionally less below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llmbench_validators import compare, exam_rules, multifile_spec, repair, show, spec_fields, wire
from llmbench_validators.project_run import Limits
from llmbench_validators.types import ValidationSpecError

NAME = "exam"
KEYS = (
    *("type", "language", "module", "tests", "files", "support", "pillars", "pass_mark", "pillar_minimum", "timeout_s"),
    "memory_mb",
    "reference_solution",
)
"""Every key a block may hold; ``reference_solution`` is a right answer's text and takes no part in grading."""

PILLARS, PILLAR_POINTS = 5, 20.0
_KINDS = ("rule", "probe", "tests", "own_tests", "mutation")
_COMMON = ("name", "points")
_OPTIONS = {
    "rule": ("names", "value", "file"),
    "probe": ("expected", "comparison"),
    "tests": (),
    "own_tests": (),
    "mutation": ("kill",),
}
_MAX_MUTANTS, _MAX_CHECKS, _KILL = 40, 20, 0.7
_RULE_OPTIONS: dict[exam_rules.Option, tuple[str, ...]] = {
    "names": ("names",),
    "value": ("value",),
    "none": (),
    "more": ("names",),
}


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a pillar; what the fields hold depends on ``kind``.

    ``option``: names or value of a rule, expected value of a probe, least number of own tests, number of mutants.
    """

    kind: str
    name: str
    points: float
    option: Any = None
    code: str = ""
    rule: str = ""
    comparison: str = "exact"
    file: str = ""
    kill: float = _KILL


@dataclass(frozen=True, slots=True)
class ExamSpec:
    """A checked block."""

    module: str
    tests: str | None
    files: Mapping[str, str]
    support: Mapping[str, str]
    pillars: Mapping[str, tuple[Check, ...]]
    pass_mark: float
    pillar_minimum: float
    limits: Limits
    wanted: tuple[str, ...] = field(default=())


def parse(block: Mapping[str, Any]) -> ExamSpec:
    """Check ``block``. Raises ValidationSpecError naming the key."""
    spec_fields.refuse_unknown(block, KEYS, NAME)
    spec_fields.choice(block, "language", NAME, ("python",), default="python")
    module = _module(block, "module")
    tests = _module(block, "tests") if "tests" in block else None
    pillars = block.get("pillars")
    if not isinstance(pillars, Mapping) or len(pillars) != PILLARS:
        raise ValidationSpecError(f"{NAME}: pillars must map {PILLARS} names to lists of checks")
    if not isinstance(block.get("reference_solution", ""), str):
        raise ValidationSpecError(f"{NAME}: reference_solution must be the text of a right answer")
    wanted = (module, tests) if tests else (module,)
    return ExamSpec(
        module=module,
        tests=tests,
        files=multifile_spec.texts(block.get("files") or {}, "files"),
        support=_support(block),
        pillars={str(name): _pillar(checks, str(name), wanted) for name, checks in pillars.items()},
        pass_mark=_bounded(block, "pass_mark", 60.0, (0.0, PILLARS * PILLAR_POINTS), NAME),
        pillar_minimum=_bounded(block, "pillar_minimum", 0.0, (0.0, PILLAR_POINTS), NAME),
        limits=multifile_spec.limits(block, NAME),
        wanted=wanted,
    )


def _module(block: Mapping[str, Any], key: str) -> str:
    path = spec_fields.text(block, key, NAME)
    if not path.endswith(".py"):
        raise ValidationSpecError(f"{NAME}: {key} must be the path of a Python file, not {show.value(path)}")
    return next(iter(multifile_spec.texts({path: ""}, key)))


def _support(block: Mapping[str, Any]) -> dict[str, str]:
    texts = multifile_spec.texts(block.get("support") or {}, "support")
    return {path: multifile_spec.python(text, f"support[{path}]") for path, text in texts.items()}


def _bounded(block: Mapping[str, Any], key: str, default: float, bounds: tuple[float, float], where: str) -> float:
    value = block.get(key, default)
    low, high = bounds
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        message = f"{where}: {key} must be a number from {low:g} to {high:g}, not {show.value(value)}"
        raise ValidationSpecError(message)
    return float(value)


def _pillar(checks: Any, name: str, wanted: tuple[str, ...]) -> tuple[Check, ...]:
    where = f"pillars.{name}"
    if not isinstance(checks, list | tuple) or not 0 < len(checks) <= _MAX_CHECKS:
        raise ValidationSpecError(f"{where}: must be a list of 1 to {_MAX_CHECKS} checks")
    return tuple(_check(check, f"{where}[{number}]", wanted) for number, check in enumerate(checks))


def _check(check: Any, where: str, wanted: tuple[str, ...]) -> Check:
    kinds = [kind for kind in _KINDS if isinstance(check, Mapping) and kind in check]
    if len(kinds) != 1:
        raise ValidationSpecError(f"{where}: must be a mapping with exactly one of {', '.join(_KINDS)}")
    kind = kinds[0]
    if kind in {"own_tests", "mutation"} and len(wanted) < 2:
        raise ValidationSpecError(f"{where}: {kind} needs the key tests, the path of the answer's own tests")
    spec_fields.refuse_unknown(check, (kind, *_COMMON, *_OPTIONS[kind]), where)
    points = spec_fields.positive(check, "points", where, 1.0)
    name = spec_fields.text(check, "name", where) if "name" in check else ""
    return _READERS[kind](check, where, Check(kind, name or where, points), wanted)


def _rule(check: Mapping[str, Any], where: str, made: Check, wanted: tuple[str, ...]) -> Check:
    name = spec_fields.choice(check, "rule", where, exam_rules.RULES)
    rule = exam_rules.RULES[name]
    spec_fields.refuse_unknown(check, ("rule", *_COMMON, "file", *_RULE_OPTIONS[rule.option]), f"{where} ({name})")
    option: Any = None
    if rule.option == "value":
        option = _bounded(check, "value", -1.0, (0.0, 10_000.0), where)
    elif rule.option == "names" or "names" in check:
        option = spec_fields.texts(check, "names", where)
    elif rule.option == "more":
        option = ()
    file = spec_fields.choice(check, "file", where, wanted, default=wanted[0])
    return Check("rule", made.name if "name" in check else name, made.points, option, rule=name, file=file)


def _probe(check: Mapping[str, Any], where: str, made: Check, _wanted: tuple[str, ...]) -> Check:
    code = multifile_spec.python(check["probe"], f"{where}.probe")
    tree = repair.parsed(code)
    defined = {getattr(node, "name", "") for node in (tree.body if tree else [])}
    if "probe" not in defined:
        raise ValidationSpecError(f"{where}: probe must define a function probe()")
    if "expected" not in check:
        raise ValidationSpecError(f"{where}: expected is missing")
    try:
        wire.encode(check["expected"])
    except (wire.NotPlain, wire.TooLarge) as exc:
        raise ValidationSpecError(f"{where}: expected is no plain data ({exc})") from exc
    mode = spec_fields.choice(check, "comparison", where, compare.MODES, default="exact")
    return Check("probe", made.name, made.points, check["expected"], code, comparison=mode)


def _tests(check: Mapping[str, Any], where: str, made: Check, _wanted: tuple[str, ...]) -> Check:
    return Check("tests", made.name, made.points, code=multifile_spec.python(check["tests"], f"{where}.tests"))


def _own_tests(check: Mapping[str, Any], where: str, made: Check, _wanted: tuple[str, ...]) -> Check:
    return Check("own_tests", made.name, made.points, spec_fields.whole(check, "own_tests", where))


def _mutation(check: Mapping[str, Any], where: str, made: Check, _wanted: tuple[str, ...]) -> Check:
    count = spec_fields.whole(check, "mutation", where)
    if count > _MAX_MUTANTS:
        raise ValidationSpecError(f"{where}: mutation must be at most {_MAX_MUTANTS}, not {count}")
    kill = _bounded(check, "kill", _KILL, (0.05, 1.0), where)
    return Check("mutation", made.name, made.points, count, kill=kill)


_READERS = {"rule": _rule, "probe": _probe, "tests": _tests, "own_tests": _own_tests, "mutation": _mutation}
