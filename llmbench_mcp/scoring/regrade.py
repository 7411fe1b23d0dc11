"""Grading stored answers again, with the validators and tasks there are now."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass, fields

import anyio

from llmbench_mcp.domain.attempt import Grade
from llmbench_mcp.domain.chat import Completion
from llmbench_mcp.domain.errors import InputError, ValidatorFault
from llmbench_mcp.domain.task import Task
from llmbench_mcp.scoring.grader import Grader

AT_ONCE = 8
"""Answers read ahead and graded together; how many really run at a time is the grader's affair."""

_DECISIVE = ("passed", "score", "failure", "confidence")


@dataclass(frozen=True, slots=True)
class Stored:
    """An answer as stored. ``key`` is the caller's own, such as the attempt's id.

    ``task`` is the task as it is now, ``task_hash`` its hash when ``grade`` was given; ``grade`` None: there is none.
    """

    key: str
    task: Task
    task_hash: str
    completion: Completion
    grade: Grade | None = None


@dataclass(frozen=True, slots=True)
class Regraded:
    """The new grade of a stored answer, or why there is none.

    ``changed``: passed, score, failure or confidence differ from before, or there was no grade before.
    ``differing``: the names of all fields that differ. ``task_changed`` and ``validator_changed`` say what could be
    the cause. ``fault`` says why grading failed; then ``grade`` is None and nothing counts as changed.
    """

    stored: Stored
    grade: Grade | None
    changed: bool
    differing: tuple[str, ...] = ()
    task_changed: bool = False
    validator_changed: bool = False
    fault: str | None = None


async def regrade(stored: Stored, grader: Grader) -> Regraded:
    """Grade one stored answer again; a grading that fails is in the result, never raised."""
    try:
        grade = await grader.grade(stored.task, stored.completion)
    except (InputError, ValidatorFault) as error:
        return Regraded(stored, None, False, fault=str(error))
    old = stored.grade
    differing = _differing(old, grade)
    return Regraded(
        stored,
        grade,
        changed=old is None or any(name in _DECISIVE for name in differing),
        differing=differing,
        task_changed=stored.task_hash != stored.task.content_hash(),
        validator_changed=old is not None and _made_by(old) != _made_by(grade),
    )


async def regrade_all(source: AsyncIterable[Stored], grader: Grader) -> AsyncIterator[Regraded]:
    """Grade many stored answers again, in order; at most AT_ONCE are held. Raises what ``source`` raises."""
    waiting: list[Stored] = []
    async for stored in source:
        waiting.append(stored)
        if len(waiting) == AT_ONCE:
            for done in await _together(waiting, grader):
                yield done
            waiting = []
    for done in await _together(waiting, grader):
        yield done


async def _together(some: list[Stored], grader: Grader) -> list[Regraded]:
    done: dict[int, Regraded] = {}

    async def one(number: int, stored: Stored) -> None:
        done[number] = await regrade(stored, grader)

    async with anyio.create_task_group() as group:
        for number, stored in enumerate(some):
            group.start_soon(one, number, stored)
    return [done[number] for number in range(len(some))]


def _differing(old: Grade | None, new: Grade) -> tuple[str, ...]:
    names = [field.name for field in fields(Grade)]
    return tuple(names) if old is None else tuple(name for name in names if getattr(old, name) != getattr(new, name))


def _made_by(grade: Grade) -> tuple[str, str]:
    return grade.validator, grade.validator_version
