"""Endpoints and models that change while they are asked or looked up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from llmbench_mcp.domain.endpoint import Endpoint, OfferedModel, Resident, ServerInfo
from llmbench_mcp.domain.errors import NotFoundError
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.store.database import Database
from llmbench_mcp.store.models import ModelStore
from llmbench_mcp.testing.scripted import ScriptedBackend, ScriptedBackends, ScriptedServer
from tests.support.rooms import opened, server
from tests.support.work import URL

OTHER_URL = "http://127.0.0.1:2222"
_DETECT, _INSPECT, _LOOK = ScriptedBackends.detect, ScriptedBackend.inspect, Database.look
_ASSIGN, _LOAD = ModelStore.assign, ScriptedBackend.load


def while_detected(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], Awaitable[object]]) -> None:
    """The next server that is identified takes its time: ``happens`` is done meanwhile."""
    done = False

    async def detect(backends: ScriptedBackends, *arguments: Any) -> ServerInfo:
        nonlocal done
        info = await _DETECT(backends, *arguments)
        if not done:
            done = True
            await happens()
        return info

    monkeypatch.setattr(ScriptedBackends, "detect", detect)


async def test_two_changes_of_one_endpoint_at_once_are_both_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, {URL: server("m")}) as app:
        await app.endpoints.add(NewEndpoint(URL, "box"))
        while_detected(monkeypatch, lambda: app.endpoints.add(NewEndpoint(URL, evict="any")))
        changed, is_new = await app.endpoints.add(NewEndpoint(URL, concurrency=4))
    assert (changed.concurrency, changed.evict, is_new) == (4, "any", False)


async def test_one_removed_while_it_is_added_again_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path, {URL: server("m")}) as app:
        await app.endpoints.add(NewEndpoint(URL, "box"))
        while_detected(monkeypatch, lambda: app.endpoints.remove("box"))
        added, is_new = await app.endpoints.add(NewEndpoint(URL, "box"))
    assert (added.name, is_new) == ("box", True)


async def test_one_removed_while_all_are_looked_at_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path, {URL: server("m"), OTHER_URL: server("n")}) as app:
        await app.endpoints.add(NewEndpoint(URL, "leaves"))
        await app.endpoints.add(NewEndpoint(OTHER_URL, "stays"))

        async def inspect(backend: ScriptedBackend) -> ServerInfo:
            if backend.endpoint.name == "leaves":
                await app.endpoints.remove("leaves")
            return await _INSPECT(backend)

        monkeypatch.setattr(ScriptedBackend, "inspect", inspect)
        views = await app.endpoints.views(look=True)
    assert [view.endpoint.name for view in views] == ["stays"]


async def test_a_model_found_while_models_are_looked_up_has_its_home_or_is_not_there_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, {URL: server("m")}) as app:
        await app.endpoints.add(NewEndpoint(URL, "box"))
        looks = 0

        async def look(database: Database, *queries: tuple[Any, ...]) -> list[list[dict[str, Any]]]:
            nonlocal looks
            found = await _LOOK(database, *queries)
            looks += 1
            if looks == 1:
                await app.models.discover()
            return found

        monkeypatch.setattr(Database, "look", look)
        seen = await app.models.all()
        after = await app.models.all()
    assert seen == []
    assert [len(model.homes) for model in after] == [1]


async def test_a_model_is_not_assigned_to_an_endpoint_that_is_removed_at_that_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = {url: ScriptedServer([OfferedModel("m", digest="sha256:m")]) for url in (URL, OTHER_URL)}
    async with opened(tmp_path, both) as app:
        await app.endpoints.add(NewEndpoint(URL, "box"))
        await app.endpoints.add(NewEndpoint(OTHER_URL, "other"))
        await app.models.discover()

        async def assign(store: ModelStore, model_id: str, endpoint: Endpoint | None) -> None:
            await app.endpoints.remove("box")
            await _ASSIGN(store, model_id, endpoint)

        monkeypatch.setattr(ModelStore, "assign", assign)
        with pytest.raises(NotFoundError, match="removed meanwhile"):
            await app.models.assign("m", "box")


async def test_an_endpoint_may_be_removed_while_a_model_is_loaded_there_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = server("m", can_load=True)
    async with opened(tmp_path, {URL: box}) as app:
        await app.endpoints.add(NewEndpoint(URL, "box"))
        await app.models.discover()

        async def load(backend: ScriptedBackend, served_name: str, context_length: int | None = None) -> None:
            await _LOAD(backend, served_name, context_length)
            await app.endpoints.remove("box")

        async def residents(backend: ScriptedBackend) -> list[Resident]:
            return [Resident(name, name, memory_bytes=1 << 30) for name in box.loaded]

        monkeypatch.setattr(ScriptedBackend, "load", load)
        monkeypatch.setattr(ScriptedBackend, "residents", residents)
        loaded = await app.residencies.load("m", "box")
        own = await app.residencies.own()
    assert (loaded.ready.residency.partition(";")[0], own) == ("verified", [])
