"""What a server's or the disk's refusal does to a run: it ends, it waits, or it goes on, as the rules say."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.errors import (
    AuthError,
    EndpointError,
    IncompatibleError,
    ModelNotAvailable,
    RateLimitedError,
    ServerFault,
    UnreachableError,
)
from llmbench_mcp.domain.run import Run, RunFilter, RunRequest
from llmbench_mcp.services.models import ModelFilter
from llmbench_mcp.store.attempts import AttemptFilter
from llmbench_mcp.testing.clocks import FastClock
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import DONE, Reply, error_reply, text_reply
from llmbench_mcp.testing.scripted import ScriptedServer
from tests.support.rooms import assigned, opened, opened_real, server, write_suite
from tests.support.waiting import until
from tests.support.work import URL, finished, is_in_state, right, working

REFUSED = ServerFault("box refused the request (HTTP 400): bad schema", "See the server's log.", refused=True)


async def ran(folder: Path, box: ScriptedServer, tasks: int = 2) -> tuple[Run, str, dict[str, int]]:
    """The run's end, the model's status then, and what each prompt was asked."""
    write_suite(folder, tasks)
    async with opened(folder, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
        (model,), _ = await app.models.page(ModelFilter())
    return run, model.status, dict(box.asked)


@pytest.mark.parametrize(
    ("error", "word", "job_state", "status"),
    [
        (REFUSED, "provider_error", "failed", "active"),
        (ModelNotAvailable("box does not have the model (HTTP 404)"), "not_available", "failed", "not_available"),
        (IncompatibleError("box has no chat template"), "provider_error", "failed", "incompatible"),
        (AuthError("box refused access (HTTP 401)"), "auth", "blocked", "active"),
    ],
)
async def test_a_warm_up_that_is_refused_ends_the_job_with_the_servers_words(
    tmp_path: Path, error: EndpointError, word: str, job_state: str, status: str
) -> None:
    run, now, asked = await ran(tmp_path, server("m", warm_up_error=error))
    assert (run.state, run.jobs[0].state, dict(run.failures)) == ("failed", job_state, {word: 2})
    assert error.what in (run.reason or "")
    assert asked == {}
    assert now == status


@pytest.mark.parametrize("status", [400, 409, 413, 422])
async def test_a_bad_request_on_warm_up_is_no_outage(tmp_path: Path, status: int) -> None:
    write_suite(tmp_path, 1)

    def refuse(request: Received) -> Reply:
        return error_reply(status, "the temperature is not to my taste", kind="invalid_request_error")

    async with FakeServer(["m"], refuse) as box, opened_real(tmp_path) as app, working(app):
        await assigned(app, box.url)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
        assert len(box.prompts) == 1
    assert (run.state, run.jobs[0].state) == ("failed", "failed")
    assert f"HTTP {status}): the temperature is not to my taste" in (run.reason or "")


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
async def test_a_trouble_on_warm_up_that_may_pass_is_waited_for(tmp_path: Path, status: int) -> None:
    write_suite(tmp_path, 1)
    seen: list[str] = []

    def at_first(request: Received) -> Reply:
        seen.append(request.prompt)
        return error_reply(status, "not now") if len(seen) == 1 else text_reply("1")

    async with FakeServer(["m"], at_first) as box, opened_real(tmp_path) as app, working(app):
        await assigned(app, box.url)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
        kinds = [event.kind for event in await app.runs.events(run.id)]
    assert (run.state, run.passed) == ("completed", 1)
    assert kinds[:4] == ["queued", "running", "loading", "paused"]
    assert kinds[4:] == ["running", "loading", "job_running", "job_done", "completed"]


async def test_a_refused_credential_is_the_endpoints_state_and_not_the_models(tmp_path: Path) -> None:
    def answer(request: ChatRequest, times: int) -> Completion:
        raise AuthError("box refused access (HTTP 401)", "Set the key.")

    write_suite(tmp_path, 2)
    async with opened(tmp_path, {URL: server("m", answer=answer)}) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
        (view,) = await app.endpoints.views(look=False)
        (model,), _ = await app.models.page(ModelFilter())
    assert (view.endpoint.state, model.status) == ("no_access", "active")
    assert run.jobs[0].state == "blocked"


async def test_a_failure_that_says_200_is_an_error_of_its_own_kind_and_no_wrong_answer(tmp_path: Path) -> None:
    times: dict[str, int] = {}

    def script(request: Received) -> Reply | str:
        prompt = request.prompt.strip()
        times[prompt] = times.get(prompt, 0) + 1
        error = {"code": 429, "message": "busy"} if prompt == "Question 3" else {"code": 400, "message": "bad schema"}
        if prompt == "Question 5" or (prompt == "Question 3" and times[prompt] == 1):
            return Reply(body={"id": None, "choices": None, "error": error})
        if prompt == "Question 7":
            return Reply(body="<h1>login</h1>", content_type="text/html")
        return Reply(steps=[DONE], content_type="text/event-stream") if prompt == "Question 8" else prompt.split()[-1]

    write_suite(tmp_path, 10)
    async with FakeServer(["m"], script) as box, opened_real(tmp_path) as app, working(app):
        await assigned(app, box.url)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
        records, _ = await app.runs.results(run.id, AttemptFilter(), 10)
        board = await app.leaderboards.query("sums")
    assert (run.done, run.passed, run.errors) == (7, 7, 3)
    told = {record.task_id: str(record.facts["message"]) for record in records if record.facts.get("failure")}
    assert len(set(told.values())) == len(told) == 3
    assert ("bad schema" in told["own/q05"], "web page" in told["own/q07"]) == (True, True)
    assert times == {f"Question {n}": {3: 2}.get(n, 1) for n in range(1, 11)} | {"Hi": times["Hi"]}
    assert [record.facts["retries"] for record in records if record.task_id == "own/q03"] == [1]
    assert board.entries[0].coverage == pytest.approx(0.7)


async def test_an_attempt_whose_server_asks_for_hours_is_parked_with_the_time_given(tmp_path: Path) -> None:
    def script(request: Received) -> Reply | str:
        if request.prompt.strip() == "Question 2":
            return Reply(429, {"error": {"message": "quota"}}, headers={"Retry-After": "7200"})
        return request.prompt.split()[-1]

    write_suite(tmp_path, 3)
    async with FakeServer(["m"], script) as box, opened_real(tmp_path) as app, working(app):
        await assigned(app, box.url)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
        parked = await app.runs.attempt(run.id, 2)
        assert box.prompts.count("Question 2") == 1
    assert (run.passed, dict(run.failures)) == (2, {"rate_limited": 1})
    assert "Try again in 2 h." in str(parked.facts["message"])


async def test_nobody_says_how_long_a_paused_run_has_left(tmp_path: Path) -> None:
    def answer(request: ChatRequest, times: int) -> Completion:
        if request.prompt.strip() == "Question 3" and times == 0:
            box.up = False
            raise UnreachableError("Nothing answers.")
        return right(request, times)

    box = server("m", answer=answer)
    write_suite(tmp_path, 6)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        await until(lambda: is_in_state(app, run_id, "paused"))
        paused = await app.runs.get(run_id)
        pages, _ = await app.runs.page()
        box.up = True
        run = await finished(app, run_id)
    assert (paused.done, paused.attempts_per_minute is None, paused.eta_s, pages[0].eta_s) == (2, False, None, None)
    assert run.state == "completed"


async def test_errors_in_a_row_pause_the_job_instead_of_burning_through_the_rest(tmp_path: Path) -> None:
    ill = True

    def answer(request: ChatRequest, times: int) -> Completion:
        if ill:
            raise ServerFault("the GPU fell off the bus")
        return right(request, times)

    box = server("m", answer=answer)
    write_suite(tmp_path, 9)
    async with opened(tmp_path, {URL: box}, breaker_errors=4) as app, working(app):
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        await until(lambda: is_in_state(app, run_id, "paused"))
        paused = await app.runs.get(run_id)
        asked, ill = len(box.asked), False
        run = await finished(app, run_id)
    assert (asked, paused.errors) == (4, 4)
    assert "fell off the bus" in (paused.reason or "")
    assert (run.state, run.passed, run.errors) == ("completed", 5, 4)


async def test_refusals_in_a_row_end_the_job_for_they_will_not_pass(tmp_path: Path) -> None:
    def answer(request: ChatRequest, times: int) -> Completion:
        raise REFUSED

    run, _, asked = await ran(tmp_path, server("m", answer=answer), tasks=9)
    assert (run.jobs[0].state, run.errors, sum(asked.values())) == ("failed", 9, 3)
    assert "bad schema" in (run.reason or "")


async def test_a_server_that_asks_for_a_minute_is_left_alone_for_it(tmp_path: Path) -> None:
    def answer(request: ChatRequest, times: int) -> Completion:
        if times == 0:
            raise RateLimitedError("box is busy", retry_after_s=200.0)
        return right(request, times)

    box = server("m", answer=answer)
    write_suite(tmp_path, 4)
    async with opened(tmp_path, {URL: box}, breaker_errors=1) as app, working(app):
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        await until(lambda: is_in_state(app, run_id, "paused"))
        began = app.executor._clock.monotonic()
        await until(lambda: asked(box, 2))
        waited = app.executor._clock.monotonic() - began
    assert waited >= 190


async def asked(box: ScriptedServer, times: int) -> bool:
    return sum(box.asked.values()) >= times


async def test_a_full_disk_pauses_the_run_without_spending_tokens_and_it_goes_on_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = server("m")

    def answer(request: ChatRequest, times: int) -> Completion:
        if request.prompt.strip() == "Question 3" and times == 0:
            monkeypatch.setattr("llmbench_mcp.store.failures.LEAST_FREE", 1 << 62)
        return right(request, times)

    box.answer = answer
    write_suite(tmp_path, 6)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        await until(lambda: is_in_state(app, run_id, "paused"))
        paused = await app.runs.get(run_id)
        assert (paused.done, paused.eta_s) == (3, None)
        assert str(tmp_path / "data" / "llmbench.db") in (paused.reason or "")
        assert sum(box.asked.values()) == 3
        monkeypatch.undo()
        run = await finished(app, run_id)
    assert (run.state, run.passed, run.errors) == ("completed", 6, 0)
    assert set(box.asked.values()) == {1}


async def test_a_run_that_nobody_can_go_on_with_is_shown_as_paused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: server("m", answer=right)}) as app:
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        monkeypatch.setattr("llmbench_mcp.store.failures.LEAST_FREE", 1 << 62)
        shown = await app.runs.status(run_id)
        (listed,), _ = await app.runs.listed(RunFilter())
        (paused,), _ = await app.runs.listed(RunFilter(state="paused"))
        queued, _ = await app.runs.listed(RunFilter(state="queued"))
        monkeypatch.undo()
        assert (await app.runs.get(run_id)).state == "queued"
    assert shown.state == "paused"
    assert "No space is left" in (shown.reason or "")
    assert (listed.run.state, listed.run.reason) == (shown.state, shown.reason)
    assert (paused.run.id, queued) == (run_id, [])


class Recording(FastClock):
    """Remembers how long was waited for a retry: nothing else sleeps for a second or more in a short run."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        if (frame := inspect.currentframe()) and frame.f_back and frame.f_back.f_code.co_name == "ask":
            self.waits.append(seconds)
        await super().sleep(seconds)


