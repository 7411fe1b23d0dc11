"""Runs of models chosen by status: who is taken, who is left out and why."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.endpoint import OfferedModel
from llmbench_mcp.domain.errors import ConflictError, InputError
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.services.runs import RunPreview
from llmbench_mcp.store.database import open_database
from llmbench_mcp.store.models import ModelStore
from llmbench_mcp.testing.clocks import FastClock
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import Reply, text_reply
from tests.support.rooms import assigned, opened, opened_real, server, write_suite
from tests.support.work import URL, finished, right, working

NAMES = ("fresh", "good", "shaky", "broken", "off", "nomic-embed", "gone")


async def preview(app: App, select: str, endpoint: str | None = None) -> RunPreview:
    return await app.runs.preview(RunRequest((), ("sums",), endpoint, select=select))


def taken(plan: RunPreview) -> list[str]:
    return [job.partition(" on ")[0] for job in plan.jobs]


async def of_every_status(app: App, folder: Path) -> None:
    write_suite(folder, 1)
    await app.endpoints.add(NewEndpoint(URL, "box"))
    await app.models.discover()
    for name in NAMES[1:]:
        await app.models.assign(name, "box")
    async with open_database(app.settings.database_path) as database:
        store = ModelStore(database, FastClock())
        await store.set_status((await app.models.resolve("shaky")).id, "unstable", "for the test")
        await store.set_status((await app.models.resolve("broken")).id, "failed", "for the test")
    await app.models.set_enabled("off", False)


@pytest.mark.parametrize(
    ("select", "names"),
    [("all", ["broken", "good", "shaky"]), ("active", ["good"]), ("unstable_failed", ["broken", "shaky"])],
)
async def test_models_are_taken_by_their_status(tmp_path: Path, select: str, names: list[str]) -> None:
    box = server(*NAMES)
    box.models = [OfferedModel(name) for name in NAMES]
    async with opened(tmp_path, {URL: box}) as app:
        await of_every_status(app, tmp_path)
        box.models.pop()
        await app.models.discover()
        assert taken(await preview(app, select)) == names


async def test_those_left_out_are_named_with_the_reason(tmp_path: Path) -> None:
    box = server()
    box.models = [OfferedModel(name) for name in NAMES]
    async with opened(tmp_path, {URL: box}) as app:
        await of_every_status(app, tmp_path)
        box.models.pop()
        await app.models.discover()
        remarks = " | ".join((await preview(app, "all")).remarks)
    for told in ("disabled: off", "missing: gone", "does not chat: nomic-embed", "(model_assign, or name one): fresh"):
        assert told in remarks


async def test_new_models_run_where_the_caller_says(tmp_path: Path) -> None:
    box = server("fresh", "newer", answer=right)
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await app.endpoints.add(NewEndpoint(URL, "box"))
        await app.models.discover()
        with pytest.raises(ConflictError, match="'new' is empty: left out, not assigned.*fresh, newer"):
            await preview(app, "new")
        started = await app.runs.start(RunRequest((), ("sums",), "box", select="new", idempotency_key="k"))
        run = await finished(app, started.run.id)
        assert [(job.model, job.passed) for job in run.jobs] == [("fresh", 1), ("newer", 1)]
        again = await app.runs.start(RunRequest((), ("sums",), "box", select="new", idempotency_key="k"))
        assert (again.run.id, again.created) == (run.id, False)


async def test_models_that_lack_what_the_tasks_need_or_run_elsewhere_are_left_out(tmp_path: Path) -> None:
    box = server("plain")
    box.models += [
        OfferedModel("seer", capabilities=("chat", "vision")),
        OfferedModel("cloudy", capabilities=("chat", "vision"), remote=True),
    ]
    write_suite(tmp_path, 1)
    task = anyio.Path(tmp_path / "tasks" / "own" / "q01.md")
    await task.write_text("---\nneeds: [vision]\n---\n" + await task.read_text(encoding="utf-8"), encoding="utf-8")
    async with opened(tmp_path, {URL: box}) as app:
        await app.endpoints.add(NewEndpoint(URL, "box"))
        await app.models.discover()
        plan = await preview(app, "all", "box")
        assert taken(plan) == ["seer"]
        assert plan.remarks == ("left out, runs on another machine: cloudy", "left out, lacks vision: plain")
        with pytest.raises(ConflictError, match="another machine"):
            await app.runs.preview(RunRequest(("cloudy",), ("sums",), "box"))


async def test_many_left_out_are_counted(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: server("a", *(f"m{n}" for n in range(9)))}) as app:
        await app.endpoints.add(NewEndpoint(URL, "box"))
        await app.models.discover()
        await app.models.assign("a", "box")
        (remark,) = (await preview(app, "all")).remarks
    assert remark.endswith("m0, m1, m2, m3, m4 and 4 more")


async def test_a_selection_that_is_none_or_doubled_is_refused(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: server("a")}) as app:
        with pytest.raises(InputError, match="no selection 'some'.*unstable_failed"):
            await preview(app, "some")
        with pytest.raises(InputError, match="exclude each other"):
            await app.runs.preview(RunRequest(("a",), ("sums",), select="all"))
        with pytest.raises(InputError, match="at least one model"):
            await app.runs.preview(RunRequest((), ("sums",)))


async def test_a_server_that_returns_tool_calls_as_text_is_warned_of_where_tasks_give_tools(tmp_path: Path) -> None:
    def writes_calls(request: Received) -> Reply | None:
        return text_reply('get_weather({"city": "Oslo"})') if request.body.get("tools") else None

    write_suite(tmp_path, 1)
    write_suite(tmp_path, 1, "calling", "tools")
    task = anyio.Path(tmp_path / "tasks" / "tools" / "q01.md")
    await task.write_text("---\nneeds: [tools]\n---\n" + await task.read_text(encoding="utf-8"), encoding="utf-8")
    async with FakeServer(["m"], writes_calls) as fake, opened_real(tmp_path) as app:
        await assigned(app, fake.url)
        assert not (await app.runs.preview(RunRequest(("m",), ("calling",)))).remarks
        await app.health.probe("m")
        (remark,) = (await app.runs.preview(RunRequest(("m",), ("calling",)))).remarks
        assert "m at box: the server returned tool calls as text" in remark
        assert not (await app.runs.preview(RunRequest(("m",), ("sums",)))).remarks
