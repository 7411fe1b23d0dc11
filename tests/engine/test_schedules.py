"""Schedules: kept once at each time, by whoever lives then, for what has changed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.endpoint import OfferedModel
from llmbench_mcp.domain.errors import ConflictError, InputError, NotFoundError
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.domain.schedule import Schedule
from llmbench_mcp.services.schedules import NewSchedule
from llmbench_mcp.testing.scripted import ScriptedServer
from tests.support.calendar import DAY, HOUR, at, early_clock, runs, scheduled, work_off
from tests.support.rooms import assigned, write_suite
from tests.support.waiting import until
from tests.support.work import URL, right, working

OTHER = "http://127.0.0.1:2222"


def box_of(*models: OfferedModel) -> ScriptedServer:
    return ScriptedServer([replace(model, capabilities=("chat",)) for model in models], answer=right)


def weights(name: str, digest: str) -> OfferedModel:
    return OfferedModel(name, digest=digest, capabilities=("chat",))


async def events(app: App, schedule: Schedule) -> list[tuple[str, str]]:
    """(outcome, notes) of its times, oldest first."""
    return [(event.outcome, "; ".join(event.notes)) for event in reversed(await app.schedules.events(schedule))]


async def are_over(app: App, count: int) -> bool:
    found = await runs(app)
    return len(found) == count and all(run.is_over for run in found)


async def is_paused(app: App) -> bool:
    return [run.state for run in await runs(app)] == ["paused"]


async def test_a_schedule_is_kept_once_when_its_time_comes_and_not_before(tmp_path: Path) -> None:
    write_suite(tmp_path, 2)
    clock, box = early_clock(), box_of(weights("m", "d"))
    async with at(tmp_path, clock, {URL: box}) as app:
        await assigned(app, URL)
        schedule = await scheduled(app, when="daily 12:00")
        await work_off(app)
        assert await runs(app) == []
        clock.set_by_s += DAY
        await work_off(app)
        await work_off(app)
        (run,) = await runs(app)
        assert (run.state, run.passed) == ("completed", 2)
        (event,) = await app.schedules.events(schedule)
        assert (event.due_at, event.outcome, event.run_id) == (schedule.due_at, "started", run.id)
        assert event.notes == ("m on box, sums: never run",)
        (later,) = await app.schedules.all()
        assert later.due_at > clock.utc_now() > schedule.due_at


async def test_an_executor_at_work_keeps_schedules_as_they_come(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    clock = early_clock()
    async with at(tmp_path, clock, {URL: box_of(weights("m", "d"))}) as app:
        await assigned(app, URL)
        await scheduled(app, only_changed=False)
        async with working(app):
            for count in (1, 2, 3):
                clock.set_by_s += HOUR
                await until(partial(are_over, app, count))
        assert [run.passed for run in await runs(app)] == [1, 1, 1]


async def test_times_missed_while_nobody_lived_are_made_up_once(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    clock, box = early_clock(), box_of(weights("m", "d"))
    async with at(tmp_path, clock, {URL: box}) as app:
        await assigned(app, URL)
        await scheduled(app, only_changed=False)
    clock.set_by_s += 3 * DAY
    async with at(tmp_path, clock, {URL: box}) as app:
        await work_off(app)
        assert len(await runs(app)) == 1
        (schedule,) = await app.schedules.all()
        assert schedule.due_at > clock.utc_now()


async def test_two_processes_never_start_the_same_time_twice(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    clock, box = early_clock(), box_of(weights("m", "d"), weights("n", "e"))
    async with at(tmp_path, clock, {URL: box}) as one, at(tmp_path, clock, {URL: box}) as other:
        await assigned(one, URL)
        schedule = await scheduled(one, when="daily 12:00", only_changed=False)
        for count in range(1, 6):
            clock.set_by_s += DAY
            async with anyio.create_task_group() as group:
                for app in (one, other, one, other):
                    group.start_soon(app.schedules.start_due)
            assert len(await runs(one)) == count
            await work_off(one)
        assert {outcome for outcome, _ in await events(one, schedule)} == {"started"}


async def test_a_run_that_a_killed_process_had_written_already_is_taken_for_that_time(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    clock = early_clock()
    async with at(tmp_path, clock, {URL: box_of(weights("m", "d"))}) as app:
        await assigned(app, URL)
        schedule = await scheduled(app)
        key = f"schedule:{schedule.id}:{schedule.due_at}"
        written = await app.runs.start(RunRequest(("m",), ("sums",), repeats=2, idempotency_key=key))
        clock.set_by_s += HOUR
        await work_off(app)
        assert [run.id for run in await runs(app)] == [written.run.id]
        (event,) = await app.schedules.events(schedule)
        assert (event.outcome, event.run_id) == ("started", written.run.id)


async def test_only_models_whose_weights_changed_are_run_again(tmp_path: Path) -> None:
    write_suite(tmp_path, 2)
    clock, box = early_clock(), box_of(weights("m", "sha256:old"), weights("n", "sha256:n"))
    async with at(tmp_path, clock, {URL: box}) as app:
        await assigned(app, URL)
        schedule = await scheduled(app)
        clock.set_by_s += HOUR
        await work_off(app)
        clock.set_by_s += HOUR
        await work_off(app)
        box.models = [weights("m", "sha256:new"), weights("n", "sha256:n")]
        clock.set_by_s += HOUR
        await work_off(app)
        first, second = await runs(app)
        assert sorted(job.model for job in first.jobs) == ["m", "n"]
        assert [(job.model, job.passed) for job in second.jobs] == [("m", 2)]
        _, (unchanged, told), (started, why) = await events(app, schedule)
        assert (unchanged, told) == ("unchanged", "unchanged: m on box, sums; n on box, sums")
        assert started == "started"
        assert "m on box, sums: digest old -> new; unchanged: n on box, sums" in why


async def test_new_weights_under_a_name_that_is_scheduled_are_the_ones_to_run(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    clock, box = early_clock(), box_of(weights("m", "old"))
    async with at(tmp_path, clock, {URL: box}) as app:
        await assigned(app, URL)
        schedule = await scheduled(app, "m")
        box.models = [weights("m", "new")]
        clock.set_by_s += HOUR
        await work_off(app)
        assert await events(app, schedule) == [("started", "m on box, sums: never run")]


async def test_more_repeats_than_there_are_results_are_asked_once(tmp_path: Path) -> None:
    write_suite(tmp_path, 2)
    clock = early_clock()
    async with at(tmp_path, clock, {URL: box_of(weights("m", "d"))}) as app:
        await assigned(app, URL)
        await app.runs.start(RunRequest(("m",), ("sums",)))
        await work_off(app)
        request = RunRequest((), ("sums",), repeats=3, select="active")
        schedule, _ = await app.schedules.add(NewSchedule("again", "daily 12:00", request, "UTC"))
        for _ in range(2):
            clock.set_by_s += DAY
            await work_off(app)
        told = await events(app, schedule)
        assert told[0] == ("started", "m on box, sums: 2 tasks asked less often than wanted: own/q01, own/q02")
        assert told[1][0] == "unchanged"


async def test_a_new_server_version_runs_everything_there_again(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    clock = early_clock()
    boxes = {URL: box_of(weights("m", "d")), OTHER: box_of(weights("n", "e"))}
    async with at(tmp_path, clock, boxes) as app:
        await assigned(app, URL)
        await assigned(app, OTHER, "other")
        schedule = await scheduled(app)
        clock.set_by_s += HOUR
        await work_off(app)
        boxes[OTHER].version = "1.1"
        clock.set_by_s += HOUR
        await work_off(app)
        assert "n on other, sums: server 1.0 -> 1.1; unchanged: m on box, sums" in (await events(app, schedule))[1][1]


@pytest.mark.parametrize(
    ("old", "new", "file", "why"),
    [
        ("version: 1", "version: 2", "suites.yaml", "suite version 1 -> 2"),
        ('answer: "1"', 'answer: "one"', "own/q01.md", "1 task changed: own/q01"),
    ],
)
async def test_a_changed_suite_is_run_again_though_the_executor_read_it_long_ago(
    tmp_path: Path, old: str, new: str, file: str, why: str
) -> None:
    write_suite(tmp_path, 2)
    clock = early_clock()
    async with at(tmp_path, clock, {URL: box_of(weights("m", "d"))}) as app:
        await assigned(app, URL)
        schedule = await scheduled(app)
        clock.set_by_s += HOUR
        await work_off(app)
        path = tmp_path / "tasks" / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        clock.set_by_s += HOUR
        await work_off(app)
        assert (await events(app, schedule))[1] == ("started", f"m on box, sums: {why}")


async def test_a_new_validator_runs_its_tasks_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_suite(tmp_path, 1)
    clock, box = early_clock(), box_of(weights("m", "d"))
    async with at(tmp_path, clock, {URL: box}) as app:
        await assigned(app, URL)
        schedule = await scheduled(app)
        clock.set_by_s += HOUR
        await work_off(app)
    monkeypatch.setattr("llmbench_validators.reasoning.VERSION", "77")
    async with at(tmp_path, clock, {URL: box}) as app:
        clock.set_by_s += HOUR
        await work_off(app)
        (outcome, why) = (await events(app, schedule))[1]
        assert outcome == "started"
        assert why.startswith("m on box, sums: validator reasoning ")
        assert why.endswith(" -> 77")


async def test_a_schedule_whose_last_run_is_not_over_waits_for_its_next_time(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    clock = early_clock()
    async with at(tmp_path, clock, {URL: box_of(weights("m", "d"))}) as app:
        await assigned(app, URL)
        schedule = await scheduled(app, only_changed=False)
        clock.set_by_s += HOUR
        await app.schedules.start_due()
        clock.set_by_s += HOUR
        await app.schedules.start_due()
        (run,) = await runs(app)
        assert (await events(app, schedule))[1] == ("skipped", f"run {run.id} of this schedule is not over yet")


async def test_a_model_that_cannot_run_keeps_no_other_from_it(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    clock = early_clock()
    async with at(tmp_path, clock, {URL: box_of(weights("m", "d"), weights("n", "e"))}) as app:
        await assigned(app, URL)
        schedule = await scheduled(app, "m", "n")
        await app.models.set_enabled("m", False)
        clock.set_by_s += HOUR
        await work_off(app)
        (run,) = await runs(app)
        assert [job.model for job in run.jobs] == ["n"]
        assert "left out: m: Model 'm' is disabled" in (await events(app, schedule))[0][1]


async def test_a_schedule_that_can_run_nothing_says_so_and_stays(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    clock = early_clock()
    async with at(tmp_path, clock, {URL: box_of(weights("m", "d"))}) as app:
        await assigned(app, URL)
        schedule = await scheduled(app)
        await app.models.set_enabled("m", False)
        clock.set_by_s += HOUR
        await work_off(app)
        ((outcome, why),) = await events(app, schedule)
        assert (outcome, "is empty" in why) == ("failed", True)
        await app.models.set_enabled("m", True)
        clock.set_by_s += HOUR
        await work_off(app)
        assert (await events(app, schedule))[1] == ("started", "m on box, sums: never run")


async def test_a_server_that_is_down_at_that_time_is_waited_for(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    clock, box = early_clock(), box_of(weights("m", "d"))
    async with at(tmp_path, clock, {URL: box}) as app:
        await assigned(app, URL)
        await scheduled(app)
        box.up = False
        clock.set_by_s += HOUR
        async with working(app):
            await until(partial(is_paused, app))
            box.up = True
            await until(partial(are_over, app, 1))
        assert (await runs(app))[0].passed == 1


async def test_a_clock_that_was_wrong_for_a_while_puts_no_schedule_off_for_ever(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    clock = early_clock()
    async with at(tmp_path, clock, {URL: box_of(weights("m", "d"))}) as app:
        await assigned(app, URL)
        await scheduled(app, only_changed=False)
        clock.set_by_s += 400 * DAY
        await work_off(app)
        clock.set_by_s -= 400 * DAY
        await work_off(app)
        for _ in range(2):  # the first of these was made up already
            clock.set_by_s += HOUR
            await work_off(app)
        assert len(await runs(app)) == 2


async def test_set_back_within_the_hour_no_time_is_kept_twice(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    clock = early_clock()
    async with at(tmp_path, clock, {URL: box_of(weights("m", "d"))}) as app:
        await assigned(app, URL)
        await scheduled(app, only_changed=False)
        for step in (HOUR, -HOUR, HOUR):
            clock.set_by_s += step
            await work_off(app)
        assert len(await runs(app)) == 1


async def test_run_now_does_the_same_at_once_and_leaves_the_time_as_it_is(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    clock = early_clock()
    async with at(tmp_path, clock, {URL: box_of(weights("m", "d"))}) as app:
        await assigned(app, URL)
        schedule = await scheduled(app)
        started = await app.schedules.run_now("again")
        assert started.outcome == "started"
        again = await app.schedules.run_now("again", everything=True)
        assert (again.outcome, again.run_id) == ("skipped", started.run_id)
        await work_off(app)
        assert (await app.schedules.run_now(schedule.id)).outcome == "unchanged"
        forced = await app.schedules.run_now("again", everything=True)
        assert forced.notes == ("m on box, sums: nothing has changed, asked again all the same",)
        assert (await app.schedules.get("again")).due_at == schedule.due_at
        assert [outcome for outcome, _ in await events(app, schedule)] == ["started", "started"]


async def test_what_a_schedule_would_run_now_is_told_without_running_it(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    async with at(tmp_path, early_clock(), {URL: box_of(weights("m", "d"))}) as app:
        await assigned(app, URL)
        schedule = await scheduled(app)
        assert (await app.schedules.preview(schedule)).reasons == ("m on box, sums: never run",)
        assert await runs(app) == []


async def test_a_schedule_keeps_all_that_was_asked_for(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    async with at(tmp_path, early_clock(), {URL: box_of(weights("m", "d"))}) as app:
        await assigned(app, URL)
        request = RunRequest(("m",), ("sums",), "box", 2, matrix={"temperature": (0.0, 0.5)}, priority=3)
        made, _ = await app.schedules.add(NewSchedule("all of it", "nightly", request, "Europe/Vienna", False))
        assert await app.schedules.all() == [made]
        assert made.request == request


async def test_what_cannot_be_kept_is_refused_when_it_is_made(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    async with at(tmp_path, early_clock(), {URL: box_of(weights("m", "d"))}) as app:
        await assigned(app, URL)
        good = NewSchedule("again", "nightly", RunRequest(("m",), ("sums",)), "UTC")
        await app.schedules.add(good)
        wrong = [
            (good, ConflictError, "already"),
            (replace(good, name=" "), InputError, "name is blank"),
            (replace(good, name="x", when="often"), InputError, "names no time"),
            (replace(good, name="x", zone="Nowhere"), InputError, "no time zone"),
            (replace(good, name="x", request=RunRequest(("m",), ("sum",))), NotFoundError, "suite"),
            (replace(good, name="x", request=RunRequest(("q",), ("sums",))), InputError, "no model 'q'"),
            (replace(good, name="x", request=RunRequest(("m",), ("sums",), repeats=0)), InputError, "repeats"),
            (replace(good, name="x", request=RunRequest((), ("sums",))), InputError, "at least"),
        ]
        for new, error, told in wrong:
            with pytest.raises(error, match=told):
                await app.schedules.add(new)
        with pytest.raises(NotFoundError, match="Nearest: again"):
            await app.schedules.remove("agan")
        assert (await app.schedules.remove("again")).name == "again"
        assert await app.schedules.all() == []
