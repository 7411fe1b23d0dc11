"""What happened to a run can be read afterwards, in order, by whoever asks."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.errors import NotFoundError
from llmbench_mcp.domain.run import RunRequest
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.waiting import until
from tests.support.work import URL, finished, has_done, right, working


async def test_a_runs_history_tells_of_its_interruption_and_can_be_read_in_parts(tmp_path: Path) -> None:
    reached = anyio.Event()

    async def answer(request: ChatRequest, times: int) -> Completion:
        if request.prompt.strip() == "Question 4" and times == 0:
            reached.set()
            await anyio.sleep_forever()
        return right(request, times)

    box = server("m", answer=answer)
    write_suite(tmp_path, 5)
    async with opened(tmp_path, {URL: box}) as app:
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        async with working(app):
            with anyio.fail_after(30):
                await reached.wait()
            await until(lambda: has_done(app, run_id, 3))
    async with opened(tmp_path, {URL: box}) as app, working(app):
        run = await finished(app, run_id)
        history = await app.runs.events(run_id)
        rest = await app.runs.events(run_id, after_seq=history[3].seq, limit=2)
        everything = await app.runs.events(run_id, attempts=True)
    kinds = [event.kind for event in history]
    assert run.interrupted == 1
    assert kinds[:4] == ["queued", "running", "loading", "job_running"]
    assert kinds[4:] == ["interrupted", "loading", "job_running", "job_done", "completed"]
    assert rest == history[4:6]
    assert len([event for event in everything if event.kind == "attempt"]) == 5
    assert history[0].data == {"planned": 5}


async def test_the_history_of_an_unknown_run_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path, {}) as app:
        with pytest.raises(NotFoundError):
            await app.runs.events("run_none")
