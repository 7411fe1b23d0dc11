"""New weights under the same name while a job asks: none of its answers counts for anybody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.leaderboard import Entry
from llmbench_mcp.domain.run import Run, RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.store.attempts import AttemptFilter
from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_ollama_models import StoredModel
from llmbench_mcp.testing.fake_ollama_wire import chat_reply
from llmbench_mcp.testing.fake_server import Received
from llmbench_mcp.testing.replies import Gate, Reply, error_reply
from tests.support.rooms import opened_real, write_suite
from tests.support.waiting import until
from tests.support.work import finished, has_done, working


class Box(FakeOllama):
    """Answers ``Question n`` with n, and does something at the third question."""

    def __init__(self, at_third: Callable[[Box], None] = lambda box: None) -> None:
        super().__init__(["m"], self._to_question)
        self.at_third = at_third
        self.questions = 0
        self.down = False
        self.hang_at, self.gate = 0, Gate()

    async def _to_question(self, request: Received) -> Reply:
        if "Question" not in request.prompt:
            return chat_reply("Hello")
        self.questions += 1
        if self.questions == 3:
            self.at_third(self)
        if self.questions == self.hang_at:
            await self.gate.pass_through()
        if self.down:
            return error_reply(503, "the disk is away")
        return chat_reply(request.prompt.strip().rsplit(" ", 1)[1])

    def pull(self) -> None:
        """New weights come under the old name."""
        self.store.add(StoredModel("m", content="new"))
        self.evict("m")


class Both(Box):
    """As the real server does it: the old weights stay loaded for a while, listed behind the new ones."""

    def ps(self, request: Received) -> Reply:
        old = {"name": "m", "model": "m", "digest": StoredModel("m").digest, "size": 1, "size_vram": 1}
        listed = super().ps(request).body
        assert isinstance(listed, dict)
        return Reply(body={"models": [*listed["models"], old]})


async def asked(app: App, box: Box) -> Run:
    await app.endpoints.add(NewEndpoint(box.url, "box"))
    await app.models.discover()
    return await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",), "box"))).run.id)


async def ranked(app: App) -> list[Entry]:
    return [
        entry
        for entry in (await app.leaderboards.query("sums")).entries
        if any(task.graded for task in entry.row.tasks)
    ]


async def asked_for(box: Box, questions: int) -> bool:
    return box.questions >= questions


async def has_no_verdict(app: App, run_id: str) -> bool:
    return (await app.runs.get(run_id)).done == 0


def graded(entry: Entry) -> tuple[int, int]:
    """Of all tasks, how many attempts were graded and how many passed."""
    return sum(task.graded for task in entry.row.tasks), sum(task.passed for task in entry.row.tasks)


async def test_weights_replaced_in_mid_run_fail_the_job_and_none_of_its_answers_counts(tmp_path: Path) -> None:
    write_suite(tmp_path, 4)
    async with Box(Box.pull) as box, opened_real(tmp_path) as app, working(app):
        run = await asked(app, box)
        records, _ = await app.runs.results(run.id, AttemptFilter(), limit=20)
        kept = await app.runs.attempt(run.id, 1)
        counted = await ranked(app)
    assert (run.state, run.done, run.errors, run.passed) == ("failed", 0, 4, 0)
    assert run.failures == {"invalid_identity": 4}
    assert "none of them counts" in (run.reason or "")
    assert [job.state for job in run.jobs] == ["failed"]
    assert (kept.completion_text, kept.facts["passed"], kept.facts["counted"]) == ("1", True, False)
    assert [record.facts.get("counted", True) for record in records] == [False] * 4 + [True] * 4
    assert counted == []


async def test_weights_replaced_after_a_whole_job_leave_its_answers_counted(tmp_path: Path) -> None:
    write_suite(tmp_path, 4)
    async with Box() as box, opened_real(tmp_path) as app, working(app):
        first = await asked(app, box)
        box.pull()
        again = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",), "box"))).run.id)
        counted = await ranked(app)
    assert (first.state, again.state) == ("completed", "failed")
    assert [graded(entry) for entry in counted] == [(4, 4)]


async def test_weights_replaced_during_an_outage_take_back_what_came_before_it(tmp_path: Path) -> None:
    write_suite(tmp_path, 4)

    def fall(box: Box) -> None:
        box.pull()
        box.down = True

    async with Box(fall) as box, opened_real(tmp_path) as app, working(app):
        with anyio.fail_after(60):
            run = await asked(app, box)
        counted = await ranked(app)
    assert (run.state, run.done, run.errors, counted) == ("failed", 0, 4, [])
    assert "with digest" in (run.reason or "")


async def test_new_weights_are_seen_before_the_old_ones_that_are_still_listed(tmp_path: Path) -> None:
    write_suite(tmp_path, 4)
    async with Both(Box.pull) as box, opened_real(tmp_path) as app, working(app):
        run = await asked(app, box)
    assert (run.state, run.failures) == ("failed", {"invalid_identity": 4})


@pytest.mark.parametrize("all_of_it", [True, False])
async def test_a_run_cancelled_after_the_weights_were_replaced_counts_nothing(tmp_path: Path, all_of_it: bool) -> None:
    write_suite(tmp_path, 4)
    box = Box(Box.pull)
    async with box, opened_real(tmp_path) as app, working(app):
        await app.endpoints.add(NewEndpoint(box.url, "box"))
        await app.models.discover()
        box.hang_at = 4
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",), "box"))).run.id
        await until(lambda: has_done(app, run_id, 3))
        await until(lambda: asked_for(box, 4))
        if all_of_it:
            await app.runs.cancel(run_id)
        else:
            await app.runs.cancel_on("cpu", run_id)
        await until(lambda: has_no_verdict(app, run_id))
        run, counted = await finished(app, run_id), await ranked(app)
        records, _ = await app.runs.results(run_id, AttemptFilter(), limit=20)
        box.gate.open()
    assert (run.state, run.done, run.errors, counted) == ("cancelled", 0, 0, [])
    assert [record.state for record in records] == ["done"] * 3 + ["cancelled"] * 4


async def test_a_failed_job_is_asked_whole_by_a_retry_once_the_old_weights_are_back(tmp_path: Path) -> None:
    write_suite(tmp_path, 4)
    async with Box(Box.pull) as box, opened_real(tmp_path) as app, working(app):
        run = await asked(app, box)
        box.store.add("m")
        box.evict("m")
        await app.runs.retry(run.id, "errors")
        again = await finished(app, run.id)
        counted = await ranked(app)
    assert (again.state, again.done, again.errors, again.passed) == ("completed", 4, 0, 4)
    assert [graded(entry) for entry in counted] == [(4, 4)]
