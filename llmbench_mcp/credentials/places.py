"""Where entered keys lie: the system's keyring where a usable one is, else the vault."""

from __future__ import annotations

import secrets
from functools import partial
from pathlib import Path
from typing import Literal

import anyio

from llmbench_mcp.credentials import keyring_store
from llmbench_mcp.credentials.bounded import bounded
from llmbench_mcp.credentials.entry import entered
from llmbench_mcp.credentials.environment import Secret, is_usable
from llmbench_mcp.credentials.known import known
from llmbench_mcp.credentials.vault import Vault
from llmbench_mcp.domain.credential import Place
from llmbench_mcp.domain.errors import SetupError, StorageError
from llmbench_mcp.domain.text import one_line

Choice = Literal["auto", "keyring", "vault"]
_ENTERING_S = 60.0
"""Somebody is there, whom the keyring may ask to unlock it."""
_READING_S = 8.0


class Places:
    """Puts keys into their place and gets them back.

    Args:
        folder: the vault's.
        choice: the setting ``credential_store``.
    """

    def __init__(self, folder: Path, choice: str = "auto") -> None:
        self._vault = Vault(folder)
        self._choice = choice

    async def where(self) -> str:
        """Where the next key entered will lie, for showing."""
        if self._choice == "vault":
            return "vault"
        try:
            ring = await bounded(keyring_store.usable, _READING_S)
        except TimeoutError:
            ring = None
        if ring is not None:
            return f"keyring ({one_line(ring.name, 60)})"
        return "vault" if self._choice == "auto" else "nowhere: there is no usable keyring"

    async def take(self, name: str, key: str) -> tuple[Place, str]:
        """Keep what a person entered, which the redactor knows from then on; returns what ``put`` does.

        Raises:
            InputError: it is no key.
            SetupError, StorageError: as ``put``.
        """
        secret = entered(key)
        known().add(secret)
        return await self.put(name, secret)

    async def trouble(self, place: Place, slot: str) -> str | None:
        """Why the key there cannot be read; None when it can."""
        try:
            secret = await self.get(place, slot)
        except (SetupError, StorageError) as error:
            return str(error)
        if secret is None:
            return f"It is no longer in the {place}."
        known().add(secret)
        return None

    def is_set(self, reference: str) -> bool:
        """Whether an environment variable named so holds a key."""
        return is_usable(reference)

    async def put(self, name: str, secret: Secret) -> tuple[Place, str]:
        """Keep a key; returns its place and the slot it is found by there.

        Raises:
            SetupError: the setting wants the keyring, and there is none that can be used.
            StorageError: the vault cannot be used.
        """
        slot = f"{name}/{secrets.token_hex(8)}"
        if self._choice != "vault" and await self._put_into_keyring(slot, secret):
            return "keyring", slot
        await anyio.to_thread.run_sync(self._vault.put, slot, secret.reveal())
        return "vault", slot

    async def get(self, place: Place, slot: str) -> Secret | None:
        """The key there, None when it is gone. Raises SetupError or StorageError."""
        if place == "vault":
            key = await anyio.to_thread.run_sync(self._vault.get, slot)
        else:
            key = await self._from_keyring(slot)
        return None if key is None else Secret(key)

    async def delete(self, place: Place, slot: str) -> None:
        """Take the key away, if it is there. Raises SetupError or StorageError."""
        if place == "vault":
            return await anyio.to_thread.run_sync(self._vault.delete, slot)
        try:
            return await bounded(partial(keyring_store.delete, slot), _ENTERING_S)
        except TimeoutError:
            raise _silent() from None

    async def _put_into_keyring(self, slot: str, secret: Secret) -> bool:
        try:
            await bounded(partial(keyring_store.put, slot, secret.reveal()), _ENTERING_S)
        except (SetupError, TimeoutError) as error:
            if self._choice == "keyring":
                raise (_silent() if isinstance(error, TimeoutError) else error) from None
            return False
        return True

    async def _from_keyring(self, slot: str) -> str | None:
        try:
            return await bounded(partial(keyring_store.get, slot), _READING_S)
        except TimeoutError:
            raise _silent() from None


def _silent() -> SetupError:
    return SetupError("The keyring does not answer; it may wait to be unlocked.", "Unlock it and try again.")
