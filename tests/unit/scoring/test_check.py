from __future__ import annotations

from typing import Any

import pytest
from llmbench_validators import registry

from llmbench_mcp.domain.errors import InputError, ValidatorFault
from llmbench_mcp.domain.task import Task
from llmbench_mcp.scoring.grader import Grader


def task(number: int = 0, **block: Any) -> Task:
    return Task(f"own/task_{number}", "Say yes.", {"type": "exact", "expected": "yes", **block})


async def test_tasks_with_sound_blocks_are_accepted() -> None:
    await Grader().check((task(1), task(2, ignore_case=True)))


@pytest.mark.parametrize(
    ("block", "what"),
    [({"colour": "red"}, "colour"), ({"type": "nonsense"}, "is no validator"), ({"expected": 5}, "expected")],
)
async def test_a_wrong_block_is_refused_with_the_tasks_name(block: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=f"own/task_2: .*{what}"):
        await Grader().check((task(1), task(2, **block)))


async def test_a_malformed_hidden_test_is_refused_without_its_value() -> None:
    secret = task(type="coding", function_name="f", base_tests=[{"args": [1], "expected": 1}])
    block = {**secret.validation, "hidden_tests": [{"args": "s3cret", "expected": 1, "s3cret": 2}]}
    del block["expected"]
    with pytest.raises(InputError, match=r"hidden_tests\[0\]") as caught:
        await Grader().check((Task("own/secret", "Write f.", block),))
    assert "s3cret" not in str(caught.value)


async def test_a_block_is_checked_once_as_long_as_it_stays_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[object] = []
    monkeypatch.setattr(registry, "check", lambda spec: checked.append(spec["expected"]))
    grader = Grader()
    await grader.check((task(1), task(1, expected="no")))
    await grader.check((task(1), task(1, expected="no"), task(1, expected="perhaps")))
    assert checked == ["yes", "no", "perhaps"]


async def test_a_validator_that_breaks_over_a_block_is_at_fault_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(spec: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(registry, "check", broken)
    with pytest.raises(ValidatorFault, match="ZeroDivisionError"):
        await Grader().check((task(),))
