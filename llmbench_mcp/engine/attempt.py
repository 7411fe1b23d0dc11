"""One attempt: ask (with retries), then grade. Waits between retries are in no timing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace

import anyio

from llmbench_mcp.domain.attempt import AttemptOutcome, Grade, PlannedAttempt, Where
from llmbench_mcp.domain.chat import ChatRequest, Completion, Watch
from llmbench_mcp.domain.errors import EndpointError, InputError, PromptTooLong, ServerFault, ValidatorFault
from llmbench_mcp.domain.hardware import Energy
from llmbench_mcp.domain.loops import LoopWatch
from llmbench_mcp.domain.ports import Backend, Clock
from llmbench_mcp.domain.run import Job
from llmbench_mcp.domain.task import Task
from llmbench_mcp.engine.energy import Window
from llmbench_mcp.engine.retry import wait_before_retry
from llmbench_mcp.scoring.grader import Grader

_FEWEST_WORDS = 200
_LEAST_TOKENS_A_WORD = 0.8


@dataclass(frozen=True, slots=True)
class Limits:
    """Stop rules for one request: seconds, and the tokens of repetition that make a loop (0: no such rule)."""

    total_s: float
    stall_s: float
    loop_tokens: int = 0

    def new_watch(self) -> Watch | None:
        """A watch for one stream."""
        return LoopWatch(self.loop_tokens) if self.loop_tokens else None


@dataclass(frozen=True, slots=True)
class Asked:
    """An attempt with what came back: a completion, or the error that was final."""

    attempt: PlannedAttempt
    task: Task
    completion: Completion | None
    error: EndpointError | None
    retries: int = 0
    energy: Energy = Energy()


def chat_request(task: Task, job: Job, mark: str = "", repeat: int = 1) -> ChatRequest:
    """The request for a task of a job; where speed is measured it begins with ``mark``, which no other begins with.

    Each further repeat has the next seed: with the same one a server would give the same answer again.
    """
    seed = None if job.sampling.seed is None else job.sampling.seed + repeat - 1
    tokens = job.budget.tokens(job.sampling.max_tokens, task.max_tokens)
    sampling = replace(job.sampling, max_tokens=tokens, seed=seed)
    tools = tuple(task.validation.get("tools") or ())
    prompt = f"[{mark}]\n{task.prompt}" if task.load else task.prompt
    return ChatRequest(job.served_name, prompt, task.system, sampling, tools)


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

    async def ask(
        self, attempt: PlannedAttempt, task: Task, request: ChatRequest, total_s: float | None = None
    ) -> Asked:
        """Never raises EndpointError: the final one is in the result, with the text that came before it.

        ``total_s``: seconds for this request where they are fewer than the limits'.
        """
        limits = self._limits if total_s is None else replace(self._limits, total_s=total_s)
        retries = 0
        while True:
            async with self._measured() as window:
                completion, error = await self._once(request, limits)
            wait = None if error is None else wait_before_retry(error, retries)
            if wait is None:
                return Asked(attempt, task, completion, error, retries, window.energy)
            await self._clock.sleep(wait)
            retries += 1

    async def warm_up(self, request: ChatRequest, room: anyio.CapacityLimiter) -> None:
        """Ask once for nothing, when there is room."""
        async with room:
            await self._once(request, self._limits)

    async def _once(self, request: ChatRequest, limits: Limits) -> tuple[Completion | None, EndpointError | None]:
        try:
            watched = replace(request, watch=limits.new_watch())
            done = await self._backend.chat(watched, total_s=limits.total_s, stall_s=limits.stall_s)
        except EndpointError as error:
            return None, error
        return done, fault_of(done) or cut_prompt(request, done)


def fault_of(done: Completion) -> EndpointError | None:
    """What makes a completion unusable although bytes came."""
    if done.error:
        return ServerFault(f"The stream broke off with an error: {done.error}")
    if not done.complete:
        return ServerFault("The stream ended before the answer was finished.", "See the server's log.")
    if done.bad_events:
        told = f"{done.bad_events} event(s) of the stream could not be read, so part of the answer may be missing."
        return ServerFault(told, "See the server's log.")
    if not (done.text or done.reasoning or done.tool_calls or done.finish_reason):
        return ServerFault("The server sent an empty stream.", "See the server's log.")
    return None


def cut_prompt(request: ChatRequest, done: Completion) -> PromptTooLong | None:
    """Whether the server read less than was sent: no tokeniser makes fewer tokens than there are words."""
    words = len(request.prompt.split())
    counted = done.usage.prompt_tokens if done.usage and not done.usage.estimated else None
    if counted is None or words < _FEWEST_WORDS or counted >= words * _LEAST_TOKENS_A_WORD:
        return None
    return PromptTooLong(
        f"The server counted {counted} tokens in a prompt of {words} words: it cut the prompt.",
        "Load the model with a larger context.",
    )


async def grade(asked: Asked, grader: Grader, where: Where) -> AttemptOutcome:
    """The outcome to commit; grading faults are recorded as such and are no evidence about the model."""
    outcome = AttemptOutcome(asked.attempt, where, asked.completion, retries=asked.retries, energy=asked.energy)
    if asked.error is not None:
        return replace(outcome, failure=asked.error.word, message=str(asked.error))
    assert asked.completion is not None, "no error means an answer"
    try:
        return replace(outcome, grade=await _graded(asked.task, asked.completion, grader))
    except (ValidatorFault, InputError) as error:
        return replace(outcome, failure="validator_error", message=str(error))


async def _graded(task: Task, completion: Completion, grader: Grader) -> Grade:
    """The verdict; one cut for its time is graded as one cut for its length, one that went in circles has failed."""
    as_cut = replace(completion, finish_reason="length") if completion.finish_reason == "time" else completion
    verdict = await grader.grade(task, as_cut)
    if completion.finish_reason != "loop":
        return verdict
    why = "The answer repeated itself without end and was cut."
    return replace(verdict, passed=False, score=0.0, failure="loop", findings=(why, *verdict.findings))