def in_seconds(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"Retry-After": "2"}, 2, 2),
        ({"Retry-After": "in 30"}, 10, 30),
        ({"Retry-After": "in -30"}, 0, 0),
        ({"Retry-After": "soon"}, 1, 1),
        ({"Retry-After": ""}, 1, 1),
        ({"Retry-After": "-5"}, 1, 1),
        ({"retry-after-ms": "junk", "Retry-After": "1"}, 1, 1),
    ],
)
async def test_a_busy_server_is_waited_for_as_it_asks(
    tmp_path: Path, headers: dict[str, str], least: float, most: float
) -> None:
    clock = Recording()

    def script(request: Received) -> Reply | str:
        if request.prompt.strip() == "Question 1" and box.prompts.count(request.prompt) == 1:
            said = {name: in_seconds(float(v[3:])) if v.startswith("in ") else v for name, v in headers.items()}
            return Reply(429, {"error": {"message": "busy"}}, headers=said)
        return request.prompt.split()[-1]

    write_suite(tmp_path, 1)
    async with FakeServer(["m"], script) as box, opened_real(tmp_path, clock=clock) as app, working(app):
        await assigned(app, box.url)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
        record = await app.runs.attempt(run.id, 1)
    (wait,) = clock.waits
    assert least <= wait <= most
    assert (run.passed, record.facts["retries"]) == (1, 1)


async def test_a_crash_that_lm_studio_calls_a_bad_request_is_waited_for(tmp_path: Path) -> None:
    def crash_once(request: Received) -> Reply | str:
        if len(box.prompts) == 1:
            return error_reply(400, "The model has crashed without additional information. (Exit code: 6)")
        return request.prompt.split()[-1]

    write_suite(tmp_path, 1)
    async with FakeServer(["m"], crash_once) as box, opened_real(tmp_path) as app, working(app):
        await assigned(app, box.url)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
    assert (run.state, run.passed) == ("completed", 1)
