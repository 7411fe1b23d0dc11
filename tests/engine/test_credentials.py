"""What endpoints may use which credential, and what becomes of it when they change."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.errors import ConflictError, InputError, StorageError
from llmbench_mcp.services.credentials import Entry
from llmbench_mcp.services.endpoints import NewEndpoint
from tests.support.rooms import opened, server

URL, OTHER = "http://127.0.0.1:8101", "http://127.0.0.1:8102"
KEY = "zz-LIVE-engine7f3a9c51"


async def reference_of(app: App, name: str) -> str | None:
    return (await app.endpoints.get(name)).credential_ref


async def test_an_endpoint_that_moves_to_another_origin_leaves_its_credential_behind(tmp_path: Path) -> None:
    async with opened(tmp_path, {URL: server("m")}, credential_store="vault") as app:
        await app.credentials.enter(Entry("office", URL), KEY)
        await app.endpoints.serve("box", URL, "scripted", None)
        await app.endpoints.add(NewEndpoint(URL, credential_ref="stored:office"))
        await app.endpoints.serve("box", f"{URL}/llm", "scripted", None)
        assert await reference_of(app, "box") == "stored:office"
        await app.endpoints.serve("box", OTHER, "scripted", None)
        assert await reference_of(app, "box") is None


async def test_one_credential_serves_every_endpoint_of_its_origin(tmp_path: Path) -> None:
    servers = {URL: server("m"), f"{URL}/b": server("m")}
    async with opened(tmp_path, servers, credential_store="vault") as app:
        await app.credentials.enter(Entry("office", URL), KEY)
        for name, url in (("a", URL), ("b", f"{URL}/b")):
            await app.endpoints.add(NewEndpoint(url, name, credential_ref="stored:office", by_agent=True))
        assert (await app.credentials.view("office")).used_by == ("a", "b")


async def test_an_endpoint_is_lent_only_what_may_be_sent_there(tmp_path: Path) -> None:
    async with opened(tmp_path, {URL: server("m")}, credential_store="vault") as app:
        box, _ = await app.endpoints.add(NewEndpoint(URL, "box"))
        await app.credentials.enter(Entry("office", OTHER), KEY)
        with pytest.raises(InputError, match=f"belongs to {OTHER}"):
            await app.credentials.lend(box, "stored:office")
        with pytest.raises(InputError, match="at http://127.0.0.1:8101, not"):
            await app.credentials.enter(Entry("other", OTHER, endpoint=box), KEY)
        with pytest.raises(ConflictError, match="belongs to"):
            await app.credentials.enter(Entry("office", endpoint=box), KEY)
        assert await reference_of(app, "box") is None


async def test_a_key_whose_entry_fails_leaves_the_earlier_one_in_force(tmp_path: Path) -> None:
    async with opened(tmp_path, {}, credential_store="vault") as app:
        await app.credentials.enter(Entry("office", URL), KEY)
        vault = tmp_path / "data" / "credentials" / "vault"
        whole = vault.read_bytes()
        vault.write_bytes(b"damaged")
        with pytest.raises(StorageError):
            await app.credentials.enter(Entry("office"), KEY + "-newer")
        with pytest.raises(StorageError):
            await app.credentials.forget("office")
        vault.write_bytes(whole)
        assert (await app.credentials.view("office")).problem is None
