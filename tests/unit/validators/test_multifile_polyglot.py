"""The Python exercises of the Aider polyglot set, where the collected data is present."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llmbench_validators import multifile_answer, registry
from llmbench_validators.types import Completion, Verdict

from tests.support.collected import COLLECTED, NOTICE

from .code_support import needs_full_isolation

FOLDER = COLLECTED / "data" / "polyglot_python" / "exercises" / "practice"
EXERCISES = sorted(FOLDER.iterdir()) if FOLDER.is_dir() else []

pytestmark = [needs_full_isolation, pytest.mark.skipif(not EXERCISES, reason=NOTICE), pytest.mark.timeout(600)]


def block(exercise: Path) -> dict[str, Any]:
    listed = json.loads((exercise / ".meta" / "config.json").read_text())["files"]
    return {
        "type": "coding_multifile",
        "files": {path: (exercise / path).read_text() for path in listed["solution"]},
        "modified_files": listed["solution"],
        "integration_tests": {path: (exercise / path).read_text() for path in listed["test"]},
    }


def diff(path: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), f"a/{path}", f"b/{path}", lineterm="")
    return "```diff\n" + "\n".join(lines) + "\n```\n"


FORMATS: dict[str, Callable[[str, str, str], str]] = {
    "info": lambda path, _, code: f"Here it is.\n\n```python {path}\n{code}\n```\n",
    "comment": lambda path, _, code: f"```python\n# {path}\n{code}\n```\n",
    "heading": lambda path, _, code: f"### {path}\n\n```python\n{code}\n```\n",
    "path": lambda path, _, code: f"path: {path}\n{code}\n",
    "diff": diff,
}


def graded(exercise: Path, code: str, form: str = "info") -> Verdict:
    spec = block(exercise)
    (path,) = spec["modified_files"]
    return registry.grade(spec, Completion(FORMATS[form](path, spec["files"][path], code)))


def reference(exercise: Path) -> str:
    return (exercise / ".meta" / "example.py").read_text()


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda path: path.name)
def test_the_reference_passes_and_the_stub_fails(exercise: Path) -> None:
    forms = sorted(FORMATS)
    passed = graded(exercise, reference(exercise), forms[len(exercise.name) % len(forms)])
    (path,) = block(exercise)["modified_files"]

    assert (passed.passed, passed.failure) == (True, None), passed.findings
    assert not graded(exercise, (exercise / path).read_text()).passed


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_gives_the_same_files(form: str) -> None:
    for exercise in EXERCISES:
        spec = block(exercise)
        (path,) = spec["modified_files"]
        answer = FORMATS[form](path, spec["files"][path], reference(exercise))
        found = multifile_answer.read(answer, spec["files"], spec["modified_files"]).files[path] or ""
        assert found.removeprefix(f"# {path}\n").strip() == reference(exercise).strip()


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("affine-cipher", "+ b_key", "- b_key"),
        ("bowling", "10", "9"),
        ("transpose", "ljust", "rjust"),
        ("variable-length-quantity", "7", "8"),
        ("list-ops", "list[::-1]", "list[::1]"),
        ("wordy", "-", "+"),
    ],
)
def test_a_broken_reference_fails(name: str, right: str, wrong: str) -> None:
    exercise = next(path for path in EXERCISES if path.name == name)
    code = reference(exercise)
    broken = code.replace(right, wrong)
    assert broken != code, f"{name} has no {right!r}: choose another mutation"
    verdict = graded(exercise, broken)

    assert not verdict.passed
    assert verdict.failure in {"wrong_answer", "runtime_error", "syntax_error", "timeout", "import_error"}
