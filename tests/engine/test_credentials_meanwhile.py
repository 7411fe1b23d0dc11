"""A key that is entered while the earlier one of its name is forgotten stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp.domain.credential import StoredCredential
from llmbench_mcp.services.credentials import Entry
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.store.credentials import CredentialStore
from tests.support.rooms import opened, server

URL = "http://127.0.0.1:8101"
KEY = "zz-LIVE-engine7f3a9c51"
_FORGET = CredentialStore.forget


async def test_a_key_entered_while_the_earlier_one_is_forgotten_stays_in_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, {URL: server("m")}, credential_store="vault") as app:
        await app.credentials.enter(Entry("office", URL), KEY)
        await app.endpoints.add(NewEndpoint(URL, "box", credential_ref="stored:office"))

        async def forget(store: CredentialStore, credential: StoredCredential) -> list[str]:
            await app.credentials.enter(Entry("office"), KEY + "-newer")
            return await _FORGET(store, credential)

        monkeypatch.setattr(CredentialStore, "forget", forget)
        await app.credentials.forget("office")
        kept = await app.credentials.view("office")
    assert (kept.state, kept.problem, kept.used_by) == ("set", None, ("box",))
