"""What a run may be asked for: combinations of parameters, own tasks, limits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from llmbench_mcp.cli import shapes
from llmbench_mcp.domain.chat import ChatRequest, Completion, Sampling
from llmbench_mcp.domain.errors import ConflictError, InputError
from llmbench_mcp.domain.matrix import expand
from llmbench_mcp.domain.run import RunLimits, RunRequest, run_limits
from llmbench_mcp.services.custom_tasks import custom_tasks
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.store.attempts import AttemptFilter
from llmbench_mcp.testing.scripted import completion
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.work import URL, finished, right, working


async def test_every_combination_of_parameters_is_a_job_of_its_own(tmp_path: Path) -> None:
    box = server("a", answer=right)
    write_suite(tmp_path, 2)
    matrix = {"temperature": (0.0, 0.7), "reasoning": ("off", "high")}
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("a",), ("sums",), matrix=matrix))).run.id)
        board = await app.leaderboards.query("sums")
    asked = [(job.sampling.temperature, job.sampling.reasoning) for job in run.jobs]
    assert asked == [(0.0, "off"), (0.0, "high"), (0.7, "off"), (0.7, "high")]
    assert (run.state, run.done, run.planned) == ("completed", 8, 8)
    assert len(board.entries) == 4


async def test_each_repeat_is_asked_with_the_next_seed_and_without_one_none_is_given(tmp_path: Path) -> None:
    seeds: list[int | None] = []

    def note(request: ChatRequest, times: int) -> Completion:
        seeds.append(request.sampling.seed)
        return right(request, times)

    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: server("a", answer=note)}) as app, working(app):
        await assigned(app, URL)
        for sampling in (Sampling(seed=7), Sampling(seed=None)):
            request = RunRequest(("a",), ("sums",), repeats=3, sampling=sampling)
            await finished(app, (await app.runs.start(request)).run.id)
    assert sorted(seeds[:3], key=str) == [7, 8, 9]
    assert seeds[3:] == [None, None, None]


def test_a_matrix_keeps_what_it_does_not_name_and_drops_doubles() -> None:
    made = expand(Sampling(seed=5, max_tokens=9), {"top_p": (0.5, 0.5, None)})
    assert made == (Sampling(seed=5, max_tokens=9, top_p=0.5), Sampling(seed=5, max_tokens=9, top_p=None))


@pytest.mark.parametrize(
    ("matrix", "told"),
    [
        ({"heat": (1,)}, "no parameter 'heat'"),
        ({"top_p": ()}, "top_p is empty"),
        ({"top_p": (1.5,)}, "top_p is 1.5"),
        ({"seed": (0.5,)}, "seed is 0.5"),
        ({"max_tokens": (True,)}, "max_tokens is True"),
        ({"temperature": ("hot",)}, "temperature is hot"),
        ({"temperature": (float("nan"),)}, "temperature is nan"),
        ({"reasoning": ("much",)}, "reasoning is 'much'"),
        ({"seed": tuple(range(100)), "max_tokens": tuple(range(1, 100))}, "9900 combinations"),
    ],
)
def test_a_matrix_that_makes_no_sense_is_refused_by_name(matrix: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        expand(Sampling(), matrix)


async def test_a_request_may_bring_its_own_tasks(tmp_path: Path) -> None:
    answers = {"What is 6 times 7?": "42", "Name a primary colour.": "Red is one.", "Greet.": "no"}
    box = server("a", answer=lambda request, times: completion(answers[request.prompt]))
    own = custom_tasks(
        [
            {"id": "product", "prompt": "What is 6 times 7?", "expected": 42},
            {"prompt": "Name a primary colour.", "criteria": ["red, yellow or blue"]},
            {"prompt": "Greet.", "validation": {"type": "exact", "expected": "hello"}},
        ]
    )
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("a",), (), custom_tasks=own))).run.id)
        records, _ = await app.runs.results(run.id, AttemptFilter())
    told = [(record.task_id.partition("-")[0], record.facts["passed"]) for record in records]
    assert told == [("custom/product", True), ("custom/name_a_primary_colour", True), ("custom/greet", False)]


async def test_tasks_of_two_requests_are_one_task_only_where_they_are_equal(tmp_path: Path) -> None:
    first = [{"prompt": f"Say {word}.", "expected": word} for word in ("one", "two")]
    other = [first[1], {"prompt": "Sag drei.", "expected": "three"}]
    write_suite(tmp_path, 1)
    box = server("a", "b", "c", answer=lambda request, times: completion("two"))
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        for models, tasks in ((("a",), first), (("b", "c"), other)):
            request = RunRequest(models, (), custom_tasks=custom_tasks(tasks))
            await finished(app, (await app.runs.start(request)).run.id)
        board = await app.leaderboards.query("custom")
        pair = await app.comparisons.compare("b", "a", "custom")
    assert [entry.row.model for entry in board.entries] == ["a", "b", "c"]
    assert {entry.note for entry in board.entries} == {"not ranked: only 2 of 3 tasks graded"}
    assert (pair.shared, pair.both) == (1, 1)


async def test_results_of_other_tasks_under_the_same_id_are_told_to_be_left_out(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    box = server("a", "b", answer=lambda request, times: completion("2"))
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        for model, expected in (("a", 1), ("b", 2)):
            own = custom_tasks([{"id": "same", "prompt": "Say it.", "expected": expected}])
            await finished(app, (await app.runs.start(RunRequest((model,), (), custom_tasks=own))).run.id)
        with pytest.raises(ConflictError, match=r"a has no results .* came with runs.* custom_tasks"):
            await app.comparisons.compare("b", "a", "custom")
        remark = (await app.leaderboards.query("custom")).remark
    assert (remark or "").endswith("; 1 had other content before, and results of that are left out")


@pytest.mark.parametrize("prompt", ["Was heißt das?", "何ですか", "x" * 100_000])
def test_a_task_without_an_id_is_named_by_what_it_is(prompt: str) -> None:
    (task,) = custom_tasks([{"prompt": prompt, "expected": 1}])
    (again,) = custom_tasks([{"expected": 1, "prompt": prompt}])
    (longer,) = custom_tasks([{"prompt": prompt, "expected": 1, "max_tokens": 9}])
    assert task == again
    assert task.id != longer.id
    assert re.fullmatch(r"custom/([a-z0-9_]{1,24}-)?[0-9a-f]{8}", task.id)


def test_the_same_task_twice_is_refused_by_its_prompt() -> None:
    with pytest.raises(InputError, match=r"are the same: 'What\?'.*repeats"):
        custom_tasks([{"prompt": "What?", "expected": 1}] * 2)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("task", "told"),
    [
        ("What?", "Custom task 1 is no object"),
        ({"expected": "1"}, "has no prompt"),
        ({"prompt": " ", "expected": "1"}, "has no prompt"),
        ({"prompt": "x"}, "none of expected, criteria, validation"),
        ({"prompt": "x", "expected": 1, "criteria": ["y"]}, "expected and criteria"),
        ({"prompt": "x", "expected": 1, "wanted": 2}, "unknown key 'wanted'"),
        ({"prompt": "x", "criteria": []}, "criteria must be a list"),
        ({"prompt": "x", "validation": {"answer": 1}}, "object with a type"),
        ({"prompt": "x", "expected": 1, "id": "../../etc"}, "has the id"),
        ({"prompt": "x", "expected": 1, "max_tokens": 0}, "max_tokens is 0"),
        ({"prompt": "x", "criteria": ["y"] * 201}, "task 1 has too many or too long criteria"),
        ({"prompt": "x", "criteria": ["y" * 501]}, "task 1 has too many or too long criteria"),
        ({"prompt": "x\ud800", "expected": 1}, "task 1: prompt holds half a surrogate pair"),
        ({"prompt": "x", "expected": {"a": ["\udfff"]}}, "task 1: expected holds half a surrogate pair"),
        ({"prompt": "x", "validation": {"type": "exact", "\ud800": 1}}, "task 1: validation holds half a surrogate"),
        ({"prompt": "x", "expected": nested(101)}, "task 1: expected is nested more than 100 deep"),
        ({"prompt": "x", "expected": nested(100_000)}, "task 1: expected is nested more than 100 deep"),
    ],
)
def test_an_own_task_that_cannot_be_graded_is_refused_with_its_number(task: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        custom_tasks([task])


def test_an_own_task_may_have_many_criteria_and_deep_values() -> None:
    tasks = custom_tasks([{"prompt": "x", "criteria": ["y" * 500] * 200}, {"prompt": "x", "expected": nested(100)}])
    assert all(task.content_hash() for task in tasks)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 0, -1, True, "9"])
def test_a_limit_is_a_finite_number_above_zero(value: Any) -> None:
    with pytest.raises(InputError, match="limit of seconds is"):
        run_limits({"seconds": value})


def test_two_own_tasks_cannot_share_an_id() -> None:
    with pytest.raises(InputError, match="Two custom tasks"):
        custom_tasks([{"id": "a", "prompt": "x", "expected": 1}] * 2)


@pytest.mark.parametrize(
    ("limits", "done"), [(RunLimits(attempts=3), 3), (RunLimits(tokens=100), 4), (RunLimits(tokens=1), 1)]
)
async def test_a_run_stops_at_its_limit_and_says_so(tmp_path: Path, limits: RunLimits, done: int) -> None:
    box = server("a", "b", answer=right)  # 30 tokens an answer
    write_suite(tmp_path, 6)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("a", "b"), ("sums",), limits=limits))).run.id)
    assert (run.state, run.done, run.planned) == ("cancelled", done, 12)
    assert "stopped at its limit of" in (run.reason or "")
    assert {job.state for job in run.jobs} == {"cancelled"}
    assert sum(box.asked.values()) == done


async def test_a_run_within_its_limits_ends_as_any_other(tmp_path: Path) -> None:
    box = server("a", answer=right)
    write_suite(tmp_path, 3)
    limits = RunLimits(tokens=90, attempts=3, seconds=1e6)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("a",), ("sums",), limits=limits))).run.id)
    assert (run.state, run.done) == ("completed", 3)


async def test_tokens_of_a_run_are_of_prompts_too_and_those_of_a_leaderboard_of_answers(tmp_path: Path) -> None:
    write_suite(tmp_path, 3)  # of prompts 10 tokens and of answers 20
    async with opened(tmp_path, {URL: server("a", answer=right)}) as app, working(app):
        await assigned(app, URL)
        begun = (await app.runs.start(RunRequest(("a",), ("sums",)))).run
        run = shapes.run(await finished(app, begun.id))
        (entry,) = shapes.leaderboard(await app.leaderboards.query("sums"))["entries"]
    assert (run["tokens"], run["total_tokens"]) == (90, 90)
    assert (entry["tokens"], entry["completion_tokens"]) == (60, 60)
    assert [task["completion_tokens"] for task in entry["tasks"]] == [20, 20, 20]


async def test_a_name_with_an_endpoint_runs_there_whatever_it_is_assigned_to(tmp_path: Path) -> None:
    other = "http://127.0.0.1:2222"
    x, y = server("a", answer=right), server("a", answer=right)
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: x, other: y}) as app, working(app):
        await assigned(app, URL, "x")
        await app.endpoints.add(NewEndpoint(other, "y"))
        await app.models.discover(["y"])
        run = await finished(app, (await app.runs.start(RunRequest(("a@y",), ("sums",)))).run.id)
    assert [job.endpoint for job in run.jobs] == ["y"]
    assert (len(x.asked), len(y.asked)) == (0, 1)


async def test_a_temperature_of_nought_is_one_row_however_it_is_written(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: server("a", answer=right)}) as app, working(app):
        await assigned(app, URL)
        await finished(app, (await app.runs.start(RunRequest(("a",), ("sums",)))).run.id)
        for value in (0, -0.0):
            request = RunRequest(("a",), ("sums",), matrix={"temperature": (value,)})
            await finished(app, (await app.runs.start(request)).run.id)
        board = await app.leaderboards.query("sums")
    assert [entry.row.runs for entry in board.entries] == [3]


async def test_a_large_run_is_written_in_portions_and_begins_when_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llmbench_mcp.store.runs.PORTION", 7)
    box = server("a", "b", answer=right)
    write_suite(tmp_path, 5)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("a", "b"), ("sums",), repeats=3))).run.id)
        records, total = await app.runs.results(run.id, AttemptFilter(), limit=50)
    assert (run.state, run.done, run.planned, run.passed) == ("completed", 30, 30, 30)
    assert ([record.number for record in records], total) == (list(range(1, 31)), 30)
    assert {(record.model, record.task_id, record.repeat) for record in records} == {
        (model, f"own/q{n:02d}", repeat) for model in "ab" for n in range(1, 6) for repeat in (1, 2, 3)
    }
