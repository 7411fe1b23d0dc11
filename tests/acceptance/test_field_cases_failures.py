"""Servers that fail while they say 200, and servers that ask to be left alone for a while."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from llmbench_mcp.domain.attempt import PlannedAttempt
from llmbench_mcp.domain.chat import ChatRequest
from llmbench_mcp.domain.errors import RateLimitedError
from llmbench_mcp.domain.task import Task
from llmbench_mcp.engine.attempt import Asked, Asker, Limits
from llmbench_mcp.testing.clocks import FastClock, ManualClock
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import DONE, Gate, Reply, chunk, error_reply, streamed, text_reply
from tests.backends.support import openai_at
from tests.cli.conftest import Cli
from tests.mcp.bench import BenchClient, open_bench
from tests.support.rooms import write_suite

LONG_LEASE: dict[str, Any] = {"lease_s": 1000.0}


class Moody:
    """Right answers to ``Question n`` but for four, which fail with HTTP 200 each in its own way."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, request: Received) -> Reply | str:
        number = request.prompt.strip().rsplit(" ", 1)[-1]
        self.asked[number] += 1
        if number == "3" and self.asked[number] == 1:
            return Reply(body={"id": None, "choices": None, "error": {"code": 429, "message": "busy"}})
        if number == "5":
            return Reply(body={"error": {"code": 400, "message": "bad schema"}})
        if number == "7":
            return Reply(body="<h1>login</h1>", content_type="text/html")
        return streamed([DONE]) if number == "8" else number


async def over(client: BenchClient, suite: str = "sums") -> dict[str, Any]:
    started = await client.call("run_start", models=["alpha"], suites=[suite])
    return await client.finish(started["run_id"])


