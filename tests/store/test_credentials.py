"""What is kept of credentials, and that databases of before them are taken along."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from llmbench_mcp.domain.credential import StoredCredential
from llmbench_mcp.store.credentials import CredentialStore
from llmbench_mcp.store.database import open_database
from llmbench_mcp.store.endpoints import EndpointStore
from llmbench_mcp.testing.clocks import FastClock
from tests.store.test_registry import old_database

OFFICE = StoredCredential("office", "vault", "office/1", "2026-01-01T00:00:00.000Z")


async def test_a_database_of_before_credentials_keeps_its_endpoints_and_takes_credentials(tmp_path: Path) -> None:
    async with open_database(old_database(tmp_path)) as database:
        store = CredentialStore(database)
        assert await store.all() == []
        assert await store.put(OFFICE) is None
        (endpoint,) = await EndpointStore(database, FastClock()).all()
        await store.lend(endpoint.id, OFFICE.reference)
        (lent,) = await EndpointStore(database, FastClock()).all()
    assert (lent.id, lent.url, lent.credential_ref) == (endpoint.id, endpoint.url, "stored:office")
    assert (lent.reachable, lent.last_error) == (None, None)


async def test_the_first_origin_is_kept(tmp_path: Path) -> None:
    async with open_database(tmp_path / "llmbench.db") as database:
        store = CredentialStore(database)
        await store.put(OFFICE)
        first = await store.bind("office", "http://a:1")
        second = await store.bind("office", "http://b:1")
        assert await store.bind("nobody", "http://a:1") is None
    assert first == second == replace(OFFICE, origin="http://a:1")


async def test_one_entered_anew_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    async with open_database(tmp_path / "llmbench.db") as database:
        store = CredentialStore(database)
        await store.put(OFFICE)
        newer = replace(OFFICE, slot="office/2", expires_at="2027-01-01T00:00:00.000Z")
        assert await store.put(newer) == OFFICE
        assert await store.all() == [newer]


async def test_a_forgotten_one_is_taken_from_the_endpoints_that_use_it(tmp_path: Path) -> None:
    async with open_database(old_database(tmp_path)) as database:
        store, endpoints = CredentialStore(database), EndpointStore(database, FastClock())
        await store.put(OFFICE)
        (endpoint,) = await endpoints.all()
        await store.lend(endpoint.id, OFFICE.reference)
        assert await store.forget(OFFICE) == [endpoint.name]
        assert await store.find("office") is None
        assert (await endpoints.all())[0].credential_ref is None
