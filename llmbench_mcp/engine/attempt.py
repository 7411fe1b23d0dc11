"""One attempt: ask (with retries), then grade. Waits between retries are in no timing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace

from llmbench_mcp.domain.attempt import AttemptOutcome, PlannedAttempt, Where
from llmbench_mcp.domain.chat import ChatRequest, Completion, Sampling
from llmbench_mcp.domain.errors import EndpointError, InputError, ServerFault, ValidatorFault
from llmbench_mcp.domain.hardware import Energy
from llmbench_mcp.domain.ports import Backend, Clock
from llmbench_mcp.domain.task import Task
from llmbench_mcp.engine.energy import Window
from llmbench_mcp.engine.retry import wait_before_retry
from llmbench_mcp.scoring.grader import Grader


@dataclass(frozen=True, slots=True)
class Limits:
    """Stop rules for one request, in seconds."""

    total_s: float
    stall_s: float


@dataclass(frozen=True, slots=True)
class Asked:
    """An attempt with what came back: a completion, or the error that was final."""

    attempt: PlannedAttempt
    task: Task
    completion: Completion | None
    error: EndpointError | None
    retries: int = 0
    energy: Energy = Energy()


def chat_request(task: Task, served_name: str, sampling: Sampling) -> ChatRequest:
    """The request for a task; its token budget was frozen when the run was planned."""
    budget = replace(sampling, max_tokens=task.max_tokens or sampling.max_tokens)
    return ChatRequest(served_name, task.prompt, task.system, budget, tuple(task.validation.get("tools") or ()))


class Asker:
    """Asks one backend, again where the retry rules say so; ``measured`` opens a window around each request."""

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        limits: Limits,
        measured: Callable[[], AbstractAsyncContextManager[Window]] | None = None,
    ) -> None:
        self._backend = backend
        self._clock = clock
        self._limits = limits
        self._measured = measured or (lambda: nullcontext(Window(Energy())))

    async def ask(self, attempt: PlannedAttempt, task: Task, request: ChatRequest) -> Asked:
        """Never raises EndpointError: the final one is in the result, with the text that came before it."""
        retries = 0
        while True:
            async with self._measured() as window:
                completion, error = await self._once(request)
            wait = None if error is None else wait_before_retry(error, retries)
            if wait is None:
                return Asked(attempt, task, completion, error, retries, window.energy)
            await self._clock.sleep(wait)
            retries += 1

    async def _once(self, request: ChatRequest) -> tuple[Completion | None, EndpointError | None]:
        try:
            done = await self._backend.chat(request, total_s=self._limits.total_s, stall_s=self._limits.stall_s)
        except EndpointError as error:
            return None, error
        return done, fault_of(done)


def fault_of(done: Completion) -> EndpointError | None:
    """What makes a completion unusable although bytes came."""
    if done.error:
        return ServerFault(f"The stream broke off with an error: {done.error}")
    if not done.complete:
        return ServerFault("The stream ended before the answer was finished.", "See the server's log.")
    if not (done.text or done.reasoning or done.tool_calls or done.finish_reason):
        return ServerFault("The server sent an empty stream.", "See the server's log.")
    return None


async def grade(asked: Asked, grader: Grader, where: Where) -> AttemptOutcome:
    """The outcome to commit; grading faults are recorded as such and are no evidence about the model."""
    outcome = AttemptOutcome(asked.attempt, where, asked.completion, retries=asked.retries, energy=asked.energy)
    if asked.error is not None:
        return replace(outcome, failure=asked.error.word, message=str(asked.error))
    assert asked.completion is not None, "no error means an answer"
    try:
        return replace(outcome, grade=await grader.grade(asked.task, asked.completion))
    except (ValidatorFault, InputError) as error:
        return replace(outcome, failure="validator_error", message=str(error))
