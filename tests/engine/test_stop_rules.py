"""What ends an answer before the model does: time, repetition, a prompt that was cut."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from llmbench_mcp.app import App
from llmbench_mcp.cli import shapes
from llmbench_mcp.domain.chat import Usage
from llmbench_mcp.domain.run import Run, RunFilter, RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.store.attempts import AttemptFilter
from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_ollama_wire import chat_reply
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import Gate, Reply, text_reply
from llmbench_mcp.testing.scripted import completion
from tests.support.rooms import assigned, opened, opened_real, server, write_suite
from tests.support.work import URL, finished, right, working

AGAIN = "Wait, let me check that again: the answer must be one, because one is the first of all the numbers. "


async def run_at(app: App, url: str, **facts: object) -> Run:
    await app.endpoints.add(NewEndpoint(url, "box"))
    await app.models.discover()
    return await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",), "box", **facts))).run.id)  # type: ignore[arg-type]  # fields


@pytest.mark.parametrize("kind", ["openai", "ollama"])
async def test_an_answer_that_goes_in_circles_is_cut_and_fails_as_a_loop(tmp_path: Path, kind: str) -> None:
    write_suite(tmp_path, 1)

    def circles(request: Received) -> Reply:
        return text_reply("1 " + AGAIN * 500) if kind == "openai" else chat_reply("1 " + AGAIN * 500)

    box = FakeServer(["m"], circles) if kind == "openai" else FakeOllama(["m"], circles)
    async with box, opened_real(tmp_path) as app, working(app):
        run = await run_at(app, box.url)
        record = await app.runs.attempt(run.id, 1)
        listed, _ = await app.runs.listed(RunFilter())
        board = shapes.leaderboard(await app.leaderboards.query("sums"))["entries"]
    assert (run.done, run.passed, run.failures) == (1, 0, {"loop": 1})
    assert record.facts["finish_reason"] == "loop"
    assert (listed[0].run.total_tokens, shapes.run(run)["total_tokens"]) == (None, None)
    counts = [one[name] for one in (board[0], board[0]["tasks"][0]) for name in ("tokens", "completion_tokens")]
    assert counts == [None] * 4  # the server had no time to count
    assert len(record.completion_text or "") < 250 * len(AGAIN)


async def test_the_rule_against_loops_can_be_switched_off(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    async with (
        FakeServer(["m"], lambda request: text_reply(AGAIN * 100 + "The answer is 1")) as box,
        opened_real(tmp_path, loop_tokens=0) as app,
        working(app),
    ):
        run = await run_at(app, box.url)
    assert (run.passed, run.failures) == (1, {})


async def test_an_answer_out_of_time_is_graded_as_far_as_it_came_and_not_asked_again(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    gate = Gate()
    begun = text_reply("Let me see")
    held = Reply(steps=[*(begun.steps or [])[:2], gate])
    async with (
        FakeServer(["m"], lambda request: held if "Question" in request.prompt else text_reply("Hello")) as box,
        opened_real(tmp_path, total_timeout_s=1.0) as app,
        working(app),
    ):
        with anyio.fail_after(60):
            run = await run_at(app, box.url)
        gate.open()
    assert (run.done, run.errors, run.failures) == (1, 0, {"budget_exhausted": 1})
    assert len([prompt for prompt in box.prompts if "Question" in prompt]) == 1


async def test_a_prompt_the_server_cut_is_no_wrong_answer(tmp_path: Path) -> None:
    box = server("a", answer=lambda request, times: completion("1", usage=Usage(50, 5)))
    write_suite(tmp_path, 1)
    path = tmp_path / "tasks" / "own" / "q01.md"
    path.write_text(path.read_text(encoding="utf-8").replace("Question 1", "word " * 300 + "Question 1"), "utf-8")
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("a",), ("sums",)))).run.id)
        records, _ = await app.runs.results(run.id, AttemptFilter())
    assert (run.errors, run.failures) == (1, {"truncated_prompt": 1})
    assert "counted 50 tokens in a prompt of 302 words" in records[0].facts["message"]


async def test_models_that_reason_get_a_larger_budget(tmp_path: Path) -> None:
    budgets: list[int | None] = []

    def note(request: object, times: int) -> object:
        budgets.append(request.sampling.max_tokens)  # type: ignore[attr-defined]  # a ChatRequest
        return right(request, times)  # type: ignore[arg-type]  # a ChatRequest

    box = server("a", answer=note)
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        await finished(app, (await app.runs.start(RunRequest(("a",), ("sums",)))).run.id)
        await app.models.set_capabilities("a", {"reasoning": True})
        run = await finished(app, (await app.runs.start(RunRequest(("a",), ("sums",)))).run.id)
    assert run.passed == 1
    assert budgets == [2048, 16_000]
