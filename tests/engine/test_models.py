"""The registry: what discovery adds, changes, removes and keeps; names and assignments."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.endpoint import OfferedModel
from llmbench_mcp.domain.errors import ConflictError, InputError, NotFoundError, UnreachableError
from llmbench_mcp.domain.model import Model
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.services.models import ModelFilter
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.work import URL, finished, right, working

OTHER = "http://127.0.0.1:2222"


async def models(app: App) -> dict[str, Model]:
    found, _ = await app.models.page(ModelFilter())
    return {model.name: model for model in found}


async def test_a_second_look_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, {URL: server("a", "b")}) as app:
        await app.endpoints.add(NewEndpoint(URL))
        (first,) = await app.models.discover()
        (second,) = await app.models.discover()
        assert (first.seen, first.added) == (2, ("a", "b"))
        assert (second.added, second.changed, second.missing, second.removed, second.back) == ((), (), (), (), ())
        assert {model.status for model in (await models(app)).values()} == {"new"}


async def test_one_model_by_digest_has_several_homes(tmp_path: Path) -> None:
    shared = OfferedModel("m:8b", digest="sha256:1", size_bytes=8)
    boxes = {URL: server(), OTHER: server()}
    boxes[URL].models, boxes[OTHER].models = [shared], [shared, OfferedModel("only:3b", digest="sha256:2")]
    async with opened(tmp_path, boxes) as app:
        await app.endpoints.add(NewEndpoint(URL, "x"))
        await app.endpoints.add(NewEndpoint(OTHER, "y"))
        await app.models.discover()
        found = await models(app)
        assert [home.endpoint_name for home in found["m:8b"].homes] == ["x", "y"]
        with pytest.raises(ConflictError, match="offered at: y"):
            await app.models.assign("only:3b", "x")
        with pytest.raises(ConflictError, match="2 endpoints: x, y"):
            await app.models.assign_only_home("m:8b")


async def test_without_a_digest_models_of_one_name_stay_apart(tmp_path: Path) -> None:
    async with opened(tmp_path, {URL: server("m"), OTHER: server("m")}) as app:
        await app.endpoints.add(NewEndpoint(URL, "x"))
        await app.endpoints.add(NewEndpoint(OTHER, "y"))
        await app.models.discover()
        with pytest.raises(ConflictError, match="m@x, m@y"):
            await app.models.resolve("m")
        assert (await app.models.assign("m@y", "y")).homes[0].endpoint_name == "y"


async def test_new_weights_under_an_old_name_are_another_model(tmp_path: Path) -> None:
    box = server()
    box.models = [OfferedModel("m", digest="sha256:old")]
    async with opened(tmp_path, {URL: box}) as app:
        await assigned(app, URL)
        before = (await models(app))["m"]
        box.models = [OfferedModel("m", digest="sha256:new")]
        (report,) = await app.models.discover()
        assert report.changed == ("m",)
        found, _ = await app.models.page(ModelFilter())
        by_digest = {model.digest: model for model in found}
        assert by_digest["sha256:old"].status == "missing"
        assert by_digest["sha256:new"].status == "new"
        assert by_digest["sha256:old"].id == before.id


async def test_a_new_model_that_vanishes_is_removed_and_an_assigned_one_kept(tmp_path: Path) -> None:
    box = server("kept", "gone")
    async with opened(tmp_path, {URL: box}) as app:
        await app.endpoints.add(NewEndpoint(URL, "box"))
        await app.models.discover()
        await app.models.assign("kept", "box")
        offered, box.models = box.models, []
        (report,) = await app.models.discover()
        assert (report.missing, report.removed) == (("kept",), ("gone",))
        assert {name: model.status for name, model in (await models(app)).items()} == {"kept": "missing"}
        box.models = offered
        (report,) = await app.models.discover()
        assert (report.back, report.added) == (("kept",), ("gone",))
        assert (await models(app))["kept"].status == "active"


async def test_one_endpoint_that_fails_stops_nobody(tmp_path: Path) -> None:
    down = server("m")
    async with opened(tmp_path, {URL: server("a"), OTHER: down}) as app:
        await app.endpoints.add(NewEndpoint(URL, "up"))
        await app.endpoints.add(NewEndpoint(OTHER, "down"))
        down.up = False
        reports = {report.endpoint_name: report for report in await app.models.discover()}
        assert (reports["up"].seen, reports["up"].error) == (1, None)
        assert "Nothing answers" in (reports["down"].error or "")


async def test_discovery_without_endpoints_says_what_to_do(tmp_path: Path) -> None:
    async with opened(tmp_path, {}) as app:
        with pytest.raises(InputError, match="endpoint add"):
            await app.models.discover()


async def test_a_suite_that_needs_more_than_the_model_has_is_refused(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    task = tmp_path / "tasks" / "own" / "q01.md"
    await anyio.Path(task).write_text("---\nneeds: [vision]\n---\n" + task.read_text(encoding="utf-8"))
    async with opened(tmp_path, {URL: server("m")}) as app:
        await assigned(app, URL)
        with pytest.raises(ConflictError, match="needs vision, which 'm' does not have"):
            await app.runs.start(RunRequest(("m",), ("sums",)))


async def test_a_model_of_which_nobody_knows_whether_it_has_tools_is_not_said_to_lack_them(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    task = tmp_path / "tasks" / "own" / "q01.md"
    await anyio.Path(task).write_text("---\nneeds: [tools]\n---\n" + task.read_text(encoding="utf-8"))
    wanted = RunRequest(("[m] 8b",), ("sums",))
    async with opened(tmp_path, {URL: server("[m] 8b")}) as app:
        await app.endpoints.add(NewEndpoint(URL, "box"))
        await app.models.discover()
        await app.models.assign("[m] 8b", "box")
        with pytest.raises(ConflictError, match="needs tools, and it is not known whether") as raised:
            await app.runs.preview(wanted)
        assert "models probe '[m] 8b'" in raised.value.next_step
        assert "models set '[m] 8b' --can tools" in raised.value.next_step
        with pytest.raises(ConflictError, match="not known to have tools .models probe, or models set --can tools."):
            await app.runs.preview(RunRequest((), ("sums",), "box", select="all"))
        assert (await app.health.probe("[m] 8b")).model.homes[0].tools == "none"
        with pytest.raises(ConflictError, match="needs tools, which '.m. 8b' does not have"):
            await app.runs.preview(wanted)
        await app.models.set_capabilities("[m] 8b", {"tools": True})
        assert (await app.runs.preview(wanted)).attempts == 1


async def test_the_leaderboard_keeps_hardware_apart_and_pools_repeats(tmp_path: Path) -> None:
    def weak(request: ChatRequest, times: int) -> Completion:
        return right(request, times) if "1" in request.prompt else Completion("no idea", finish_reason="stop")

    shared = OfferedModel("m", digest="sha256:1", capabilities=("chat",))
    boxes = {URL: server(answer=right), OTHER: server(answer=weak)}
    boxes[URL].models, boxes[OTHER].models = [shared], [shared]
    write_suite(tmp_path, 3)
    async with opened(tmp_path, boxes) as app, working(app):
        await app.endpoints.add(NewEndpoint(URL, "x"))
        await app.endpoints.add(NewEndpoint(OTHER, "y"))
        await app.models.discover()
        for endpoint in ("x", "y"):
            await app.models.assign("m", endpoint)
            await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",), repeats=2))).run.id)
        board = await app.leaderboards.query("sums")
    rows = {entry.row.endpoint: entry for entry in board.entries}
    assert {name: round(entry.pass_rate or 0, 3) for name, entry in rows.items()} == {"x": 1.0, "y": 0.333}
    assert {name: entry.tasks_graded for name, entry in rows.items()} == {"x": 3, "y": 3}


async def test_an_endpoint_with_unfinished_jobs_is_not_removed(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: server("m")}) as app:
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        with pytest.raises(ConflictError, match="has 1 unfinished job\\."):
            await app.endpoints.remove("box")
        await app.runs.cancel(run_id)
        await app.endpoints.remove("box")
        assert (await app.runs.get(run_id)).jobs[0].endpoint == "box"


async def test_an_address_is_one_endpoint_however_it_is_written(tmp_path: Path) -> None:
    async with opened(tmp_path, {URL: server("m")}) as app:
        first, created = await app.endpoints.add(NewEndpoint(URL))
        again, twice = await app.endpoints.add(NewEndpoint(URL + "/v1/chat/completions"))
        assert (first.id, created, twice) == (again.id, True, False)
        with pytest.raises(NotFoundError):
            await app.endpoints.get("http://127.0.0.1:3333")


async def test_a_name_belongs_to_one_address(tmp_path: Path) -> None:
    async with opened(tmp_path, {URL: server("m"), OTHER: server("n")}) as app:
        await app.endpoints.add(NewEndpoint(URL, "box"))
        with pytest.raises(ConflictError, match="belongs to"):
            await app.endpoints.add(NewEndpoint(OTHER, "box"))


async def test_a_server_that_is_down_is_not_added(tmp_path: Path) -> None:
    async with opened(tmp_path, {}) as app:
        with pytest.raises(UnreachableError):
            await app.endpoints.add(NewEndpoint(URL))
        assert await app.endpoints.views() == []


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (NewEndpoint(URL, "a@b"), "@"),
        (NewEndpoint(URL, "x" * 100), "too long"),
        (NewEndpoint(URL, backend="nope"), "scripted"),
        (NewEndpoint(URL, concurrency=0), "1 to 64"),
        (NewEndpoint(URL, credential_ref="env:X"), "credential"),
        (NewEndpoint("http://8.8.8.8", by_agent=True), "agents may add only"),
    ],
)
async def test_a_bad_endpoint_is_refused_with_the_reason(tmp_path: Path, new: NewEndpoint, said: str) -> None:
    async with opened(tmp_path, {URL: server("m")}) as app:
        with pytest.raises(InputError, match=said):
            await app.endpoints.add(new)


async def test_naming_the_endpoint_settles_which_model_is_meant(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: server("m"), OTHER: server("m")}) as app:
        await app.endpoints.add(NewEndpoint(URL, "x"))
        await app.endpoints.add(NewEndpoint(OTHER, "y"))
        await app.models.discover()
        started = await app.runs.start(RunRequest(("m",), ("sums",), endpoint="y"))
        assert started.run.jobs[0].endpoint == "y"
        started = await app.runs.start(RunRequest(("m@x",), ("sums",)))
        assert started.run.jobs[0].endpoint == "x"
        assert (await app.models.assign("m", "y")).assigned_endpoint_id is not None


async def test_a_model_list_that_cannot_be_stored_stops_nobody(tmp_path: Path) -> None:
    odd = server("m")
    async with opened(tmp_path, {URL: server("good"), OTHER: odd}) as app:
        await app.endpoints.add(NewEndpoint(URL, "good"))
        await app.endpoints.add(NewEndpoint(OTHER, "odd"))
        odd.models = [OfferedModel("\ud800x")]
        reports = {report.endpoint_name: report for report in await app.models.discover()}
        assert reports["good"].seen == 1
        assert "cannot be stored" in (reports["odd"].error or "")


async def test_an_endpoint_added_again_takes_up_its_models_and_results(tmp_path: Path) -> None:
    write_suite(tmp_path, 2)
    async with opened(tmp_path, {URL: server("m", "untried", answer=right)}) as app, working(app):
        await assigned(app, URL)
        await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
        await app.models.assign("untried", None)
        await app.endpoints.remove("box")
        assert {name: model.status for name, model in (await models(app)).items()} == {"m": "missing"}
        await assigned(app, URL, "again")
        await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
        board = await app.leaderboards.query("sums")
        found, _ = await app.models.page(ModelFilter(text="m"))
    assert [model.status for model in found] == ["active"]
    assert [(entry.row.endpoint, entry.row.runs) for entry in board.entries] == [("again", 2)]


async def test_a_probe_uses_the_credential_it_was_given_and_not_the_stored_one(tmp_path: Path) -> None:
    box = server("m", answer=right)
    async with opened(tmp_path, {URL: box}, check_credential=lambda ref, by_agent: None) as app:
        await app.endpoints.add(NewEndpoint(URL, "box", credential_ref="env:STORED"))
        for given in (None, "env:GIVEN"):
            await app.endpoints.probe("box", ChatRequest("m", "Question 1"), given)
    assert box.credentials == ["env:STORED", "env:GIVEN"]


async def test_one_address_added_several_times_at_once_is_one_endpoint(tmp_path: Path) -> None:
    added: list[bool] = []
    async with opened(tmp_path, {URL: server("m")}) as app:

        async def add() -> None:
            added.append((await app.endpoints.add(NewEndpoint(URL, "box")))[1])

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(add)
        assert len(await app.endpoints.views()) == 1
    assert sorted(added) == [False, False, False, True]
