"""Endpoints and models that change while they are asked or looked up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from llmbench_mcp.domain.endpoint import ServerInfo
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.store.database import Database
from llmbench_mcp.testing.scripted import ScriptedBackend, ScriptedBackends
from tests.support.rooms import opened, server
from tests.support.work import URL

OTHER_URL = "http://127.0.0.1:2222"
_DETECT, _INSPECT, _LOOK = ScriptedBackends.detect, ScriptedBackend.inspect, Database.look


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
