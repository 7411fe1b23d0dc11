"""The one place where references become keys, each for one origin only."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from llmbench_mcp.credentials.environment import Secret, resolve
from llmbench_mcp.credentials.known import known
from llmbench_mcp.credentials.places import Places
from llmbench_mcp.domain.credential import StoredCredential, stored_name
from llmbench_mcp.domain.errors import AuthError, SetupError, StorageError
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.domain.text import one_line


class Rows(Protocol):
    """What is known of stored credentials."""

    async def find(self, name: str) -> StoredCredential | None:
        """By name."""
        ...

    async def bind(self, name: str, origin: str) -> StoredCredential | None:
        """Bind it to ``origin`` unless it is bound; returns it as it is now."""
        ...


@dataclass(frozen=True, slots=True)
class Shelf:
    """An opened data directory's credentials."""

    rows: Rows
    places: Places
    clock: Clock


class Keys:
    """Resolves references; stored ones only while a data directory is open."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._shelf: Shelf | None = None
        self._read: dict[str, tuple[str, Secret]] = {}

    def open(self, shelf: Shelf) -> None:
        """Use that data directory's stored credentials from now on."""
        self._shelf = shelf
        self._read.clear()

    async def resolve(self, reference: str, origin: str) -> Secret | None:
        """The key that ``reference`` names, for a request to ``origin``; the redactor knows it from then on.

        Raises:
            AuthError: it is not set, expired, another origin's, or cannot be read. The message holds no key.
            InputError: not a reference.
        """
        name = stored_name(reference)
        secret = resolve(reference, self._environment) if name is None else await self._stored(name, origin)
        if secret is not None:
            known().add(secret)
        return secret

    async def _stored(self, name: str, origin: str) -> Secret:
        shown, again = one_line(name, 40), f"Set it: llmbench-mcp credential set {one_line(name, 40)}"
        shelf = self._shelf
        row = await shelf.rows.find(name) if shelf else None
        if shelf is None or row is None:
            raise AuthError(f"No credential named '{shown}' is stored.", again)
        if row.is_expired(shelf.clock.utc_now()):
            raise AuthError(f"The credential '{shown}' expired at {row.expires_at}.", again)
        if row.origin is None:
            row = await shelf.rows.bind(name, origin)
        if row is None or row.origin != origin:
            raise AuthError(
                f"The credential '{shown}' belongs to {row.origin if row else 'nothing'} and is not sent to {origin}.",
                "Set another one for that server: llmbench-mcp credential set NAME --endpoint ENDPOINT",
            )
        return await self._from_place(shelf, row)

    async def _from_place(self, shelf: Shelf, row: StoredCredential) -> Secret:
        slot, secret = self._read.get(row.name, ("", None))
        if secret is not None and slot == row.slot:
            return secret
        try:
            found = await shelf.places.get(row.place, row.slot)
        except (StorageError, SetupError) as error:
            raise AuthError(f"The credential '{row.name}' cannot be read. {error.what}", error.next_step) from error
        if found is None:
            raise AuthError(
                f"The credential '{row.name}' is no longer in the {row.place}.",
                f"Set it again: llmbench-mcp credential set {row.name}",
            )
        self._read[row.name] = (row.slot, found)
        return found
