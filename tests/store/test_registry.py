"""The registry's tables: data of before them is kept, and events go with their model."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from llmbench_mcp.domain.capability import Capability
from llmbench_mcp.domain.endpoint import OfferedModel
from llmbench_mcp.store.database import open_database
from llmbench_mcp.store.endpoints import EndpointStore
from llmbench_mcp.store.models import ModelStore
from llmbench_mcp.testing.clocks import FastClock

OLD = Path(__file__).parent / "data" / "v0001.sql"


def old_database(folder: Path) -> Path:
    """Data of the first schema, with capabilities in the form of that time."""
    path = folder / "llmbench.db"
    plain = sqlite3.connect(path)
    plain.executescript(OLD.read_text(encoding="utf-8"))
    plain.execute("update models set capabilities = ?, family = 'llama'", ('["chat", "tools"]',))
    plain.commit()
    plain.close()
    return path


async def test_capabilities_of_before_their_sources_count_as_the_servers(tmp_path: Path) -> None:
    async with open_database(old_database(tmp_path)) as database:
        (model,) = await ModelStore(database, FastClock()).all()
    assert model.known_capabilities == (Capability("chat", True, "server"), Capability("tools", True, "server"))
    assert (model.family, model.guessed, model.pinned) == ("llama", (), ())
    (home,) = model.homes
    assert (home.tools, home.pinned, home.remote, home.present) == ("unknown", False, False, True)


async def test_an_old_model_is_merged_with_what_its_server_says_now(tmp_path: Path) -> None:
    async with open_database(old_database(tmp_path)) as database:
        store = ModelStore(database, FastClock())
        (endpoint,) = await EndpointStore(database, FastClock()).all()
        await store.merge(endpoint, [OfferedModel("m", digest="sha256:1", capabilities=("chat",))])
        (model,) = await store.all()
        events = await store.history(model.id, 10)
    assert (model.id, model.status, model.digest, model.capabilities) == ("model_old", "active", "sha256:1", ("chat",))
    assert events == []


async def test_the_events_of_a_removed_model_go_with_it(tmp_path: Path) -> None:
    async with open_database(old_database(tmp_path)) as database:
        store = ModelStore(database, FastClock())
        (endpoint,) = await EndpointStore(database, FastClock()).all()
        await store.merge(endpoint, [OfferedModel("m"), OfferedModel("passing")])
        passing = next(model for model in await store.all() if model.name == "passing")
        assert await store.history(passing.id, 10)
        report = await store.merge(endpoint, [OfferedModel("m")])
        assert report.removed == ("passing",)
        assert await store.history(passing.id, 10) == []
