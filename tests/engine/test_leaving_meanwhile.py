"""An executor that is told to leave, or leaves for want of work, does so whatever happens at the same moment."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.run import Job, RunRequest
from llmbench_mcp.store.leases import Lease, LeaseStore
from llmbench_mcp.store.work import WorkStore
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.work import URL, right

_LOADING, _RENEW, _RELEASE = WorkStore.job_loading, LeaseStore.renew, LeaseStore.release_when_idle


async def test_told_to_leave_just_before_a_model_is_loaded_it_does_not_load_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = server("m", answer=right, can_load=True)
    write_suite(tmp_path, 2)
    async with opened(tmp_path, {URL: box}) as app:

        async def job_loading(work: WorkStore, job: Job) -> bool:
            begins = await _LOADING(work, job)
            app.executor.drain()
            return begins

        monkeypatch.setattr(WorkStore, "job_loading", job_loading)
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        with anyio.fail_after(30):
            await app.executor.run()
        run = await app.runs.get(run_id)
    assert box.loads == []
    assert (run.is_over, run.jobs[0].state, run.interrupted) == (False, "pending", 0)


async def test_a_lease_given_up_for_want_of_work_is_not_taken_back_by_its_own_renewal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewing, renewed, seen = anyio.Event(), anyio.Event(), []
    released = anyio.Event()

    async def renew(leases: LeaseStore, lease: Lease, ttl_s: float) -> None:
        renewing.set()
        await released.wait()
        await _RENEW(leases, lease, ttl_s)
        renewed.set()

    async with opened(tmp_path, {}, idle_exit_s=1.0) as app:

        async def release_when_idle(leases: LeaseStore, lease: Lease) -> bool:
            with anyio.fail_after(30):
                await renewing.wait()
                left = await _RELEASE(leases, lease)
                released.set()
                await renewed.wait()
            seen.append(await app.executors.alive())
            return left

        monkeypatch.setattr(LeaseStore, "renew", renew)
        monkeypatch.setattr(LeaseStore, "release_when_idle", release_when_idle)
        with anyio.fail_after(60):
            await app.executor.run()
    assert seen == [False]


async def test_told_to_leave_during_the_last_answer_it_ends_the_run(tmp_path: Path) -> None:
    box = server("m", can_load=True)
    write_suite(tmp_path, 2)
    async with opened(tmp_path, {URL: box}) as app:

        def answer(request: ChatRequest, times: int) -> Completion:
            if request.prompt.startswith("Question 2"):
                app.executor.drain()
            return right(request, times)

        box.answer = answer
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        with anyio.fail_after(30):
            await app.executor.run()
        run = await app.runs.get(run_id)
    assert (run.state, run.passed, box.unloads) == ("completed", 2, ["m"])
