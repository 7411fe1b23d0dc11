"""One job's work: make the model ready, ask every pending attempt, grade while the next is asked."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from llmbench_mcp.config import Settings
from llmbench_mcp.domain.attempt import AttemptOutcome, PlannedAttempt, Where
from llmbench_mcp.domain.chat import Usage
from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.errors import (
    AuthError,
    BenchError,
    DoesNotFit,
    EndpointError,
    IdentityError,
    IncompatibleError,
    ModelNotAvailable,
    PromptTooLong,
    ProtocolError,
    ServerFault,
    StillHeld,
    StorageError,
    UnreachableError,
    WeightsChanged,
)
from llmbench_mcp.domain.ids import new_id
from llmbench_mcp.domain.model import ModelStatus
from llmbench_mcp.domain.ports import Backend, Clock
from llmbench_mcp.domain.run import Job, JobState
from llmbench_mcp.domain.task import Task
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.engine.attempt import Asked, Asker, Limits, chat_request, grade
from llmbench_mcp.engine.energy import EnergyMeter
from llmbench_mcp.engine.feed import Feed
from llmbench_mcp.engine.loop_lag import LoopLag, Timed, client_bound
from llmbench_mcp.engine.pace import Pace
from llmbench_mcp.engine.pulse import Pulse
from llmbench_mcp.engine.quiet import wait_until_quiet
from llmbench_mcp.engine.residency import Place, Ready, Residency
from llmbench_mcp.engine.turns import Conversations
from llmbench_mcp.engine.weights import changed_weights
from llmbench_mcp.scoring.grader import Grader
from llmbench_mcp.store.endpoints import EndpointStore
from llmbench_mcp.store.models import ModelStore
from llmbench_mcp.store.work import WorkStore

log = logging.getLogger(__name__)

_GRADERS = 2
_QUICK_LOOK_S = 1.0
_GRADING_BEHIND = 4
"""Answers waiting for grading before asking pauses: memory stays bounded when grading falls behind."""

_END_JOB: dict[type[EndpointError], ModelStatus | None] = {
    AuthError: None,
    ModelNotAvailable: "not_available",
    IncompatibleError: "incompatible",
    IdentityError: None,
    WeightsChanged: None,
}

_ABOUT_ONE_PROMPT = (PromptTooLong,)
"""Errors that say nothing about the next request: they neither end the job nor count as an outage."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What every job works with. ``check_room`` raises StorageError when an answer could not be stored."""

    work: WorkStore
    models: ModelStore
    grader: Grader
    residency: Residency
    settings: Settings
    clock: Clock
    meter: EnergyMeter
    pulse: Pulse
    endpoints: EndpointStore
    check_room: Callable[[], Awaitable[None]]


class OutageError(Exception):
    """The endpoint cannot be worked with now: the job waits. ``cause`` says why."""

    def __init__(self, cause: EndpointError) -> None:
        super().__init__(str(cause))
        self.cause = cause


