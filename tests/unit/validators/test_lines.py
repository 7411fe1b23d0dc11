from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import llmbench_validators
import pytest
from llmbench_validators import lines, registry

ROOT = Path(llmbench_validators.__file__).parent.parent
BLOCK = {"type": "coding", "function_name": "f", "base_tests": [{"args": [2], "expected": 4}]}


def line(**fields: Any) -> bytes:
    return json.dumps({"validation": BLOCK, "completion": "", **fields}).encode() + b"\n"


def test_the_package_grades_alone_from_standard_input_to_standard_output() -> None:
    given = [
        line(id="a", completion="```python\ndef f(x):\n    return x * x\n```", surplus=1),
        b"\n",
        b"{nonsense\n",
        line(id="b", completion="```python\ndef f(x):\n    return 0\n```"),
    ]
    done = subprocess.run(
        [sys.executable, "-S", "-m", "llmbench_validators", "--jobs", "2"],
        input=b"".join(given),
        capture_output=True,
        cwd=ROOT,
    )
    first, second, third = (json.loads(text) for text in done.stdout.splitlines())

    assert done.returncode == 1
    assert 0.9 < first.pop("score") <= 1
    assert first.pop("subscores")["correctness"] == 1
    assert first == {
        "id": "a",
        "passed": True,
        "confidence": "high",
        "failure": None,
        "validator": "coding",
        "extractor": "fence",
        "stages": {"base": {"passed": 1, "total": 1}},
        "findings": [],
    }
    assert second["id"] is None
    assert second["error"].startswith("line 3: ")
    assert (third["id"], third["passed"], third["failure"]) == ("b", False, "wrong_answer")


def test_wrong_arguments_end_with_status_2() -> None:
    command = [sys.executable, "-m", "llmbench_validators", "--jobs", "0"]

    assert subprocess.run(command, input=b"", capture_output=True, cwd=ROOT).returncode == 2


def test_order_is_kept_and_lines_are_read_only_as_needed() -> None:
    taken: list[int] = []

    def source() -> Any:
        for number in range(50):
            taken.append(number)
            yield line(id=number)

    results = lines.grade_lines(source(), jobs=3)
    assert next(results)["id"] == 0
    assert len(taken) < 15
    assert [result["id"] for result in results] == list(range(1, 50))


def test_what_cannot_be_graded_is_named_by_its_line() -> None:
    given = [
        b"[1]",
        b"\xff\xfe",
        line(id=1, completion=5),
        line(id=2, validation=None),
        line(id=3, validation={"type": "coding"}),
        line(id=4, validation=None, task="coding/none"),
        line(id=5, tool_calls=[5]),
    ]

    results = list(lines.grade_lines(given))

    assert [result["id"] for result in results] == [None, None, 1, 2, 3, 4, 5]
    assert all(result["error"].startswith(f"line {number}: ") for number, result in enumerate(results, 1))


def test_a_task_name_is_looked_up_where_there_is_a_data_set() -> None:
    given = [line(id=1, validation=None, task="coding/square"), line(id=2, validation=None, task="coding/other")]

    found, missing = lines.grade_lines(given, resolve={"coding/square": lines.TaskBlock(BLOCK)}.__getitem__)

    assert found["failure"] == "empty"
    assert "coding/other" in missing["error"]


def test_a_completion_of_tool_calls_alone_counts_as_empty_text() -> None:
    (result,) = lines.grade_lines([line(id=1, completion=None, tool_calls=[{"name": "f", "arguments": {}}])])

    assert result["failure"] == "empty"


def test_a_validators_own_fault_is_told_and_the_next_line_is_graded(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(name: object) -> Any:
        if name == "coding":
            return registry_validator(name)
        raise ZeroDivisionError("of ours")

    registry_validator = registry.validator
    monkeypatch.setattr(registry, "validator", faulty)

    fault, graded = lines.grade_lines([line(id=1, validation={"type": "x"}), line(id=2)])

    assert fault == {"id": 1, "error": "line 1: validator_error: ZeroDivisionError: of ours"}
    assert graded["failure"] == "empty"


def test_a_result_comes_before_the_next_line_does() -> None:
    answered = threading.Event()

    def source() -> Any:
        yield line(id=1)
        assert answered.wait(60)
        yield line(id=2)

    results = lines.grade_lines(source())

    assert next(results)["id"] == 1
    answered.set()
    assert [result["id"] for result in results] == [2]


def test_an_input_that_breaks_off_is_an_error_after_the_results_of_what_came() -> None:
    def source() -> Any:
        yield line(id=1)
        raise OSError("gone")

    results = lines.grade_lines(source())

    assert next(results)["id"] == 1
    with pytest.raises(OSError, match="gone"):
        next(results)
