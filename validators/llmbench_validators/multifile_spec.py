"""The VALIDATION block of a multi-file coding task, checked and put into the form the sandbox works with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmbench_validators import multifile_paths, project_tests, repair, spec_fields
from llmbench_validators.project_run import Limits
from llmbench_validators.types import ValidationSpecError

NAME = "coding_multifile"
KEYS = (
    "type",
    "language",
    "files",
    "modified_files",
    "integration_tests",
    "timeout_s",
    "memory_mb",
    "hidden_tests",
    "reference_solution",
)
"""Every key a block may hold; ``reference_solution`` is a right answer's text and takes no part in grading."""

_TEST_KEYS = ("name", "path", "code", "expected", "files")
_TIMEOUT_S, _MEMORY_MB = 10.0, 512
_MAX_TIMEOUT_S, _MEMORY_RANGE = 300.0, (16, 16_384)


@dataclass(frozen=True, slots=True)
class IntegrationTest:
    """One test module; ``held`` are the task's own files beside it, which no answer can change."""

    path: str
    code: str
    held: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class MultifileSpec:
    """A checked block: the project's files, those an answer should change, and the tests, of which some are hidden."""

    files: Mapping[str, str]
    modified: tuple[str, ...]
    tests: tuple[IntegrationTest, ...]
    hidden: tuple[IntegrationTest, ...]
    limits: Limits

    @property
    def held(self) -> frozenset[str]:
        """Paths of every file that belongs to the tests."""
        return frozenset(path for test in (*self.tests, *self.hidden) for path in (test.path, *test.held))


def parse(block: Mapping[str, Any]) -> MultifileSpec:
    """Check ``block``. Raises ValidationSpecError naming the key.

    ``integration_tests`` is a list of ``{code, expected: pass, name?, path?, files?}``, or a mapping of paths to
    texts: the files in it that hold tests are run, the others lie beside them.
    """
    spec_fields.refuse_unknown(block, KEYS, NAME)
    spec_fields.choice(block, "language", NAME, ("python",), default="python")
    files = texts(block.get("files") or {}, "files")
    modified = spec_fields.texts(block, "modified_files", NAME) if block.get("modified_files") else ()
    given = block.get("integration_tests")
    if not isinstance(given, Mapping | list | tuple) or not given:
        raise ValidationSpecError(f"{NAME}: integration_tests must be a list of tests or a mapping of test files")
    tests = _test_files(given) if isinstance(given, Mapping) else _listed(given, "integration_test")
    hidden = block.get("hidden_tests") or ()
    if not isinstance(hidden, list | tuple):
        raise ValidationSpecError("hidden_tests: must be a list of tests")
    if not isinstance(block.get("reference_solution", ""), str):
        raise ValidationSpecError("reference_solution: must be the text of a right answer")
    changed = tuple(_path(path, "modified_files") for path in modified)
    return MultifileSpec(files, changed, tests, _listed(hidden, "hidden_test"), limits(block, NAME))


def limits(block: Mapping[str, Any], where: str) -> Limits:
    """``timeout_s`` (0.1 to 300, default 10) and ``memory_mb`` (16 to 16384, default 512) of a block."""
    seconds = spec_fields.positive(block, "timeout_s", where, _TIMEOUT_S)
    memory = spec_fields.positive(block, "memory_mb", where, _MEMORY_MB)
    if not 0.1 <= seconds <= _MAX_TIMEOUT_S:
        raise ValidationSpecError(f"{where}: timeout_s must be from 0.1 to {_MAX_TIMEOUT_S:g}, not {seconds:g}")
    if not _MEMORY_RANGE[0] <= memory <= _MEMORY_RANGE[1]:
        low, high = _MEMORY_RANGE
        raise ValidationSpecError(f"{where}: memory_mb must be from {low} to {high}, not {memory:g}")
    return Limits(seconds, int(memory))


def texts(value: Any, where: str) -> dict[str, str]:
    """A mapping of paths inside the project to texts."""
    if not isinstance(value, Mapping):
        raise ValidationSpecError(f"{where}: must be a mapping of paths to texts, not {type(value).__name__}")
    for path, text in value.items():
        if not isinstance(text, str):
            raise ValidationSpecError(f"{where}: {path!r} must hold text, not {type(text).__name__}")
    return {_path(path, where): text for path, text in value.items()}


def python(text: Any, where: str) -> str:
    """Python code that parses and is not blank."""
    if not isinstance(text, str) or not text.strip():
        raise ValidationSpecError(f"{where}: must be Python code")
    if fault := repair.why_not(text):
        raise ValidationSpecError(f"{where}: is no Python ({fault})")
    return text


def _path(path: Any, where: str) -> str:
    if not isinstance(path, str) or (reason := multifile_paths.refused(multifile_paths.normal(path))):
        reason = reason if isinstance(path, str) else "no text"
        raise ValidationSpecError(f"{where}: {path!r} is no path inside the project ({reason})")
    return multifile_paths.normal(path)


def _listed(tests: Sequence[Any], name: str) -> tuple[IntegrationTest, ...]:
    return tuple(_test(test, name, number) for number, test in enumerate(tests))


def _test(test: Any, name: str, number: int) -> IntegrationTest:
    where = f"{name}s[{number}]"
    if not isinstance(test, Mapping):
        raise ValidationSpecError(f"{where}: must be a mapping with code and expected: pass")
    spec_fields.refuse_unknown(test, _TEST_KEYS, where)
    if test.get("expected", "pass") != "pass":
        raise ValidationSpecError(f"{where}: expected is {test['expected']!r}; the only valid value is pass")
    path = _path(test.get("path", f"{name}_{number + 1}.py"), f"{where}.path")
    return IntegrationTest(
        path, python(test.get("code"), f"{where}.code"), texts(test.get("files") or {}, f"{where}.files")
    )


def _test_files(given: Mapping[str, Any]) -> tuple[IntegrationTest, ...]:
    files = texts(given, "integration_tests")
    modules = [path for path in files if path.endswith(".py")]
    for path in modules:
        python(files[path] or "pass", f"integration_tests[{path}]")
    run = [path for path in modules if project_tests.known(files[path]).any]
    if not run:
        raise ValidationSpecError("integration_tests: no file holds a test (a TestCase, or functions named test_…)")
    return tuple(IntegrationTest(path, files[path], {p: t for p, t in files.items() if p != path}) for path in run)
