"""A run that is told to go on, or to be graded again, the moment it has ended does so whoever still acts on its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.attempt import PlannedAttempt
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.run import AnyJob, JobState, OpenJob, RunRequest
from llmbench_mcp.store.leases import Lease, LeaseStore
from llmbench_mcp.store.regrading import RegradeStore, Stored
from llmbench_mcp.store.work import WorkStore
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.work import URL, finished, right, working

_REQUESTS, _END = WorkStore.cancel_requests, WorkStore.end_cancelled
_READ, _ENDED, _OPEN = WorkStore.next_attempts, WorkStore.job_ended, WorkStore.open_jobs
_NEXT, _LEFT = RegradeStore.next, LeaseStore.release


@dataclass
class Gate:
    """While closed, the executor sees no queue: what was decided before is done first."""

    opened: anyio.Event = field(default_factory=anyio.Event)

    def __post_init__(self) -> None:
        self.opened.set()

    def close(self) -> None:
        self.opened = anyio.Event()

    def guard(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def open_jobs(work: WorkStore) -> list[OpenJob]:
            await self.opened.wait()
            return await _OPEN(work)

        monkeypatch.setattr(WorkStore, "open_jobs", open_jobs)


async def started(app: App) -> str:
    await assigned(app, URL)
    return (await app.runs.start(RunRequest(("m",), ("sums",), keep_loaded=True))).run.id


async def test_a_run_that_goes_on_again_is_not_cancelled_for_what_was_asked_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, asked, looked, left = Gate(), anyio.Event(), anyio.Event(), anyio.Event()

    async def answer(request: ChatRequest, times: int) -> Completion:
        if not asked.is_set():
            gate.close()
            asked.set()
        with anyio.fail_after(30):
            await looked.wait()
        return right(request, times)

    write_suite(tmp_path, 2)
    async with opened(tmp_path, {URL: server("m", answer=answer)}) as app:

        async def cancel_requests(work: WorkStore) -> list[str]:
            found = await _REQUESTS(work)
            if found and not looked.is_set():
                looked.set()  # the answer comes, and with it the run's end
                await left.wait()
                await app.runs.retry(found[0], "errors")
            return found

        async def release(leases: LeaseStore, lease: Lease) -> None:
            await _LEFT(leases, lease)
            left.set()

        async def end_cancelled(work: WorkStore, run_id: str) -> None:
            await _END(work, run_id)
            gate.opened.set()

        gate.guard(monkeypatch)
        monkeypatch.setattr(LeaseStore, "release", release)
        monkeypatch.setattr(WorkStore, "cancel_requests", cancel_requests)
        monkeypatch.setattr(WorkStore, "end_cancelled", end_cancelled)
        async with working(app):
            run_id = await started(app)
            with anyio.fail_after(30):
                await asked.wait()
                await app.runs.cancel(run_id)
                await gate.opened.wait()
            run = await finished(app, run_id)
    assert (run.state, run.passed) == ("completed", 2)


async def test_a_job_told_to_go_on_is_not_ended_by_the_work_that_was_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, reads, ended = Gate(), 0, anyio.Event()
    write_suite(tmp_path, 2)
    async with opened(tmp_path, {URL: server("m", answer=right)}) as app:

        async def next_attempts(work: WorkStore, job_id: str, limit: int) -> list[PlannedAttempt]:
            nonlocal reads
            reads += 1
            if reads == 1:
                gate.close()
                await app.runs.cancel_on("cpu")
            return await _READ(work, job_id, limit)

        async def job_ended(
            work: WorkStore, job: AnyJob, state: JobState, reason: str | None, failure: str | None = None
        ) -> None:
            if not gate.opened.is_set():
                await app.runs.retry(job.run_id, "errors")
            await _ENDED(work, job, state, reason, failure)
            ended.set()
            gate.opened.set()

        gate.guard(monkeypatch)
        monkeypatch.setattr(WorkStore, "next_attempts", next_attempts)
        monkeypatch.setattr(WorkStore, "job_ended", job_ended)
        async with working(app):
            run_id = await started(app)
            with anyio.fail_after(30):
                await ended.wait()
            run = await finished(app, run_id)
    assert (run.state, run.passed) == ("completed", 2)


async def test_a_verdict_by_an_older_task_is_not_taken_for_one_by_the_present_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_suite(tmp_path, 1)
    file = tmp_path / "tasks" / "own" / "q01.md"
    sound, reads, again = file.read_text(encoding="utf-8"), 0, anyio.Event()

    async with opened(tmp_path, {URL: server("m", answer=right)}) as app, working(app):

        async def graded_again_as(expected: str) -> None:
            text = sound.replace('expected_answer: "1"', f'expected_answer: "{expected}"')
            file.write_text(text, encoding="utf-8")
            app.suites.forget()
            await app.runs.retry(run_id, "regrade")

        run_id = await started(app)
        await finished(app, run_id)

        async def next_stored(store: RegradeStore, limit: int) -> list[Stored]:
            nonlocal reads
            found = await _NEXT(store, limit)
            reads += bool(found)
            if found and reads == 1:
                await app.runs.cancel(run_id)
                await graded_again_as("1.0")
                again.set()
            return found

        monkeypatch.setattr(RegradeStore, "next", next_stored)
        await graded_again_as("11")
        with anyio.fail_after(30):
            await again.wait()
        run = await finished(app, run_id)
    assert (run.state, run.passed) == ("completed", 1)
