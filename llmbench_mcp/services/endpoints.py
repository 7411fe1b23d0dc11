"""Endpoints: add by any form of address, look at them, ask one a question, remove."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio

from llmbench_mcp.config import Settings
from llmbench_mcp.domain.address import Address, is_agent_reachable, is_loopback, parse_address
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.credential import CredentialState
from llmbench_mcp.domain.endpoint import Adder, Endpoint, EvictPolicy, Resident, ServerInfo
from llmbench_mcp.domain.errors import ConflictError, EndpointError, EndpointTimeout, InputError, NotFoundError
from llmbench_mcp.domain.ids import endpoint_id, served_endpoint_id
from llmbench_mcp.domain.ports import Backend, BackendFactory, DeviceReader
from llmbench_mcp.domain.text import nearest, one_line
from llmbench_mcp.services.credentials import Credentials
from llmbench_mcp.store.endpoints import EndpointStore

_LOOK_S = 5.0
_DEVICE = re.compile(r"[a-z]{1,16}(:[A-Za-z0-9._:\[\]-]{1,128})?")


@dataclass(frozen=True, slots=True)
class NewEndpoint:
    """What a caller says of an endpoint; None means find out or use the default."""

    url: str
    name: str | None = None
    backend: str | None = None
    device: str | None = None
    credential_ref: str | None = None
    concurrency: int = 1
    by_agent: bool = False
    evict: EvictPolicy | None = None


@dataclass(frozen=True, slots=True)
class EndpointView:
    """An endpoint and what a look at it just now found; ``residents`` None when the server cannot say.

    ``credential``: the state of the one it names, None where it names none.
    """

    endpoint: Endpoint
    residents: Sequence[Resident] | None = None
    error: str | None = None
    credential: CredentialState | None = None


class Endpoints:
    """Use cases about endpoints."""

    def __init__(
        self,
        store: EndpointStore,
        backends: BackendFactory,
        devices: DeviceReader,
        credentials: Credentials,
        settings: Settings,
    ) -> None:
        self._store = store
        self._backends = backends
        self._devices = devices
        self._credentials = credentials
        self._settings = settings

    async def add(self, new: NewEndpoint) -> tuple[Endpoint, bool]:
        """Add an endpoint that answers now, or refresh the one already at that address.

        Returns the endpoint and whether it is new.

        Raises:
            InputError: bad address, name, backend or credential reference; an address an agent may not add.
            ConflictError: the name belongs to another address.
            EndpointError: nothing usable answers there.
        """
        address = parse_address(new.url)
        self._check(new)
        if new.by_agent:
            await self._check_agent_may(address)
        if new.credential_ref is not None:
            await self._credentials.check(new.credential_ref, address.origin, new.by_agent)
        known = await self._store.find(address.base)
        named = await self._store.find(new.name) if new.name else None
        if named is not None and (known is None or named.id != known.id):
            raise ConflictError(
                f"The name {named.name!r} belongs to {named.url}.", "Choose another name or remove that endpoint first."
            )
        reference = new.credential_ref or (known.credential_ref if known else None)
        info = await self._identify(address, new, reference)
        known = await self._store.find(address.base)  # as it is now: the server took its time
        if known is not None:
            return await self._refresh(known, new, info), False
        device = new.device or await self._device_of(address)
        endpoint = Endpoint(
            id=endpoint_id(address.base),
            name=new.name or await self._free_name(info.backend, address),
            url=address.base,
            backend=info.backend,
            device=device,
            credential_ref=new.credential_ref,
            concurrency=new.concurrency,
            evict=new.evict or "own",
            added_by="agent" if new.by_agent else "person",
            server_version=info.version,
            reachable=True,
        )
        try:
            await self._store.insert(endpoint)
        except ConflictError:
            # Somebody added the same address while the server was asked.
            other = await self._store.find(address.base)
            if other is None:
                raise
            return await self._refresh(other, new, info), False
        return await self.get(endpoint.id), True

    async def serve(self, name: str, url: str, backend: str, server_version: str | None) -> Endpoint:
        """Point the endpoint of a server that this program starts itself at where that server is now.

        It is known by the id made of ``name``, whatever a person has called it since; added when unknown, under
        ``name`` or, where another endpoint has that, the next free one. Raises ConflictError when another endpoint is
        at that address.
        """
        address = parse_address(url)
        own = served_endpoint_id(name)
        facts = {"backend": backend, "server_version": server_version, "reachable": True}
        if await self._store.find(own) is None:
            free, device = await self._unused(name), await self._device_of(address)
            try:
                await self._store.insert(Endpoint(own, free, address.base, device=device, **facts))  # type: ignore[arg-type]  # a dict of mixed kinds
            except ConflictError:
                # Another that starts at the same time may have added it; then this one moves it.
                if await self._store.find(own) is None:
                    raise
        await self._store.change(own, lambda now: replace(_at(now, address), **facts))  # type: ignore[arg-type]  # as above
        return await self.get(own)

    def _check(self, new: NewEndpoint) -> None:
        if new.name is not None and one_line(new.name, 64) != new.name:
            raise InputError(
                "The endpoint name is too long or has unusual characters.", "Use up to 64 plain characters."
            )
        if new.name is not None and (not new.name or "@" in new.name):
            raise InputError("The endpoint name is empty or has an @ in it.", "Use another name.")
        if new.backend is not None and new.backend not in self._backends.names():
            raise InputError(
                f"There is no backend '{one_line(new.backend, 40)}'.",
                f"Use one of: {', '.join(self._backends.names())}.",
            )
        if new.device is not None and not _DEVICE.fullmatch(new.device):
            raise InputError("That is no device.", "Name it as gpu (gpu_stats) does: cpu, remote, nvidia:0, amd:1.")
        if not 1 <= new.concurrency <= 64:
            raise InputError(f"Concurrency {new.concurrency} is out of range.", "Use 1 to 64.")

    async def _check_agent_may(self, address: Address) -> None:
        if self._settings.agent_any_address:
            return
        if not is_agent_reachable(await _resolve(address)):
            raise InputError(
                f"{address.origin} is not on this machine or a private network; agents may add only those.",
                "Ask the person to run: llmbench-mcp endpoint add URL (or set LLMBENCH_AGENT_ANY_ADDRESS=1).",
            )

    async def _identify(self, address: Address, new: NewEndpoint, credential_ref: str | None) -> ServerInfo:
        if new.backend is None:
            return await self._backends.detect(address.base, credential_ref, new.by_agent)
        adder: Adder = "agent" if new.by_agent else "person"
        trial = Endpoint("trial", "trial", address.base, new.backend, credential_ref=credential_ref, added_by=adder)
        opened = self._backends.open(trial)
        try:
            return await opened.inspect()
        finally:
            await opened.aclose()

    async def _refresh(self, known: Endpoint, new: NewEndpoint, info: ServerInfo) -> Endpoint:
        await self._store.change(known.id, lambda now: _renewed(now, new, info))
        return await self.get(known.id)

    async def _device_of(self, address: Address) -> str:
        if not is_loopback(address.host):
            return "remote"
        devices = await self._devices.read()
        return devices[0].id if devices else "cpu"

    async def _free_name(self, backend: str, address: Address) -> str:
        return await self._unused(f"{backend}-{address.port if is_loopback(address.host) else address.host}")

    async def _unused(self, base: str) -> str:
        taken = {endpoint.name for endpoint in await self._store.all()}
        names = [base, *(f"{base}-{n}" for n in range(2, len(taken) + 3))]
        return next(name for name in names if name not in taken)

    async def get(self, key: str) -> Endpoint:
        """By name, id or address. Raises NotFoundError with the nearest names."""
        found = await self._store.find(key)
        if found is None and ("://" in key or ":" in key):
            try:
                found = await self._store.find(parse_address(key).base)
            except InputError:
                found = None
        if found is not None:
            return found
        names = [endpoint.name for endpoint in await self._store.all()]
        hint = (
            f"Known endpoints: {', '.join(nearest(key, names))}."
            if names
            else "No endpoint is known: call endpoint_add (endpoint add) first."
        )
        raise NotFoundError(f"There is no endpoint '{one_line(key, 80)}'.", hint, nearest(key, names))

    async def views(self, look: bool = False) -> list[EndpointView]:
        """Every endpoint; with ``look`` each is asked now, concurrently, each with its own time limit.

        One that is removed meanwhile is left out.
        """
        endpoints = await self._store.all()
        states = await self._credentials.states()
        views = {
            endpoint.id: EndpointView(
                endpoint, error=endpoint.last_error, credential=states.get(endpoint.credential_ref or "")
            )
            for endpoint in endpoints
        }
        if not look:
            return list(views.values())

        async def one(endpoint: Endpoint) -> None:
            found = await self._look(endpoint)
            if (now := await self._store.find(endpoint.id)) is None:
                del views[endpoint.id]
            else:
                views[endpoint.id] = replace(found, endpoint=now, credential=views[endpoint.id].credential)

        async with anyio.create_task_group() as group:
            for endpoint in endpoints:
                group.start_soon(one, endpoint)
        return list(views.values())

    async def _look(self, endpoint: Endpoint) -> EndpointView:
        backend = self._backends.open(endpoint)
        try:
            with anyio.fail_after(_LOOK_S):
                info = await backend.inspect()
                residents = await backend.residents()
        except EndpointError as error:
            await self._store.failed(endpoint.id, error.what, error.word)
            return EndpointView(endpoint, error=str(error))
        except TimeoutError:
            silent = EndpointTimeout(f"{endpoint.url} did not answer within {_LOOK_S:.0f} s.")
            await self._store.failed(endpoint.id, silent.what, silent.word)
            return EndpointView(endpoint, error=silent.what)
        finally:
            await backend.aclose()
        await self._store.seen(endpoint.id, info.version)
        return EndpointView(endpoint, residents)

    async def remove(self, key: str) -> Endpoint:
        """Forget an endpoint; its results stay. Raises NotFoundError, ConflictError while jobs are open."""
        endpoint = await self.get(key)
        await self._store.remove(endpoint)
        return endpoint

    async def probe(self, where: str, request: ChatRequest, credential_ref: str | None = None) -> Completion:
        """Ask one question of a server that need not be known. Raises InputError or EndpointError."""
        backend = await self._open_any(where, credential_ref)
        limits = (self._settings.total_timeout_s, self._settings.stall_timeout_s)
        try:
            return await backend.chat(request, total_s=limits[0], stall_s=limits[1])
        finally:
            await backend.aclose()

    async def offered(self, where: str, credential_ref: str | None = None) -> list[str]:
        """Names of the models of a server that need not be known. Raises InputError or EndpointError."""
        backend = await self._open_any(where, credential_ref)
        try:
            return sorted(model.served_name for model in await backend.list_models())
        finally:
            await backend.aclose()

    async def _open_any(self, where: str, credential_ref: str | None) -> Backend:
        known = await self._store.find(where) or await self._store.find(parse_address(where).base)
        if credential_ref is not None:
            origin = parse_address(known.url if known else where).origin
            await self._credentials.check(credential_ref, origin, by_agent=False)
        if known is None:
            url = parse_address(where).base
            info = await self._backends.detect(url, credential_ref)
            known = Endpoint("probe", "probe", url, info.backend)
        return self._backends.open(replace(known, credential_ref=credential_ref or known.credential_ref))


def _renewed(known: Endpoint, new: NewEndpoint, info: ServerInfo) -> Endpoint:
    return replace(
        known,
        name=new.name or known.name,
        backend=info.backend,
        device=new.device or known.device,
        credential_ref=new.credential_ref or known.credential_ref,
        concurrency=new.concurrency if new.concurrency != 1 else known.concurrency,
        evict=new.evict or known.evict,
        added_by=known.added_by if new.by_agent else "person",  # whom a person names once more is a person's
        server_version=info.version,
        reachable=True,
    )


def _at(endpoint: Endpoint, address: Address) -> Endpoint:
    """The endpoint at another address; its credential is not taken to another origin."""
    stays = parse_address(endpoint.url).origin == address.origin
    return replace(endpoint, url=address.base, credential_ref=endpoint.credential_ref if stays else None)


async def _resolve(address: Address) -> list[str]:
    try:
        found = await anyio.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        shown = one_line(address.host, 80)
        raise InputError(f"The host '{shown}' cannot be resolved.", "Check the spelling.") from error
    return [str(item[4][0]).split("%")[0] for item in found]
