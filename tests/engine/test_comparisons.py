"""Who is really first: rankings and comparisons over whole runs of scripted models."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.chat import ChatRequest, Completion, Sampling
from llmbench_mcp.domain.errors import ConflictError, InputError, NotFoundError, PromptTooLong
from llmbench_mcp.domain.leaderboard import Entry
from llmbench_mcp.domain.run import Run, RunLimits, RunRequest
from llmbench_mcp.domain.statistics import wilson_interval
from llmbench_mcp.testing.scripted import ScriptedServer, completion
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.work import URL, finished, working

KNOWS = {
    "a": range(1, 32),
    "b": range(5, 34),
    "c": range(1, 41),
    "d": range(1, 41),
    "e": range(1, 21),
}
"""By model, the questions it answers right; ``e`` breaks the server from question 31 on."""


def question(request: ChatRequest) -> int:
    return int(request.prompt.strip().rsplit(" ", 1)[1])


def five(request: ChatRequest, times: int) -> Completion:
    """Answers by what the model knows."""
    n = question(request)
    if request.model == "e" and n > 30:
        raise PromptTooLong("The prompt has more tokens than the context.")
    return completion(str(n) if n in KNOWS[request.model] else "0")


async def run(app: App, *models: str, suite: str = "sums", **facts: object) -> Run:
    request = RunRequest(models, (suite,), **facts)  # type: ignore[arg-type]  # fields
    return await finished(app, (await app.runs.start(request)).run.id)


@asynccontextmanager
async def at_work(folder: Path, box: ScriptedServer, tasks: int) -> AsyncIterator[App]:
    write_suite(folder, tasks)
    async with opened(folder, {URL: box}) as app, working(app):
        await assigned(app, URL)
        yield app


def ranks(entries: Iterable[Entry]) -> dict[str, tuple[int | None, int | None]]:
    return {entry.row.model: (entry.rank_low, entry.rank_high) for entry in entries}


async def test_the_first_of_five_is_really_first(tmp_path: Path) -> None:
    async with at_work(tmp_path, server(*KNOWS, answer=five), 40) as app:
        await run(app, "a", "b", "d", "e")
        await run(app, "c", limits=RunLimits(attempts=5))
        board = await app.leaderboards.query("sums", "pass_rate")
        pair = await app.comparisons.compare("a", "b", "sums")
        first = await app.comparisons.compare("d", "a", "sums")
        little = await app.comparisons.compare("c", "d", "sums")
    entries = {entry.row.model: entry for entry in board.entries}

    assert ranks(board.entries) == {"d": (1, 1), "a": (2, 3), "b": (2, 3), "e": (None, None), "c": (None, None)}
    assert [entry.row.model for entry in board.entries[:3]] == ["d", "a", "b"]
    assert entries["a"].pass_rate == 31 / 40
    assert entries["a"].interval == pytest.approx((0.625, 0.877), abs=0.0005)
    assert entries["b"].pass_rate == 29 / 40
    assert entries["b"].interval == pytest.approx((0.572, 0.839), abs=0.0005)
    assert entries["d"].interval == pytest.approx((0.912, 1.0), abs=0.0005)
    assert (entries["c"].tasks_graded, entries["c"].coverage) == (5, 5 / 40)
    assert entries["c"].note == "not ranked: only 5 of 40 tasks graded"
    assert (entries["e"].pass_rate, entries["e"].errors, entries["e"].coverage) == (20 / 30, 10, 0.75)

    assert (pair.a_only, pair.b_only, pair.both, pair.neither, pair.shared) == (4, 2, 27, 7, 40)
    assert (pair.p, pair.mcnemar, pair.verdict) == (0.6875, True, "tie")
    assert pair.difference == pytest.approx(0.05)
    assert pair.interval == pytest.approx((-0.0805, 0.1805), abs=0.0005)
    assert [(item.task_id, item.a, item.b) for item in pair.items] == [
        *((f"own/q{n:02d}", 1.0, 0.0) for n in (1, 2, 3, 4)),
        *((f"own/q{n:02d}", 0.0, 1.0) for n in (32, 33)),
    ]
    assert (first.a_only, first.b_only, first.p, first.verdict) == (9, 0, 2 / 2**9, "a")
    assert (little.shared, little.verdict, little.p) == (5, "tie", 1.0)
    assert "only 5 of 40 tasks are graded for both" in little.remarks


async def test_equal_models_are_tied_whatever_their_names_and_order(tmp_path: Path) -> None:
    async with at_work(tmp_path, server("z", "y", "x", answer=lambda r, _: completion(str(question(r)))), 5) as app:
        await run(app, "z", "x", "y")
        board = await app.leaderboards.query("sums")
        speeds = await app.leaderboards.query("sums", "speed")
    assert ranks(board.entries) == ranks(speeds.entries) == dict.fromkeys("xyz", (1, 3))
    assert speeds.basis == "ordered by speed as measured, with no test behind it: a few per cent may be chance"
    assert board.basis != speeds.basis


def sometimes(request: ChatRequest, times: int) -> Completion:
    """``sure`` is always right; ``half`` on odd questions, and every second time on even ones."""
    n = question(request)
    lucky = request.model == "sure" or n % 2 or times % 2
    return completion(str(n) if lucky else "0")


async def test_repeats_tell_any_and_all_and_narrow_the_interval_of_tasks(tmp_path: Path) -> None:
    box = server("half", answer=sometimes)
    async with at_work(tmp_path, box, 10) as app:
        await run(app, "half", repeats=4)
        (entry,) = (await app.leaderboards.query("sums")).entries
    assert (entry.pass_rate, entry.repeats) == (0.75, 4)
    # 5 tasks are always right; 5 pass 2 of 4 times: some of four is certain, all four never seen.
    assert (entry.pass_at_k, entry.pass_hat_k) == (1.0, 0.5)
    assert wilson_interval(7.5, 10)[0] < entry.interval[0] < wilson_interval(30, 40)[0]


async def test_once_asked_tells_nothing_of_repeats(tmp_path: Path) -> None:
    async with at_work(tmp_path, server("half", answer=sometimes), 4) as app:
        await run(app, "half")
        (entry,) = (await app.leaderboards.query("sums")).entries
    assert (entry.repeats, entry.pass_at_k, entry.pass_hat_k) == (1, None, None)


def shy(request: ChatRequest, times: int) -> Completion:
    """Says nothing to the last two of ten, errs on the first."""
    n = question(request)
    return completion("" if n > 8 else "0" if n == 1 else str(n))


async def test_failures_that_are_not_of_logic_can_be_left_out_and_lower_coverage(tmp_path: Path) -> None:
    async with at_work(tmp_path, server("shy", answer=shy), 10) as app:
        found = await run(app, "shy")
        (whole,) = (await app.leaderboards.query("sums")).entries
        (logic,) = (await app.leaderboards.query("sums", exclude_non_logic=True)).entries
    assert found.failures == {"empty": 2, "wrong_answer": 1}
    assert (whole.pass_rate, whole.coverage, whole.left_out) == (0.7, 1.0, 0)
    assert (logic.pass_rate, logic.score, logic.coverage, logic.left_out) == (7 / 8, 7 / 8, 0.8, 2)
    assert logic.ranked


async def test_two_runs_of_one_model_are_compared(tmp_path: Path) -> None:
    box = server("half", answer=sometimes)
    async with at_work(tmp_path, box, 6) as app:
        first, second = [await run(app, "half") for _ in range(2)]
        found = await app.comparisons.compare(first.id, second.id, "sums")
        with pytest.raises(InputError, match="are the same results"):
            await app.comparisons.compare(first.id, first.id, "sums")
        with pytest.raises(InputError, match="run cannot be compared with a model"):
            await app.comparisons.compare(first.id, "half", "sums")
    assert (found.a_only, found.b_only, found.both, found.neither) == (0, 3, 3, 0)
    assert (found.p, found.verdict) == (0.25, "tie")


async def test_a_run_of_several_models_wants_to_know_which(tmp_path: Path) -> None:
    async with at_work(tmp_path, server("half", "sure", answer=sometimes), 6) as app:
        both = await run(app, "half", "sure")
        with pytest.raises(ConflictError, match=rf"asked 2 models. Say which: {both.id}:half, {both.id}:sure"):
            await app.comparisons.compare(both.id, both.id, "sums")
        found = await app.comparisons.compare(f"{both.id}:sure", f"{both.id}:half", "sums")
    assert (found.a_only, found.b_only, found.both) == (3, 0, 3)


@pytest.mark.parametrize(
    ("sampling", "repeats", "field"),
    [
        (Sampling(temperature=0.7), 1, "temperature is 0.0 for a and 0.7 for b"),
        (Sampling(max_tokens=99), 1, "max_tokens is not set for a and 99 for b"),
        (Sampling(), 2, "repeats is 1 for a and 2 for b"),
    ],
)
async def test_runs_asked_differently_are_refused_by_the_field(
    tmp_path: Path, sampling: Sampling, repeats: int, field: str
) -> None:
    async with at_work(tmp_path, server("sure", answer=sometimes), 2) as app:
        plain, other = await run(app, "sure"), await run(app, "sure", sampling=sampling, repeats=repeats)
        with pytest.raises(ConflictError, match=field):
            await app.comparisons.compare(plain.id, other.id, "sums")


async def test_runs_of_a_task_that_was_changed_in_between_are_refused_by_its_name(tmp_path: Path) -> None:
    write_suite(tmp_path, 2)
    file = tmp_path / "tasks" / "own" / "q02.md"
    found: list[Run] = []
    for answer in ("2", "22"):
        file.write_text(file.read_text(encoding="utf-8").replace('"2"', f'"{answer}"'), encoding="utf-8")
        async with opened(tmp_path, {URL: server("sure", answer=sometimes)}) as app, working(app):
            if not found:
                await assigned(app, URL)
            found.append(await run(app, "sure"))
            if len(found) == 2:
                with pytest.raises(ConflictError, match=r"task_hash of own/q02 is \w+ for a and \w+ for b"):
                    await app.comparisons.compare(found[0].id, found[1].id, "sums")


async def test_what_is_not_there_is_told_with_the_next_step(tmp_path: Path) -> None:
    async with at_work(tmp_path, server("sure", "half", answer=sometimes), 2) as app:
        done = await run(app, "sure")
        with pytest.raises(ConflictError, match="half has no results .* run_start"):
            await app.comparisons.compare("sure", "half", "sums")
        with pytest.raises(NotFoundError, match="Nearest: sure"):
            await app.comparisons.compare("sure", "shure", "sums")
        with pytest.raises(NotFoundError, match="sums"):
            await app.comparisons.compare("sure", "half", "sum")
        with pytest.raises(ConflictError, match="no graded results on suite other. It asked: sure on sums"):
            await app.comparisons.compare(done.id, done.id, "other")


async def test_of_several_groups_those_asked_alike_are_taken_and_the_others_told(tmp_path: Path) -> None:
    async with at_work(tmp_path, server("sure", "half", answer=sometimes), 4) as app:
        await run(app, "sure", sampling=Sampling(temperature=0.9))
        await run(app, "sure", "half")
        found = await app.comparisons.compare("sure", "half", "sums")
    assert (found.a.manifest["sampling"]["temperature"], found.a_only) == (0.0, 2)
    (remark,) = found.remarks
    assert remark.startswith("sure has other results left aside here (endpoint, sampling or weights: 1)")
    assert remark.endswith("taken: box, seed 0, temperature 0.0")
