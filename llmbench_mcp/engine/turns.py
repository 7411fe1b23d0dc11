"""Tasks in turns: right calls are answered with the task's results and the model is asked on, as one attempt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from llmbench_mcp.domain.attempt import PlannedAttempt
from llmbench_mcp.domain.chat import ChatRequest, Completion, Timing, ToolResult, Turn, Usage
from llmbench_mcp.domain.conversation import as_one
from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.task import Task
from llmbench_mcp.engine.attempt import Asked, Asker
from llmbench_mcp.scoring.grader import Grader


@dataclass(frozen=True, slots=True)
class Conversations:
    """Asks whatever there is to a task; ``total_s``: seconds that all answers of one attempt may take together."""

    asker: Asker
    grader: Grader
    total_s: float

    async def ask(self, attempt: PlannedAttempt, task: Task, request: ChatRequest) -> Asked:
        """As ``Asker.ask``, to the end of the conversation where the task is in turns."""
        asked = await self.asker.ask(attempt, task, request)
        return await self._on(asked, request) if task.in_turns and asked.error is None else asked

    async def _on(self, asked: Asked, request: ChatRequest) -> Asked:
        """Ends: a block has few turns, and each answer must bring one of its calls to be answered."""
        turns: list[Turn] = []
        while asked.error is None and asked.completion is not None:
            turns.append(Turn(asked.completion))
            results = await self._results(asked.task, turns)
            if not results:
                break
            turns[-1] = replace(turns[-1], results=results)
            further, left_s = self._further(request, turns)
            if isinstance(further, Completion):
                turns.append(Turn(further))
                break
            asked = _added(asked, await self.asker.ask(asked.attempt, asked.task, further, left_s))
        if asked.error is not None and asked.completion is not None:
            turns.append(Turn(asked.completion))
        return replace(asked, completion=as_one(turns))

    async def _results(self, task: Task, turns: Sequence[Turn]) -> tuple[ToolResult, ...]:
        """Nothing where the task's block cannot be read: grading will say so."""
        try:
            return await self.grader.follow(task, [turn.answer for turn in turns])
        except InputError:
            return ()

    def _further(self, request: ChatRequest, turns: Sequence[Turn]) -> tuple[ChatRequest | Completion, float]:
        """The next request and its seconds; where nothing is left of time or tokens, what says so in its place."""
        took = as_one(turns)
        left_s = self.total_s - (took.timing.e2e_s or 0.0)
        budget, used = request.sampling.max_tokens, took.usage.completion_tokens if took.usage else None
        left = None if budget is None else budget - (used or 0)
        if left_s <= 0 or (left is not None and left <= 0):
            word = "time" if left_s <= 0 else "length"
            return Completion("", finish_reason=word, usage=Usage(0, 0, 0, 0), timing=Timing(e2e_s=0.0)), 0.0
        return replace(request, turns=tuple(turns), sampling=replace(request.sampling, max_tokens=left)), left_s


def _added(before: Asked, asked: Asked) -> Asked:
    return replace(asked, retries=before.retries + asked.retries, energy=before.energy.plus(asked.energy))
