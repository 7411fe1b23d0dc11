from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from llmbench_mcp.domain.attempt import Grade
from llmbench_mcp.domain.chat import Completion
from llmbench_mcp.domain.task import Task
from llmbench_mcp.scoring.grader import Grader
from llmbench_mcp.scoring.regrade import AT_ONCE, Stored, regrade, regrade_all

TASK = Task("own/q", "Say yes.", {"type": "exact", "expected": "yes"})


async def graded(text: str, task: Task = TASK) -> Stored:
    """The stored answer with the grade it gets now."""
    completion = Completion(text, finish_reason="stop")
    return Stored(text, task, task.content_hash(), completion, await Grader().grade(task, completion))


async def test_an_answer_graded_by_the_same_rules_keeps_its_grade() -> None:
    stored = await graded("yes")
    again = await regrade(stored, Grader())

    assert again.grade == stored.grade
    assert (again.changed, again.differing, again.task_changed, again.validator_changed) == (False, (), False, False)


async def test_a_changed_task_changes_the_grade_and_is_named_as_the_cause() -> None:
    stored = await graded("yes")
    again = await regrade(replace(stored, task=Task("own/q", "Say no.", {"type": "exact", "expected": "no"})), Grader())

    assert again.grade is not None
    assert (again.grade.passed, again.changed, again.task_changed, again.validator_changed) == (
        False,
        True,
        True,
        False,
    )
    assert {"passed", "score", "failure"} <= set(again.differing)


async def test_a_newer_validator_that_comes_to_the_same_changes_nothing_that_counts() -> None:
    stored = await graded("yes")
    assert stored.grade is not None
    again = await regrade(replace(stored, grade=replace(stored.grade, validator_version="0")), Grader())

    assert (again.changed, again.differing, again.validator_changed) == (False, ("validator_version",), True)


async def test_an_answer_without_a_grade_gets_one() -> None:
    again = await regrade(replace(await graded("no"), grade=None), Grader())

    assert again.grade is not None
    assert (again.grade.passed, again.changed) == (False, True)


async def test_a_grading_that_fails_is_told_and_leaves_the_old_grade_in_force() -> None:
    stored = await graded("yes")
    again = await regrade(replace(stored, task=Task("own/q", "Say yes.", {"type": "exact"})), Grader())

    assert (again.grade, again.changed) == (None, False)
    assert again.fault is not None
    assert "own/q" in again.fault


async def test_many_are_graded_in_order_and_only_a_few_are_held() -> None:
    wanted = 3 * AT_ONCE + 2
    taken = 0
    old: Grade | None = (await graded("yes")).grade

    async def source() -> AsyncIterator[Stored]:
        nonlocal taken
        for number in range(wanted):
            taken += 1
            text = "yes" if number % 2 else "no"
            yield Stored(str(number), TASK, TASK.content_hash(), Completion(text), old)

    seen: list[tuple[str, bool]] = []
    async for done in regrade_all(source(), Grader()):
        seen.append((done.stored.key, done.changed))
        assert taken <= len(seen) + AT_ONCE

    assert seen == [(str(number), number % 2 == 0) for number in range(wanted)]
