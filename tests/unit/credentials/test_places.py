from __future__ import annotations

from pathlib import Path

import pytest
from keyring.backend import KeyringBackend
from keyring.backends.chainer import ChainerBackend
from keyring.backends.fail import Keyring as FailKeyring
from keyring.backends.null import Keyring as NullKeyring

from llmbench_mcp.credentials import keyring_store, places
from llmbench_mcp.credentials.environment import Secret
from llmbench_mcp.credentials.places import Places
from llmbench_mcp.domain.errors import SetupError
from tests.support.keyrings import ForgetfulKeyring, LockedKeyring, MemoryKeyring, WaitingKeyring, using

KEY = Secret("zz-LIVE-7f3a9c51d2e8")


class PlainKeyring(MemoryKeyring):
    """As the library rates one that keeps keys in the clear."""

    priority = 0.5


FAIL: KeyringBackend = FailKeyring()  # type: ignore[no-untyped-call]
NULL: KeyringBackend = NullKeyring()  # type: ignore[no-untyped-call]


class Chain(ChainerBackend):
    backends = (FAIL, PlainKeyring(), MemoryKeyring())


async def test_a_usable_keyring_is_used_and_no_vault_is_made(tmp_path: Path) -> None:
    ring = MemoryKeyring()
    with using(ring):
        there = Places(tmp_path / "vault")
        place, slot = await there.put("office", KEY)
        assert place == "keyring"
        assert slot.startswith("office/")
        assert ring.kept == {("llmbench-mcp", slot): KEY.reveal()}
        assert await there.get(place, slot) == KEY
        await there.delete(place, slot)
        await there.delete(place, slot)  # gone already
        assert await there.get(place, slot) is None
    assert ring.kept == {}
    assert not (tmp_path / "vault").exists()


async def test_every_key_entered_has_a_slot_of_its_own(tmp_path: Path) -> None:
    there = Places(tmp_path / "vault", "vault")
    first, second = await there.put("office", KEY), await there.put("office", Secret("zz-other-7f3a9c51"))
    assert first != second
    assert await there.get(*first) == KEY


@pytest.mark.parametrize("ring", [FAIL, NULL, PlainKeyring(), LockedKeyring(), ForgetfulKeyring()])
async def test_a_keyring_that_does_not_keep_keys_safe_is_passed_over_for_the_vault(
    tmp_path: Path, ring: KeyringBackend
) -> None:
    with using(ring):
        place, slot = await Places(tmp_path / "vault").put("office", KEY)
        assert place == "vault"
        assert await Places(tmp_path / "vault").get(place, slot) == KEY


async def test_a_keyring_that_was_asked_for_and_cannot_be_used_is_told_without_the_key(tmp_path: Path) -> None:
    with using(LockedKeyring()), pytest.raises(SetupError, match="KeyringLocked.*Unlock it") as caught:
        await Places(tmp_path / "vault", "keyring").put("office", KEY)
    assert KEY.reveal() not in str(caught.value)
    assert not (tmp_path / "vault").exists()


async def test_the_vault_is_used_where_it_was_asked_for(tmp_path: Path) -> None:
    ring = MemoryKeyring()
    with using(ring):
        place, _ = await Places(tmp_path / "vault", "vault").put("office", KEY)
    assert (place, ring.kept) == ("vault", {})


async def test_a_keyring_that_waits_for_somebody_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "_READING_S", 0.05)
    monkeypatch.setattr(places, "_ENTERING_S", 0.05)
    ring = WaitingKeyring()
    try:
        with using(ring):
            with pytest.raises(SetupError, match="does not answer"):
                await Places(tmp_path / "vault", "keyring").get("keyring", "office/1")
            assert (await Places(tmp_path / "vault").put("office", KEY))[0] == "vault"
    finally:
        ring.released.set()


def test_of_several_keyrings_the_first_safe_one_is_taken() -> None:
    chain: KeyringBackend = Chain()  # type: ignore[no-untyped-call]
    with using(chain):
        assert keyring_store.usable() is Chain.backends[2]
