"""Credentials: enter, look at, lend to endpoints, forget. No key ever comes back out of here."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from llmbench_mcp.domain.address import parse_address
from llmbench_mcp.domain.credential import (
    CredentialState,
    Place,
    StoredCredential,
    check_name,
    expiry,
    stored_name,
)
from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.errors import ConflictError, InputError, NotFoundError, SetupError, StorageError
from llmbench_mcp.domain.ports import Clock, CredentialChecker, KeyStore
from llmbench_mcp.domain.text import nearest, one_line
from llmbench_mcp.store.credentials import CredentialStore
from llmbench_mcp.store.endpoints import EndpointStore

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entry:
    """What is said of a key that is entered.

    Attributes:
        name: what it is called from now on.
        origin: the one address it may be sent to; None: that of ``endpoint``, or of the endpoint that uses it first.
        expires: a time limit such as ``30d``; None: none.
        endpoint: the endpoint that shall use it.
    """

    name: str
    origin: str | None = None
    expires: str | None = None
    endpoint: Endpoint | None = None


@dataclass(frozen=True, slots=True)
class CredentialView:
    """All that anybody is told of a credential. Times are ISO 8601 UTC."""

    reference: str
    state: CredentialState
    place: Place | Literal["environment"] | None
    """None where there is nothing."""
    origin: str | None = None
    set_at: str | None = None
    expires_at: str | None = None
    used_by: tuple[str, ...] = ()
    problem: str | None = None
    """Why it could not be read, where that was tried."""


class Credentials:
    """Use cases about credentials."""

    def __init__(
        self,
        rows: CredentialStore,
        endpoints: EndpointStore,
        keys: KeyStore,
        check_form: CredentialChecker,
        clock: Clock,
    ) -> None:
        self._rows = rows
        self._endpoints = endpoints
        self._keys = keys
        self._check_form = check_form
        self._clock = clock

    async def enter(self, entry: Entry, key: str) -> CredentialView:
        """Store a key, in place of one of that name, and let the entry's endpoint use it.

        Raises:
            InputError: a bad name, address or time limit, or what was entered is no key.
            ConflictError: a credential of that name is bound to another address.
            SetupError: the setting wants the keyring, and there is none that can be used.
            StorageError: the vault or the database cannot be used.
        """
        made = await self._described(entry)
        place, slot = await self._keys.take(made.name, key)
        row = StoredCredential(made.name, place, slot, made.set_at, made.origin, made.expires_at)
        try:
            before = await self._rows.put(row)
        except StorageError:
            await self._drop(row)
            raise
        if before is not None:
            await self._drop(before)
        if entry.endpoint is not None:
            await self._rows.lend(entry.endpoint.id, row.reference)
        return await self._view(row)

    async def check_entry(self, entry: Entry) -> None:
        """As ``enter`` would, before anybody is asked for a key. Raises InputError or ConflictError."""
        await self._described(entry)

    async def _described(self, entry: Entry) -> StoredCredential:
        """The row to be, but for its place."""
        name, now = check_name(entry.name), self._clock.utc_now()
        expires_at = None if entry.expires is None else expiry(entry.expires, now)
        origin = _agreed_origin(entry)
        before = await self._rows.find(name)
        bound = before.origin if before else None
        if origin is not None and bound is not None and bound != origin:
            raise ConflictError(
                f"The credential '{name}' belongs to {bound}, not to {origin}.",
                "Use another name, or forget that one first: llmbench-mcp credential forget NAME",
            )
        return StoredCredential(name, "vault", "", now, origin or bound, expires_at)

    async def _drop(self, row: StoredCredential) -> None:
        """Take away a key that nothing names any more; where that fails it is only a leftover."""
        try:
            await self._keys.delete(row.place, row.slot)
        except (SetupError, StorageError) as error:
            log.warning("the earlier key of '%s' stays in the %s: %s", row.name, row.place, error.what)

    async def where(self) -> str:
        """Where the next key entered will lie, for showing."""
        return await self._keys.where()

    async def views(self) -> list[CredentialView]:
        """Every stored one by name, then every other reference that an endpoint uses; no key is read."""
        used = await self._used()
        stored = [self._shown(row, used) for row in await self._rows.all()]
        others = used.keys() - {view.reference for view in stored}
        return stored + [self._other(reference, used[reference]) for reference in sorted(others)]

    async def view(self, name: str) -> CredentialView:
        """One stored credential, its key read on trial. Raises NotFoundError."""
        row = await self._row(name)
        return await self._view(row, await self._keys.trouble(row.place, row.slot))

    async def forget(self, name: str) -> CredentialView:
        """Delete a stored key and take it from the endpoints that use it, which the result names.

        Raises:
            NotFoundError: there is none of that name.
            SetupError: its keyring cannot be changed; nothing was forgotten then.
            StorageError: likewise for the vault or database.
        """
        row = await self._row(name)
        view = await self._view(row)
        await self._keys.delete(row.place, row.slot)
        return replace(view, used_by=tuple(await self._rows.forget(row)))

    async def lend(self, endpoint: Endpoint, reference: str | None) -> None:
        """Let an endpoint use a reference that may be used there, or none.

        Raises:
            InputError: not a reference, or one that belongs to another address; NotFoundError: it names nothing.
        """
        if reference is not None:
            await self.check(reference, parse_address(endpoint.url).origin, by_agent=False)
        await self._rows.lend(endpoint.id, reference)

    async def check(self, reference: str, origin: str, by_agent: bool) -> None:
        """Whether ``reference`` may be used for requests to ``origin``.

        An agent may name only what is bound to that very origin already, or a variable that no other origin uses.

        Raises:
            InputError: it may not; NotFoundError: it names nothing.
        """
        name = stored_name(reference)
        if name is None:
            self._check_form(reference, by_agent)
            return await self._check_alone(reference, origin) if by_agent else None
        row = await self._row(name)
        if row.origin is None and by_agent:
            raise InputError(
                f"The credential '{row.name}' is bound to no server yet, and only a person may say which one gets it.",
                f"Ask the person to run: llmbench-mcp endpoint add {origin} --credential {row.reference}",
            )
        if row.origin is not None and row.origin != origin:
            raise InputError(
                f"The credential '{row.name}' belongs to {row.origin} and is never sent to {origin}.",
                "credential_request (credential set NAME --origin URL) asks the person for that server's own key.",
            )
        return None

    async def _check_alone(self, reference: str, origin: str) -> None:
        for endpoint in await self._endpoints.all():
            other = parse_address(endpoint.url).origin
            if endpoint.credential_ref == reference and other != origin:
                raise InputError(
                    f"{one_line(reference, 80)} is used for {other}; an agent may not have it sent to {origin}.",
                    "Ask the person to add that endpoint, or call credential_request for a key of its own.",
                )

    async def states(self) -> dict[str, CredentialState]:
        """The state of every credential stored or used, by reference; no key is read."""
        return {view.reference: view.state for view in await self.views()}

    async def find(self, name: str) -> CredentialView | None:
        """One stored credential by name, its key not read."""
        row = await self._rows.find(name)
        return None if row is None else await self._view(row)

    async def _row(self, name: str) -> StoredCredential:
        row = await self._rows.find(name)
        if row is not None:
            return row
        try:
            shown = f"named '{check_name(name)}'"
        except InputError:  # what may be a key is not repeated
            shown = "of that name"
        names = [each.name for each in await self._rows.all()]
        next_step = "To have one entered: credential_request (credential set NAME)."
        raise NotFoundError(f"No credential {shown} is stored.", next_step, nearest(name[:64], names))

    async def _view(self, row: StoredCredential, problem: str | None = None) -> CredentialView:
        return replace(self._shown(row, await self._used()), problem=problem)

    def _shown(self, row: StoredCredential, used: Mapping[str, tuple[str, ...]]) -> CredentialView:
        state: CredentialState = "expired" if row.is_expired(self._clock.utc_now()) else "set"
        facts = (row.place, row.origin, row.set_at, row.expires_at)
        return CredentialView(row.reference, state, *facts, used.get(row.reference, ()))

    def _other(self, reference: str, users: tuple[str, ...]) -> CredentialView:
        place: Literal["environment"] | None = None if stored_name(reference) else "environment"
        state: CredentialState = "set" if self._keys.is_set(reference) else "not set"
        return CredentialView(reference, state, place, used_by=users)

    async def _used(self) -> dict[str, tuple[str, ...]]:
        """The endpoints' names by the reference they use."""
        used: dict[str, tuple[str, ...]] = {}
        for endpoint in await self._endpoints.all():
            if endpoint.credential_ref is not None:
                used[endpoint.credential_ref] = (*used.get(endpoint.credential_ref, ()), endpoint.name)
        return used


def _agreed_origin(entry: Entry) -> str | None:
    said = None if entry.origin is None else parse_address(entry.origin).origin
    used = None if entry.endpoint is None else parse_address(entry.endpoint.url).origin
    if said is not None and used is not None and said != used:
        raise InputError(
            f"The endpoint '{one_line(entry.endpoint.name, 64) if entry.endpoint else ''}' is at {used}, not {said}.",
            "Give one of the two.",
        )
    return said or used
