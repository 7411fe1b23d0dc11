"""Asking the person for a key, on behalf of an agent that never sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import anyio

from llmbench_mcp.domain.address import Address, is_loopback, parse_address
from llmbench_mcp.domain.credential import STORED, Asked, check_name, name_after, stored_name
from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.errors import ConflictError, InputError, NotFoundError
from llmbench_mcp.domain.ports import EntryPage, PageOpener
from llmbench_mcp.services.credentials import Credentials, CredentialView, Entry
from llmbench_mcp.services.endpoints import Endpoints

_MOST_PAGES = 8
RequestState = Literal["waiting", "set"]


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """How a request stands. ``page`` is open while it waits."""

    state: RequestState
    reference: str
    origin: str
    endpoint: str | None = None
    page: EntryPage | None = None


@dataclass(frozen=True, slots=True)
class _Wanted:
    entry: Entry
    origin: str

    @property
    def reference(self) -> str:
        return STORED + self.entry.name


class CredentialRequests:
    """Opens the pages at which persons enter keys, one for a credential at a time.

    Args:
        credentials: takes what was entered.
        endpoints: what keys are asked for.
        open_page: opens one.
    """

    def __init__(self, credentials: Credentials, endpoints: Endpoints, open_page: PageOpener) -> None:
        self._credentials = credentials
        self._endpoints = endpoints
        self._open_page = open_page
        self._pages: dict[str, EntryPage] = {}
        self._asking = anyio.Lock()

    async def ask(self, where: str = "", name: str = "") -> KeyRequest:
        """See that a key is set or asked for: asking again for the same tells how it stands.

        Args:
            where: an endpoint by name, id or address, or the address of a server that is none yet.
            name: of the credential; empty: it is made of ``where``. One of the two must be given.

        Raises:
            InputError: neither was given, or one of them cannot be; NotFoundError: there is no such endpoint.
            ConflictError: the name belongs to another server, or too many pages are open.
            StorageError: no page can be opened.
        """
        wanted = await self._wanted(where, name)
        async with self._asking:  # so that one name never has two pages
            return await self._asked(wanted)

    async def _asked(self, wanted: _Wanted) -> KeyRequest:
        page = self._pages.get(wanted.entry.name)
        if page is not None and page.state == "waiting" and page.asked.origin == wanted.origin:
            return self._answer("waiting", wanted, page)
        await self._credentials.check_entry(wanted.entry)
        known = await self._credentials.find(wanted.entry.name)
        if known is not None and _is_good(known, wanted):
            return self._answer("set", wanted)
        return self._answer("waiting", wanted, await self._open(wanted, replaces=known is not None))

    async def aclose(self) -> None:
        """Close every page."""
        pages = list(self._pages.values())
        self._pages.clear()
        for page in pages:
            await page.aclose()

    async def _open(self, wanted: _Wanted, replaces: bool) -> EntryPage:
        self._pages = {name: page for name, page in self._pages.items() if page.state == "waiting"}
        earlier = self._pages.pop(wanted.entry.name, None)
        if earlier is not None:
            await earlier.aclose()
        if len(self._pages) >= _MOST_PAGES:
            raise ConflictError(
                f"{_MOST_PAGES} pages wait for keys already.", "Ask the person to use or close them first."
            )

        async def store(key: str) -> None:
            await self._credentials.enter(wanted.entry, key)

        address = parse_address(wanted.origin)
        endpoint = wanted.entry.endpoint.name if wanted.entry.endpoint else None
        in_clear = address.scheme == "http" and not _is_here(address)
        asked = Asked(wanted.entry.name, wanted.origin, endpoint, replaces, in_clear)
        page = self._pages[wanted.entry.name] = await self._open_page(asked, store)
        return page

    async def _wanted(self, where: str, name: str) -> _Wanted:
        if not where:
            return await self._renewal(name)
        endpoint, address = await self._target(where)
        name = name or _usual_name(endpoint, address)
        return _Wanted(Entry(check_name(name), address.origin, endpoint=endpoint), address.origin)

    async def _renewal(self, name: str) -> _Wanted:
        if not name:
            raise InputError("Nothing says whose key is wanted.", "Give endpoint: a name or an address.")
        known = await self._credentials.find(check_name(name))
        if known is None or known.origin is None:
            raise InputError(
                f"The credential '{name}' is bound to no server yet.", "Give endpoint, too: a name or an address."
            )
        return _Wanted(Entry(name, known.origin), known.origin)

    async def _target(self, where: str) -> tuple[Endpoint | None, Address]:
        try:
            endpoint = await self._endpoints.get(where)
        except NotFoundError:
            if "." not in where and ":" not in where:
                raise
            return None, parse_address(where)
        return endpoint, parse_address(endpoint.url)

    @staticmethod
    def _answer(state: RequestState, wanted: _Wanted, page: EntryPage | None = None) -> KeyRequest:
        endpoint = wanted.entry.endpoint
        return KeyRequest(state, wanted.reference, wanted.origin, endpoint.name if endpoint else None, page)


def _usual_name(endpoint: Endpoint | None, address: Address) -> str:
    if endpoint is not None:
        return stored_name(endpoint.credential_ref) or name_after(endpoint.name)
    return name_after(f"{address.host}-{address.port}")


def _is_good(known: CredentialView, wanted: _Wanted) -> bool:
    """Whether a key is there that the server has not refused."""
    endpoint = wanted.entry.endpoint
    refused = endpoint is not None and endpoint.credential_ref == known.reference and endpoint.state == "no_access"
    return known.state == "set" and known.origin == wanted.origin and not refused


def _is_here(address: Address) -> bool:
    return is_loopback(address.host)