class JobWorker:
    """Runs one job to its end, its outage, or until told to stop between attempts."""

    def __init__(self, tools: Tools, backend: Backend, endpoint: Endpoint, job: Job, where: Where) -> None:
        self._tools = tools
        self._backend = backend
        self._endpoint = endpoint
        self._job = job
        self._where = where
        self._halt: EndpointError | None = None
        self._no_room: StorageError | None = None
        self._errors_in_a_row = 0
        self._retried = False
        self._timed = Timed()
        self._answered_as: str | None = None
        self.draining = False
        self.loading = False
        self.was_ready = False

    async def run(self) -> None:
        """Do the job. Raises OutageError when it must wait; storage errors and LeaseLost pass through."""
        work, job = self._tools.work, self._job
        if not await work.job_loading(job):
            return
        if self.draining:  # told so just now: nothing is loaded any more
            await work.job_released(job)
            return
        ready = await self._prepare()
        if ready is None:
            return
        self.was_ready = True
        crowd = await wait_until_quiet(self._backend, job.served_name, self._tools.clock)
        sure = "; ".join(filter(None, [ready.residency, crowd]))
        await work.job_ready(job, ready.load_s, sure, ready.unloaded)
        try:
            await self._measured()
        except anyio.get_cancelled_exc_class():
            await self._cancelled()
            raise
        if self._no_room is not None:
            raise self._no_room
        if self._halt is None and self.draining and await work.next_attempts(job.id, 1):
            await work.job_released(job)
        elif (error := await self._changed() or self._halt) is not None:
            await self._stop(error)
        else:
            await self._finish()

    async def _changed(self) -> EndpointError | None:
        """Whether other weights stand under the model's name by now; after an outage its next loading shows it."""
        if self._halt is not None and not _will_not_pass(self._halt):
            return None
        return await changed_weights(await self._place())

    async def _cancelled(self) -> None:
        """What was answered until then counts, if it came from the weights asked for."""
        if self.draining:  # whoever goes on loads the model anew, and sees it there
            return
        with anyio.CancelScope(shield=True):
            try:
                if await changed_weights(await self._place(), _QUICK_LOOK_S) is not None:
                    await self._tools.work.void_answers(self._job)
            except BenchError as error:
                log.warning("job %s: whether its answers count could not be seen to: %s", self._job.id, error)

    async def _prepare(self) -> Ready | None:
        """Load the model; None when the job ended because that failed. Raises OutageError."""
        work, job = self._tools.work, self._job
        self.loading = True
        try:
            return await self._tools.residency.prepare(await self._place())
        except (StillHeld, DoesNotFit) as error:
            await work.job_ended(job, "blocked", str(error), error.word)
        except ProtocolError as error:
            await work.job_ended(job, "failed", str(error), error.word)
        except EndpointError as error:
            await self._stop(error)
        finally:
            self.loading = False
        return None

    async def _place(self) -> Place:
        model = next((one for one in await self._tools.models.all() if one.id == self._job.model_id), None)
        size, digest = (model.size_bytes, model.digest) if model else (None, None)
        name, context = self._job.served_name, self._job.sampling.context_length
        return Place(self._backend, name, size, digest, self._job.keep_loaded, context)

    async def _finish(self) -> None:
        if not self._job.keep_loaded and not await self._is_wanted_again():
            await self._tools.residency.release(self._backend, self._job.served_name)
        if not self._retried and self._answered_as is None:
            await self._tools.models.recover(self._job.model_id, "answered a whole job at first asking")
        remark = None
        if self._answered_as is not None:
            remark = f"{self._job.served_name!r} was asked and '{one_line(self._answered_as, 80)}' answered"
        await self._tools.work.job_ended(self._job, "done", remark)

    async def _is_wanted_again(self) -> bool:
        """Whether another open job runs this model here: it then stays loaded for it."""
        here = (self._job.endpoint_id, self._job.served_name)
        others = [job for job in await self._tools.work.open_jobs() if job.id != self._job.id]
        return any((job.endpoint_id, job.served_name) == here for job in others)

    async def _stop(self, error: EndpointError) -> None:
        """End the job for an error that will not pass; raise OutageError for one that may."""
        if not _will_not_pass(error):
            raise OutageError(error)
        if isinstance(error, AuthError):  # the endpoint's trouble: it says nothing about the model
            await self._tools.endpoints.failed(self._endpoint.id, str(error), error.word)
        status = _END_JOB.get(type(error))
        if status is not None:
            await self._tools.models.set_status(self._job.model_id, status, error.what)
        if isinstance(error, WeightsChanged):
            await self._tools.work.void_answers(self._job)
        state: JobState = "blocked" if isinstance(error, AuthError) else "failed"
        await self._tools.work.job_ended(self._job, state, str(error), error.word)

    async def _measured(self) -> None:
        """All attempts, the energy they took together, and whether this program was fast enough to time them."""
        work, job = self._tools.work, self._job
        await work.energy_opens(job)
        async with self._tools.meter.window(job.device, "job") as total, LoopLag().watching() as lag:
            await self._all_attempts()
        await work.energy_closes(job, total.energy)
        bound = client_bound(lag.load(), self._timed.typical())
        await work.job_client_bound(job, bound.why if bound else None, speeds=bound is not None and bound.speeds)

    async def _all_attempts(self) -> None:
        work, job = self._tools.work, self._job
        pace = Pace(self._endpoint.concurrency, self._warm_up)
        feed = Feed(work, job, self._tools.check_room, pace, limited=await work.is_limited(job.run_id))
        send, receive = anyio.create_memory_object_stream[Asked](_GRADING_BEHIND)
        async with anyio.create_task_group() as group, receive:
            for _ in range(_GRADERS):
                group.start_soon(self._grade_all, receive.clone(), feed.limited)
            async with send, anyio.create_task_group() as askers:
                await self._ask_all(askers, send, feed, pace)

    async def _ask_all(self, askers: TaskGroup, send: MemoryObjectSendStream[Asked], feed: Feed, pace: Pace) -> None:
        """Start asking whatever may begin; what is given back while others are in flight is asked again."""
        while not self._is_over():
            was_idle = pace.is_idle  # what ended during the look may have been given back after it
            taken = await self._next(feed)
            if taken is None:
                if feed.at_limit or was_idle:
                    return
                if not pace.is_idle:
                    await pace.change()
            elif self._is_over():  # meanwhile
                await self._tools.work.release(taken[0])
            else:
                pace.began()
                askers.start_soon(self._ask_one, send, feed, pace, *taken)

    def _is_over(self) -> bool:
        return self.draining or self._halt is not None or self._no_room is not None

    async def _ask_one(
        self, send: MemoryObjectSendStream[Asked], feed: Feed, pace: Pace, attempt: PlannedAttempt, task: Task
    ) -> None:
        began = self._tools.pulse.now()
        asked = await self._asked(feed, attempt, task)
        if self._tools.pulse.stood_still_since(began):
            log.info("%s %s is asked again: this process stood still", asked.attempt.run_id, asked.attempt.task_id)
            await self._tools.work.release(asked.attempt)
        elif await self._usable(asked):
            if feed.limited:
                await self._tools.work.grading(asked.attempt, _usage(asked))
            await send.send(asked)
        pace.ended()

    def _asker(self, task: Task) -> Asker:
        """Where speed is measured every answer is as long as it was to be, also one that goes in circles."""
        settings = self._tools.settings
        limits = Limits(settings.total_timeout_s, settings.stall_timeout_s, 0 if task.load else settings.loop_tokens)
        return Asker(self._backend, self._tools.clock, limits, lambda: self._tools.meter.window(self._job.device))

    def _conversations(self, task: Task) -> Conversations:
        return Conversations(self._asker(task), self._tools.grader, self._tools.settings.total_timeout_s)

    async def _warm_up(self, task: Task) -> None:
        """Requests like those to be measured, of which nothing is kept; what fails will be seen when it counts."""
        assert task.load is not None, "only what measures speed is warmed up"
        room = anyio.CapacityLimiter(task.load.concurrency)
        asker = self._asker(task)
        async with anyio.create_task_group() as group:
            for _ in range(task.load.warm_up):
                group.start_soon(asker.warm_up, chat_request(task, self._job, new_id("warm")), room)

    async def _asked(self, feed: Feed, attempt: PlannedAttempt, task: Task) -> Asked:
        """Ask; the claim is written meanwhile."""
        async with anyio.create_task_group() as group:
            group.start_soon(feed.claim, attempt)
            asked = await self._conversations(task).ask(
                attempt, task, chat_request(task, self._job, attempt.id, attempt.repeat)
            )
        timing = asked.completion.timing if asked.completion else None
        if timing:
            self._timed.add(timing)
        return asked

    async def _next(self, feed: Feed) -> tuple[PlannedAttempt, Task] | None:
        try:
            return await feed.next()
        except StorageError as error:
            self._no_room = error  # what is being graded may still find its place
            return None

    async def _usable(self, asked: Asked) -> bool:
        """Whether the attempt is to be committed; False gives it back for later."""
        error = asked.error
        await self._check_name(asked)
        await self._note_retries(asked)
        if error is None or isinstance(error, _ABOUT_ONE_PROMPT):
            self._errors_in_a_row = 0
            return True
        self._errors_in_a_row += 1
        if isinstance(error, UnreachableError) or type(error) in _END_JOB:
            self._halt = error
            await self._tools.work.release(asked.attempt)
            return False
        if self._errors_in_a_row >= self._tools.settings.breaker_errors:
            self._halt = error
        return True

    async def _note_retries(self, asked: Asked) -> None:
        """At once, for the job's end may be seen by another process."""
        if asked.retries > 0 and asked.error is None and not self._retried:
            self._retried = True
            await self._tools.models.set_status(self._job.model_id, "unstable", "answered only after retries")

    async def _check_name(self, asked: Asked) -> None:
        """Say so, once, when the server answers under another name than the one asked for."""
        name = asked.completion.model if asked.completion else None
        if name and name != self._job.served_name and name != self._answered_as:
            self._answered_as = name
            await self._tools.work.job_remark(self._job, f"unverified: the server answered as '{one_line(name, 80)}'")

    async def _grade_all(self, receive: MemoryObjectReceiveStream[Asked], limited: bool) -> None:
        async with receive:
            async for asked in receive:
                if not limited:
                    await self._tools.work.grading(asked.attempt, _usage(asked))
                outcome = await grade(asked, self._tools.grader, self._where)
                await self._tools.work.finish(outcome)
                log.info(
                    "%s %s on %s: %s", asked.attempt.run_id, asked.attempt.task_id, self._job.model, _word(outcome)
                )


def _usage(asked: Asked) -> Usage | None:
    return asked.completion.usage if asked.completion else None


def _will_not_pass(error: EndpointError) -> bool:
    refused = isinstance(error, ServerFault) and error.refused
    return refused or type(error) in _END_JOB or isinstance(error, _ABOUT_ONE_PROMPT)


def _word(outcome: AttemptOutcome) -> str:
    if outcome.grade is None:
        return outcome.failure or "no verdict"
    return "passed" if outcome.grade.passed else outcome.grade.failure or "failed"
