from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from llmbench_mcp.credentials.environment import Secret
from llmbench_mcp.credentials.keys import Keys, Shelf
from llmbench_mcp.credentials.known import known
from llmbench_mcp.credentials.places import Places
from llmbench_mcp.domain.credential import StoredCredential
from llmbench_mcp.domain.errors import AuthError, InputError
from llmbench_mcp.testing.clocks import FastClock

KEY = Secret("zz-LIVE-4b1c9c51d2e8")
HERE, ELSEWHERE = "http://127.0.0.1:8000", "http://127.0.0.1:8001"


class Rows:
    """Credentials in memory, as the store keeps them."""

    def __init__(self) -> None:
        self.kept: dict[str, StoredCredential] = {}

    async def find(self, name: str) -> StoredCredential | None:
        return self.kept.get(name)

    async def bind(self, name: str, origin: str) -> StoredCredential | None:
        row = self.kept.get(name)
        if row is not None and row.origin is None:
            self.kept[name] = replace(row, origin=origin)
        return self.kept.get(name)


@pytest.fixture
def rows() -> Rows:
    return Rows()


@pytest.fixture
def shelf(tmp_path: Path, rows: Rows) -> Shelf:
    return Shelf(rows, Places(tmp_path / "vault", "vault"), FastClock())


@pytest.fixture
def keys(shelf: Shelf) -> Keys:
    keys = Keys({"LLMBENCH_KEY_A": "zz-LIVE-from-environment-1"})
    keys.open(shelf)
    return keys


async def stored(shelf: Shelf, rows: Rows, origin: str | None = HERE, expires_at: str | None = None) -> None:
    place, slot = await shelf.places.put("office", KEY)
    rows.kept["office"] = StoredCredential("office", place, slot, "2026-01-01T00:00:00.000Z", origin, expires_at)


async def test_a_stored_key_is_given_for_its_own_origin_and_known_from_then_on(
    keys: Keys, shelf: Shelf, rows: Rows
) -> None:
    await stored(shelf, rows)
    assert await keys.resolve("stored:office", HERE) == KEY
    assert known().redact_known(f"so {KEY.reveal()} it is") == "so [redacted] it is"


async def test_a_variable_is_still_a_reference(keys: Keys) -> None:
    assert await keys.resolve("env:LLMBENCH_KEY_A", ELSEWHERE) == Secret("zz-LIVE-from-environment-1")
    with pytest.raises(InputError):
        await keys.resolve("file:/etc/passwd", HERE)


@pytest.mark.parametrize("origin", [ELSEWHERE, "https://127.0.0.1:8000", "http://localhost:8000"])
async def test_a_stored_key_is_refused_to_any_other_origin(keys: Keys, shelf: Shelf, rows: Rows, origin: str) -> None:
    await stored(shelf, rows)
    with pytest.raises(AuthError, match=f"belongs to {HERE} and is not sent to {origin}"):
        await keys.resolve("stored:office", origin)


async def test_an_unbound_key_is_bound_by_its_first_use(keys: Keys, shelf: Shelf, rows: Rows) -> None:
    await stored(shelf, rows, origin=None)
    assert await keys.resolve("stored:office", HERE) == KEY
    assert rows.kept["office"].origin == HERE
    with pytest.raises(AuthError, match="belongs to"):
        await keys.resolve("stored:office", ELSEWHERE)


async def test_an_expired_key_is_not_given(keys: Keys, shelf: Shelf, rows: Rows) -> None:
    await stored(shelf, rows, expires_at=shelf.clock.utc_now())
    with pytest.raises(AuthError, match=r"expired at .*credential set office"):
        await keys.resolve("stored:office", HERE)


async def test_a_name_nobody_stored_is_told_with_the_command(keys: Keys) -> None:
    with pytest.raises(AuthError, match=r"No credential named 'office'.*credential set office"):
        await keys.resolve("stored:office", HERE)
    with pytest.raises(AuthError, match="No credential"):
        await Keys({}).resolve("stored:office", HERE)


async def test_a_key_entered_anew_is_the_one_given(keys: Keys, shelf: Shelf, rows: Rows) -> None:
    await stored(shelf, rows)
    assert await keys.resolve("stored:office", HERE) == KEY
    newer = Secret("zz-LIVE-0000newer")
    place, slot = await shelf.places.put("office", newer)
    rows.kept["office"] = replace(rows.kept["office"], place=place, slot=slot)
    assert await keys.resolve("stored:office", HERE) == newer


async def test_a_key_that_is_gone_or_cannot_be_read_is_told_with_the_reason(
    keys: Keys, shelf: Shelf, rows: Rows, tmp_path: Path
) -> None:
    await stored(shelf, rows)
    (tmp_path / "vault" / "vault").write_bytes(b"damaged")
    with pytest.raises(AuthError, match="cannot be read.*damaged"):
        await keys.resolve("stored:office", HERE)
    (tmp_path / "vault" / "vault").unlink()
    with pytest.raises(AuthError, match="no longer in the vault"):
        await keys.resolve("stored:office", HERE)