async def test_failures_that_say_200_are_told_apart_and_are_no_wrong_answers(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_suite(tmp_path, 10)
    moody = Moody()
    async with (
        open_bench(tmp_path, script=moody, clock=FastClock(), **LONG_LEASE) as bench,
        bench.client("auto") as client,
    ):
        await client.set_up(bench.fake, "alpha")
        status = await over(client)
        page = await client.call("run_results", run_id=status["run_id"], detail="detailed", limit=50)
        (row,) = (await client.call("leaderboard_query", suite="sums"))["entries"]
        model = await client.call("model_get", model="alpha")
    monkeypatch.setenv("LLMBENCH_TASKS_DIR", str(tmp_path / "tasks"))
    shown = await anyio.to_thread.run_sync(cli, "leaderboard")
    assert (status["state"], status["done"], status["passed"], status["errors"]) == ("completed", 7, 7, 3)
    rows = {attempt["number"]: attempt for attempt in page["attempts"]}
    assert {number: attempt.get("passed") for number, attempt in rows.items()} == {
        number: None if number in (5, 7, 8) else True for number in range(1, 11)
    }
    reasons = {number: rows[number]["untrusted_message"] for number in (5, 7, 8)}
    assert "bad schema" in reasons[5]
    assert "a web page" in reasons[7]
    assert "stream" in reasons[8]
    assert len(set(reasons.values())) == 3
    assert rows[3]["details"]["retries"] == 1
    assert (moody.asked["3"], moody.asked["5"], moody.asked["7"]) == (2, 1, 1)
    assert model["status"] == "unstable"
    assert (row["coverage"], row["errors"]) == (0.7, 3)
    assert row["interval_low"] < 0.7, "seven right answers are no certainty"
    assert "rank" not in row
    note, _, speeds = row["note"].partition("; ")
    assert note == "not ranked: only 7 of 10 tasks graded"
    assert speeds in ("", "speeds may be this program's own, not the server's")  # by how busy the machine is
    assert "not ranked: only 7 of 10 tasks graded; 3 errors" in shown.out


WAITS = {
    "2": (2.0, 2.0),
    "in two seconds": (0.5, 2.0),
    "an hour ago": (0.0, 1.0),
    "soon": (1.0, 1.0),
    "": (1.0, 1.0),
    "-5": (1.0, 1.0),
}
"""What ``Retry-After`` says, and the least and the most seconds waited for it; back-off begins with 1 s."""


def dated(header: str) -> str:
    away = {"in two seconds": timedelta(seconds=2), "an hour ago": timedelta(hours=-1)}.get(header)
    return header if away is None else format_datetime(datetime.now(UTC) + away, usegmt=True)


async def asked(reply: Reply) -> tuple[Asked, list[float]]:
    """One attempt that meets ``reply`` first and is answered then; also the waits, on a clock that stands still."""
    seen: list[str] = []

    def script(request: Received) -> Reply:
        seen.append(request.prompt)
        return reply if len(seen) == 1 else text_reply("fine")

    clock, task = ManualClock(), Task("own/q", "Question", {})
    async with FakeServer(script=script) as server, openai_at(server.url, clock) as backend:
        asker = Asker(backend, clock, Limits(20.0, 10.0))
        attempt = PlannedAttempt("a", "run", "job", task.id, "hash", repeat=1, tries=0)
        return await asker.ask(attempt, task, ChatRequest("m", "Question")), clock.sleeps


@pytest.mark.parametrize("header", WAITS)
async def test_a_server_is_left_alone_for_as_long_as_it_asks(header: str) -> None:
    done, waits = await asked(error_reply(429, "busy", Retry_After=dated(header)))
    least, most = WAITS[header]
    assert len(waits) == 1
    assert least <= waits[0] <= most
    assert done.error is None
    assert done.completion is not None
    assert (done.completion.text, done.retries) == ("fine", 1)
    assert done.completion.timing.e2e_s == 0.0, "the clock moved while waiting only"


async def test_an_unreadable_finer_wait_gives_way_to_the_coarser() -> None:
    reply = Reply(429, {"error": {"message": "busy"}}, {"Retry-After-Ms": "junk", "Retry-After": "1"})
    done, waits = await asked(reply)
    assert (done.error, waits) == (None, [1.0])


async def test_two_hours_are_not_slept_through() -> None:
    done, waits = await asked(error_reply(429, "quota", Retry_After="7200"))
    assert waits == []
    assert isinstance(done.error, RateLimitedError)
    assert done.error.retry_after_s == 7200.0


async def test_who_asks_for_hours_is_told_with_the_time_and_the_rest_goes_on(tmp_path: Path) -> None:
    def script(request: Received) -> Reply | str:
        number = request.prompt.strip().rsplit(" ", 1)[-1]
        return error_reply(429, "quota", Retry_After="7200") if number == "2" else number

    write_suite(tmp_path, 3)
    async with (
        open_bench(tmp_path, script=script, clock=FastClock(), **LONG_LEASE) as bench,
        bench.client("auto") as client,
    ):
        await client.set_up(bench.fake, "alpha")
        status = await over(client)
        page = await client.call("run_results", run_id=status["run_id"], only_failed=True)
    assert (status["state"], status["passed"], status["failures"]) == ("completed", 2, {"rate_limited": 1})
    assert "in 2 h" in page["attempts"][0]["untrusted_message"]


async def test_cancelling_ends_a_wait(tmp_path: Path) -> None:
    met = Gate()

    async def script(request: Received) -> Reply | str:
        if not request.prompt.startswith("Question"):
            return "Hello"
        met.open()
        await met.pass_through()
        return error_reply(429, "busy", Retry_After="59")

    write_suite(tmp_path, 3)
    async with open_bench(tmp_path, script=script) as bench, bench.client("auto") as client:
        await client.set_up(bench.fake, "alpha")
        run_id = (await client.call("run_start", models=["alpha"], suites=["sums"]))["run_id"]
        await met.reached()
        await client.call("run_cancel", run_id=run_id)
        with anyio.fail_after(20):  # far less than the wait
            status = await client.finish(run_id)
        assert (status["state"], status["done"], status["errors"]) == ("cancelled", 0, 0)
        assert len([prompt for prompt in bench.fake.prompts if prompt.startswith("Question")]) == 1


async def test_an_answer_of_which_a_part_could_not_be_read_is_no_answer_to_be_graded(tmp_path: Path) -> None:
    half = b'data: {"choices": [{"index": 0, "delta": {"content": "4\n\n'
    lossy = streamed([chunk("The answer is "), half, chunk(finish="stop"), DONE])
    async with (
        open_bench(tmp_path, script=lambda request: lossy, clock=FastClock(), **LONG_LEASE) as bench,
        bench.client("auto") as client,
    ):
        await client.set_up(bench.fake, "alpha")
        status = await over(client)
        page = await client.call("run_results", run_id=status["run_id"])
    assert (status["done"], status["errors"]) == (0, 3)
    assert {row["failure"] for row in page["attempts"]} == {"provider_error"}
    assert "could not be read" in page["attempts"][0]["untrusted_message"]
