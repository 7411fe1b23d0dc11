"""Looking at servers: hung ones, silent ones, those nobody has named, and what the registry makes of their lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.capability import Capability
from llmbench_mcp.domain.endpoint import ModelList, OfferedModel
from llmbench_mcp.domain.errors import ConflictError, InputError, NotFoundError
from llmbench_mcp.domain.model import Model
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.services.models import ModelFilter
from llmbench_mcp.testing.fake_server import MODELS, FakeServer
from llmbench_mcp.testing.replies import Gate, Reply
from tests.support.rooms import assigned, opened, opened_real, server
from tests.support.work import URL

OTHER = "http://127.0.0.1:2222"


async def models(app: App) -> dict[str, Model]:
    found, _ = await app.models.page(ModelFilter())
    return {model.name: model for model in found}


def timeless(model: Model) -> Model:
    return replace(model, last_seen=None)


async def test_a_hung_server_delays_no_other_and_is_given_up_in_its_own_time(tmp_path: Path) -> None:
    gate = Gate()
    async with FakeServer(["hung"]) as hung, FakeServer(["good"]) as good, FakeServer(["fine"]) as fine:
        async with opened_real(tmp_path) as app:
            for fake, name in ((hung, "hung"), (good, "good"), (fine, "fine")):
                await app.endpoints.add(NewEndpoint(fake.url, name))
        hung.routes[f"GET {MODELS}"] = lambda request: Reply(before=gate)
        async with opened_real(tmp_path, discover_timeout_s=1.0) as app, anyio.create_task_group() as group:
            reports = {}

            async def look() -> None:
                reports.update({report.endpoint_name: report for report in await app.models.discover()})

            group.start_soon(look)
            await gate.reached()
            while set(await models(app)) != {"good", "fine"}:  # noqa: ASYNC110 - the database sends no events
                await anyio.sleep(0.005)
            assert not reports
    assert "gave no list within 1 s" in (reports["hung"].error or "")
    assert {name: reports[name].added for name in ("good", "fine")} == {"good": ("good",), "fine": ("fine",)}


async def test_without_any_endpoint_the_usual_ports_are_looked_at_and_what_is_found_is_added(tmp_path: Path) -> None:
    async with (
        FakeServer(["a"]) as first,
        FakeServer(["b"], api_key="secret-key-1") as guarded,
        FakeServer() as page,
    ):
        page.routes[f"GET {MODELS}"] = lambda request: Reply(body="<title>Router login</title>")
        ports = ",".join(str(fake.port) for fake in (first, guarded, page))
        async with opened_real(tmp_path, discover_ports=f"{ports},9") as app:
            reports = {report.endpoint_name: report for report in await app.models.discover()}
            name = f"openai-{first.port}"
            assert set(reports) == {name, guarded.url}
            assert (reports[name].new_on, reports[name].added) == ("cpu", ("a",))
            assert "refused access" in (reports[guarded.url].error or "")
            (again,) = await app.models.discover()
            assert (again.endpoint_name, again.new_on, again.added) == (name, None, ())
            assert [view.endpoint.name for view in await app.endpoints.views()] == [name]


async def test_a_look_around_adds_to_the_known_ones_and_none_twice(tmp_path: Path) -> None:
    async with (
        FakeServer(["a"]) as known,
        FakeServer(["b"]) as other,
        opened_real(tmp_path, discover_ports=f"{known.port},{other.port}") as app,
    ):
        await app.endpoints.add(NewEndpoint(f"http://localhost:{known.port}", "mine"))
        assert [report.endpoint_name for report in await app.models.discover()] == ["mine"]
        reports = await app.models.discover(around=True)
        assert [(r.endpoint_name, r.new_on) for r in reports] == [("mine", None), (f"openai-{other.port}", "cpu")]
        assert len(await app.models.discover(around=True)) == 2


async def test_when_nothing_is_known_or_found_the_ports_looked_at_are_named(tmp_path: Path) -> None:
    async with opened_real(tmp_path, discover_ports="9") as app:
        with pytest.raises(InputError, match="at port 9.*endpoint_add"):
            await app.models.discover()


async def test_a_refused_key_is_a_state_of_the_endpoint_and_ends_with_the_next_answer(tmp_path: Path) -> None:
    async with FakeServer(["a"]) as fake, opened_real(tmp_path) as app:
        await assigned(app, fake.url)
        fake.api_key = "another-secret"
        (report,) = await app.models.discover()
        assert "credential" in report.next_step
        assert (await app.endpoints.get("box")).state == "no_access"
        assert (await models(app))["a"].status == "active"
        fake.api_key = None
        await app.models.discover()
        assert (await app.endpoints.get("box")).state == "reachable"
        await fake.stop()
        await app.models.discover()
        assert (await app.endpoints.get("box")).state == "unreachable"


async def test_a_list_with_nothing_usable_still_tells_why(tmp_path: Path) -> None:
    async with FakeServer([{"id": ""}, {"id": 7}]) as fake, opened_real(tmp_path) as app:
        await app.endpoints.add(NewEndpoint(fake.url, "odd"))
        (report,) = await app.models.discover()
    assert (report.seen, report.warnings) == (
        0,
        ("The server lists 2 without a usable name (blank, too long or no text); left out.",),
    )


async def test_remarks_about_a_list_come_before_those_about_its_models(tmp_path: Path) -> None:
    box = server()
    box.models = ModelList([OfferedModel("m", warnings=("bad date",))], ["cut short"])
    async with opened(tmp_path, {URL: box}) as app:
        await app.endpoints.add(NewEndpoint(URL))
        (report,) = await app.models.discover()
    assert report.warnings == ("cut short", "bad date")


async def test_a_second_look_changes_nothing_but_when_it_was_seen(tmp_path: Path) -> None:
    facts = {"family": "llama", "parameter_count": 8_000_000_000, "quantisation": "Q4_0", "context_length": 4096}
    box = server("plain")
    box.models += [
        OfferedModel("full", digest="sha256:1", capabilities=("chat", "tools"), size_bytes=5, **facts),  # type: ignore[arg-type]  # mixed kinds
        OfferedModel("guess", quantisation="4bit", guessed=("quantisation",), remote=True),
    ]
    async with opened(tmp_path, {URL: box}) as app:
        await app.endpoints.add(NewEndpoint(URL))
        await app.models.discover()
        before = await models(app)
        histories = {name: await app.models.history(model) for name, model in before.items()}
        await app.models.discover()
        after = await models(app)
        assert {n: timeless(m) for n, m in after.items()} == {n: timeless(m) for n, m in before.items()}
        assert {name: await app.models.history(model) for name, model in after.items()} == histories
    assert after["guess"].guessed == ("quantisation",)
    assert after["guess"].is_remote


async def test_a_guess_never_replaces_what_a_server_said(tmp_path: Path) -> None:
    said = OfferedModel("m", digest="d", quantisation="Q4_K_M", parameter_count=8)
    guess = OfferedModel("m", digest="d", quantisation="4bit", family="qwen", guessed=("quantisation", "family"))
    boxes = {URL: server(), OTHER: server()}
    boxes[URL].models, boxes[OTHER].models = [guess], [said]
    async with opened(tmp_path, boxes) as app:
        await app.endpoints.add(NewEndpoint(URL, "guessing"))
        await app.models.discover()
        first = (await models(app))["m"]
        assert (first.quantisation, first.guessed) == ("4bit", ("family", "quantisation"))
        await app.endpoints.add(NewEndpoint(OTHER, "knowing"))
        for name in ("knowing", "guessing"):
            await app.models.discover([name])
            found = (await models(app))["m"]
            assert (found.quantisation, found.family, found.guessed) == ("Q4_K_M", "qwen", ("family",))


async def test_figures_that_no_model_has_are_unknown(tmp_path: Path) -> None:
    box = server()
    box.models = [OfferedModel("m", size_bytes=0, parameter_count=-1, family="", context_length=0)]
    async with opened(tmp_path, {URL: box}) as app:
        await app.endpoints.add(NewEndpoint(URL))
        await app.models.discover()
        found = (await models(app))["m"]
    assert (found.size_bytes, found.parameter_count, found.family, found.context_length) == (None,) * 4


async def test_a_digest_learnt_later_is_added_to_the_model_known_without(tmp_path: Path) -> None:
    box = server("m")
    async with opened(tmp_path, {URL: box}) as app:
        await assigned(app, URL)
        before = (await models(app))["m"]
        box.models = [OfferedModel("m", digest="sha256:1")]
        (report,) = await app.models.discover()
        after = (await models(app))["m"]
    assert (report.changed, report.added) == ((), ())
    assert (after.id, after.digest, after.status) == (before.id, "sha256:1", "active")


async def test_a_model_registered_by_hand_outlasts_looks_that_do_not_list_it(tmp_path: Path) -> None:
    async with opened(tmp_path, {URL: server("listed")}) as app:
        await app.endpoints.add(NewEndpoint(URL, "box"))
        added = await app.models.register("hidden", "box")
        assert added.homes[0].pinned
        (report,) = await app.models.discover()
        assert (report.added, report.removed, report.missing) == (("listed",), (), ())
        assert set(await models(app)) == {"hidden", "listed"}
        await app.models.unregister("hidden")
        assert set(await models(app)) == {"listed"}
        with pytest.raises(ConflictError, match="not registered by hand"):
            await app.models.unregister("listed")
        with pytest.raises(InputError, match="blank"):
            await app.models.register("  ", "box")
        with pytest.raises(NotFoundError):
            await app.models.register("m", "nowhere")


async def test_a_model_registered_by_hand_is_the_same_once_the_server_lists_it(tmp_path: Path) -> None:
    box = server()
    async with opened(tmp_path, {URL: box}) as app:
        await app.endpoints.add(NewEndpoint(URL, "box"))
        added = await app.models.register("m", "box")
        await app.models.assign("m", "box")
        box.models = [OfferedModel("m", digest="sha256:1", family="llama")]
        (report,) = await app.models.discover()
        found = (await models(app))["m"]
    assert (found.id, found.family, found.status) == (added.id, "llama", "active")
    assert (report.added, report.changed) == ((), ())


async def test_what_is_set_by_hand_holds_against_servers_until_it_is_unset(tmp_path: Path) -> None:
    box = server()
    box.models = [OfferedModel("m", family="llama", context_length=4096, capabilities=("chat",))]
    async with opened(tmp_path, {URL: box}) as app:
        await app.endpoints.add(NewEndpoint(URL))
        await app.models.discover()
        await app.models.set_facts("m", {"family": "mine", "context_length": 8192})
        await app.models.set_capabilities("m", {"vision": True, "chat": False})
        await app.models.discover()
        found = (await models(app))["m"]
        assert (found.family, found.context_length, found.pinned) == ("mine", 8192, ("context_length", "family"))
        assert found.capabilities == ("vision",)
        await app.models.set_facts("m", {"family": None})
        await app.models.set_capabilities("m", {"vision": None, "chat": None})
        await app.models.discover()
        found = (await models(app))["m"]
        assert (found.family, found.context_length, found.pinned) == ("llama", 8192, ("context_length",))
        assert found.known_capabilities == (Capability("chat", True, "server"),)
        with pytest.raises(InputError, match="'sight'.*vision"):
            await app.models.set_capabilities("m", {"sight": True})
        with pytest.raises(InputError, match="positive"):
            await app.models.set_facts("m", {"parameter_count": 0})


async def test_a_disabled_model_stays_so_whatever_comes_and_goes(tmp_path: Path) -> None:
    box = server("m", "n")
    async with opened(tmp_path, {URL: box}) as app:
        await assigned(app, URL)
        assert (await app.models.set_enabled("m", False)).status == "disabled"
        offered, box.models = box.models, []
        await app.models.discover()
        assert {name: model.status for name, model in (await models(app)).items()} == {"m": "disabled", "n": "missing"}
        assert (await app.models.set_enabled("m", True)).status == "missing"
        await app.models.set_enabled("m", False)
        box.models = offered
        await app.models.discover()
        assert (await models(app))["m"].status == "disabled"
        assert (await app.models.set_enabled("m", True)).status == "active"


async def test_the_history_of_a_model_says_what_became_of_it(tmp_path: Path) -> None:
    box = server("m")
    async with opened(tmp_path, {URL: box}) as app:
        await assigned(app, URL)
        offered, box.models = box.models, []
        await app.models.discover()
        box.models = offered
        await app.models.discover()
        events = await app.models.history((await models(app))["m"])
    told = [(event.kind, event.value, event.reason) for event in reversed(events)]
    assert told == [
        ("status", "new", None),
        ("home", "m@box", None),
        ("assigned", "box", None),
        ("status", "active", None),
        ("status", "missing", "no endpoint offers it any more"),
        ("status", "active", None),
    ]


async def test_refreshing_a_model_asks_its_own_endpoints_only(tmp_path: Path) -> None:
    boxes = {URL: server("m"), OTHER: server("n")}
    async with opened(tmp_path, boxes) as app:
        await app.endpoints.add(NewEndpoint(URL, "x"))
        await app.endpoints.add(NewEndpoint(OTHER, "y"))
        await app.models.discover()
        boxes[URL].models = [OfferedModel("m", family="llama")]
        boxes[OTHER].models = []
        found, reports = await app.models.refresh("m")
        assert (found.family, [report.endpoint_name for report in reports]) == ("llama", ["x"])
        assert set(await models(app)) == {"m", "n"}


async def test_a_model_that_only_passes_through_is_kept_off_this_machines_devices(tmp_path: Path) -> None:
    boxes = {URL: server(), OTHER: server()}
    boxes[URL].models = boxes[OTHER].models = [OfferedModel("cloudy", digest="d", remote=True)]
    async with opened(tmp_path, boxes) as app:
        await app.endpoints.add(NewEndpoint(URL, "here", device="nvidia:0"))
        await app.endpoints.add(NewEndpoint(OTHER, "far", device="remote"))
        await app.models.discover()
        with pytest.raises(ConflictError, match="another machine"):
            await app.models.assign("cloudy", "here")
        assert (await app.models.assign("cloudy", "far")).status == "active"


async def test_a_background_look_goes_on_until_it_is_stopped(tmp_path: Path) -> None:
    box = server("m")
    async with opened(tmp_path, {URL: box}, discover_every_s=0.5) as app, anyio.create_task_group() as group:
        await app.endpoints.add(NewEndpoint(URL))
        group.start_soon(app.models.keep_discovering)
        for names in ({"m"}, {"n"}):
            box.models = [OfferedModel(name) for name in names]
            with anyio.fail_after(30):
                while set(await models(app)) != names:  # noqa: ASYNC110 - the database sends no events
                    await anyio.sleep(0.005)
        group.cancel_scope.cancel()


async def test_a_background_look_can_be_switched_off(tmp_path: Path) -> None:
    async with opened(tmp_path, {}, discover_every_s=0) as app:
        with anyio.fail_after(5):
            await app.models.keep_discovering()


async def test_an_endpoint_removed_while_it_is_asked_stops_nobody(tmp_path: Path) -> None:
    gate = Gate()
    async with FakeServer(["a"]) as leaving, FakeServer(["b"]) as staying, opened_real(tmp_path) as app:
        await app.endpoints.add(NewEndpoint(leaving.url, "leaving"))
        await app.endpoints.add(NewEndpoint(staying.url, "staying"))
        leaving.routes[f"GET {MODELS}"] = lambda request: Reply(body={"data": [{"id": "a"}]}, before=gate)
        reports = {}
        async with anyio.create_task_group() as group:

            async def look() -> None:
                reports.update({report.endpoint_name: report for report in await app.models.discover()})

            group.start_soon(look)
            await gate.reached()
            await app.endpoints.remove("leaving")
            gate.open()
    assert "removed meanwhile" in (reports["leaving"].error or "")
    assert reports["staying"].added == ("b",)


async def test_a_name_listed_twice_is_one_model(tmp_path: Path) -> None:
    box = server("m", "m", "")
    async with opened(tmp_path, {URL: box}) as app:
        await app.endpoints.add(NewEndpoint(URL))
        first, second = [(await app.models.discover())[0] for _ in range(2)]
        assert (first.seen, first.added, second.added) == (1, ("m",), ())


async def test_two_names_for_one_digest_at_one_server_are_one_model(tmp_path: Path) -> None:
    box = server()
    box.models = [OfferedModel("m:latest", digest="d"), OfferedModel("m:8b", digest="d")]
    async with opened(tmp_path, {URL: box}) as app:
        await assigned(app, URL)
        (model,) = (await models(app)).values()
        assert [home.served_name for home in model.homes] == ["m:8b", "m:latest"]
        assert (await app.models.assign_only_home("m:8b")).status == "active"
        box.models.pop(0)
        (report,) = await app.models.discover()
        (left,) = (await models(app)).values()
    assert (report.missing, left.id, left.status) == (("m:latest",), model.id, "active")
    assert [home.served_name for home in left.homes if home.present] == ["m:8b"]


async def test_removing_the_only_endpoint_is_in_the_history_of_its_models(tmp_path: Path) -> None:
    async with opened(tmp_path, {URL: server("m")}) as app:
        await assigned(app, URL)
        await app.endpoints.remove("box")
        (newest, *_) = await app.models.history((await models(app))["m"])
    assert (newest.value, newest.reason) == ("missing", "no endpoint offers it any more")
