"""Completion to grade: the only door to the validators, run in a thread so that the event loop never waits."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import anyio

from llmbench_mcp.domain.attempt import Grade
from llmbench_mcp.domain.chat import Completion, ToolResult
from llmbench_mcp.domain.errors import InputError, SetupError, ValidatorFault
from llmbench_mcp.domain.task import Task
from llmbench_mcp.scoring.blocks import block_fault

log = logging.getLogger(__name__)


class Grader:
    """Grades completions with the installed validators. ``workers``: how many grade at once."""

    def __init__(self, workers: int = 2, min_isolation: str = "full") -> None:
        self._limiter = anyio.CapacityLimiter(workers)
        self._min_isolation = min_isolation
        self._sound: set[str] = set()
        self._versions: dict[str, tuple[str, str]] = {}

    async def grade(self, task: Task, completion: Completion) -> Grade:
        """The verdict on one completion.

        Raises:
            InputError: the task's VALIDATION block is wrong.
            ValidatorFault: grading failed; not evidence about the model.
        """
        work = _Work(task, completion, self._min_isolation)
        try:
            return await self._run(work)
        except ValidatorFault as error:
            # Grading is pure: a sandbox that died under load is worth one more try before the verdict is missing.
            log.warning("grading %s again: %s", task.id, error)
            return await self._run(work)

    async def _run(self, work: _Work) -> Grade:
        return await anyio.to_thread.run_sync(work.run, limiter=self._limiter, abandon_on_cancel=True)

    async def follow(self, task: Task, answers: Sequence[Completion]) -> tuple[ToolResult, ...]:
        """What the last answer's calls are answered with, in their order; none when the task is over.

        Raises InputError where the task's VALIDATION block is wrong.
        """
        return await anyio.to_thread.run_sync(_follow, task, answers, limiter=self._limiter, abandon_on_cancel=True)

    async def version(self, task: Task) -> tuple[str, str]:
        """Which validator would grade the task's answers, and its version. Raises as ``grade``."""
        if (known := self._versions.get(key := task.content_hash())) is None:
            verdict = await self.grade(task, Completion(""))  # an empty answer is graded without running anything
            known = self._versions[key] = (verdict.validator, verdict.validator_version)
        return known

    async def check(self, tasks: tuple[Task, ...]) -> None:
        """Refuse now what could not be graded later.

        Raises:
            InputError: a validator type that is not installed, or a block that its validator does not understand.
            SetupError: a task runs model code and this machine cannot confine it.
            ValidatorFault: a validator fails over a block.
        """
        await anyio.to_thread.run_sync(self._check, tasks)

    def _check(self, tasks: tuple[Task, ...]) -> None:
        from llmbench_validators.registry import runs_code

        for task in tasks:
            if (key := task.content_hash()) not in self._sound:
                self._check_block(task)
                self._sound.add(key)
        if any(runs_code(task.validation.get("type")) for task in tasks):
            self._check_isolation()

    def _check_block(self, task: Task) -> None:
        fault = block_fault(task)
        if fault is not None:
            raise InputError(f"Task {task.id}: {fault}.", "Mend the task's VALIDATION block; see task check.")

    def _check_isolation(self) -> None:
        from llmbench_validators.registry import isolation_level, meets_isolation, require_isolation

        require_isolation(self._min_isolation)
        level = isolation_level()
        if not meets_isolation(level):
            raise SetupError(
                f"This machine isolates model-written code at level {level!r}; {self._min_isolation!r} is required.",
                f"See llmbench-mcp doctor; to run it all the same, set LLMBENCH_MIN_ISOLATION={level}.",
            )


class _Work:
    """One grading, carried to a worker thread."""

    def __init__(self, task: Task, completion: Completion, min_isolation: str) -> None:
        self._task = task
        self._completion = completion
        self._min_isolation = min_isolation

    def run(self) -> Grade:
        from llmbench_validators.registry import grade, require_isolation
        from llmbench_validators.types import SandboxFault, ValidationSpecError

        require_isolation(self._min_isolation)
        try:
            return _grade(grade(self._task.validation, self._answer()))
        except ValidationSpecError as error:
            raise InputError(f"Task {self._task.id}: {error}", "Mend the task's VALIDATION block.") from error
        except SandboxFault as error:
            raise ValidatorFault(f"The sandbox failed: {error}", "See llmbench-mcp doctor.") from error
        except Exception as error:  # a plug-in: whatever it raises is its fault, not the model's
            raise ValidatorFault(f"The validator failed: {type(error).__name__}: {error}") from error

    def _answer(self) -> Any:
        from llmbench_validators.types import Completion as Answer

        done = self._completion
        earlier = tuple(_as_data(turn.answer) for turn in done.turns[:-1])
        return Answer(**_as_data(done), finish_reason=done.finish_reason, prompt=self._task.prompt, earlier=earlier)


def _as_data(answer: Completion) -> dict[str, Any]:
    return {"text": answer.text, "tool_calls": tuple(asdict(call) for call in answer.tool_calls)}


def _follow(task: Task, answers: Sequence[Completion]) -> tuple[ToolResult, ...]:
    from llmbench_validators.tool_turns import follow
    from llmbench_validators.types import ValidationSpecError

    try:
        results = follow(task.validation, [_as_data(answer) for answer in answers])
    except ValidationSpecError as error:
        raise InputError(f"Task {task.id}: {error}", "Mend the task's VALIDATION block.") from error
    return tuple(ToolResult(result.name, result.content, result.native) for result in results)


def _grade(verdict: Any) -> Grade:
    facts: dict[str, Any] = {name: getattr(verdict, name) for name in _COPIED}
    stages: Mapping[str, Any] = verdict.stages
    return Grade(
        **facts,
        validator_version=verdict.version,
        findings=tuple(verdict.findings),
        stages={name: (stage.passed, stage.total) for name, stage in stages.items()},
        subscores=dict(verdict.subscores),
    )


_COPIED = ("passed", "score", "confidence", "failure", "validator", "extractor", "isolation")


def isolation_report() -> Mapping[str, Any]:
    """Which isolation this machine offers, for ``doctor``: plain data. Blocks up to some seconds."""
    from llmbench_validators.registry import isolation_report as report

    return dict(report())
