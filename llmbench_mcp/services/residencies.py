"""What is loaded where, and loading or unloading one model by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from llmbench_mcp.domain.endpoint import Endpoint, Resident
from llmbench_mcp.domain.errors import ConflictError, DeviceBusy, EndpointError
from llmbench_mcp.domain.model import Model
from llmbench_mcp.domain.ports import Backend
from llmbench_mcp.engine.device_lock import device_lock
from llmbench_mcp.engine.residency import Parts, Place, Ready, Residency
from llmbench_mcp.services.endpoints import Endpoints
from llmbench_mcp.services.models import Models
from llmbench_mcp.store.leases import LeaseStore
from llmbench_mcp.store.residency import OwnLoad


@dataclass(frozen=True, slots=True)
class ResidentView:
    """A loaded model. ``own``: this program loaded it."""

    endpoint: str
    device: str
    resident: Resident
    own: bool


@dataclass(frozen=True, slots=True)
class Residents:
    """What is loaded now; ``silent`` says, by endpoint, why nothing is known of it."""

    loaded: Sequence[ResidentView]
    silent: dict[str, str]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model loaded by hand: where, how long it took, how sure its place is."""

    model: str
    endpoint: str
    ready: Ready


class Residencies:
    """Use cases about device memory. A device on which a run works is left alone."""

    def __init__(self, parts: Parts, leases: LeaseStore, endpoints: Endpoints, models: Models) -> None:
        self._parts = parts
        self._leases = leases
        self._endpoints = endpoints
        self._models = models

    async def own(self) -> list[OwnLoad]:
        """What this program loaded and has not seen leave."""
        return await self._parts.store.own()

    async def view(self) -> Residents:
        """Ask every endpoint what it has loaded, concurrently."""
        own = {load.key for load in await self._parts.store.own()}
        loaded: list[ResidentView] = []
        silent: dict[str, str] = {}
        for view in await self._endpoints.views(look=True):
            endpoint = view.endpoint
            if view.error or view.residents is None:
                silent[endpoint.name] = view.error or "the server does not say what is loaded"
            for one in view.residents or ():
                ours = (endpoint.id, one.served_name) in own
                loaded.append(ResidentView(endpoint.name, endpoint.device, one, ours))
        return Residents(loaded, silent)

    async def load(self, model_key: str, endpoint_key: str | None = None) -> Loaded:
        """Load a model and leave it loaded; evicts only what this program loaded, unless the endpoint's policy is any.

        Raises:
            NotFoundError, ConflictError: as for the model and endpoint; ConflictError when it has no place to go.
            DeviceBusy: a run uses the device.
            StillHeld, DoesNotFit, EndpointError: as Residency.prepare.
        """
        model, endpoint = await self._where(model_key, endpoint_key)
        home = model.home_at(endpoint.id)
        assert home is not None, "found by its homes"
        async with self._locked(endpoint) as (room, backend):
            ready = await room.prepare(Place(backend, home.served_name, model.size_bytes, model.digest, keep=True))
        return Loaded(home.served_name, endpoint.name, ready)

    async def unload(self, model_key: str, endpoint_key: str | None = None) -> str:
        """Unload a model, whoever loaded it, and see it leave; returns how sure that is.

        Raises:
            ConflictError: it is not loaded there. DeviceBusy, StillHeld, EndpointError: as ``load``.
        """
        model, endpoint = await self._where(model_key, endpoint_key)
        home = model.home_at(endpoint.id)
        assert home is not None, "found by its homes"
        async with self._locked(endpoint) as (room, backend):
            return await room.unload_by_hand(backend, home.served_name)

    async def _where(self, model_key: str, endpoint_key: str | None) -> tuple[Model, Endpoint]:
        named = await self._endpoints.get(endpoint_key) if endpoint_key else None
        model = await self._models.resolve(model_key, named)
        present = [home.endpoint_id for home in model.homes if home.present]
        wanted = named.id if named else model.assigned_endpoint_id or (present[0] if len(present) == 1 else None)
        if wanted in present and wanted is not None:
            return model, await self._endpoints.get(wanted)
        homes = ", ".join(home.endpoint_name for home in model.homes if home.present) or "no endpoint now"
        raise ConflictError(f"{model.name!r} is offered by: {homes}.", "Name one of them as the endpoint.")

    @asynccontextmanager
    async def _locked(self, endpoint: Endpoint) -> AsyncIterator[tuple[Residency, Backend]]:
        ttl_s = self._parts.settings.lease_s
        backend = self._parts.backends.open(endpoint)
        failed: EndpointError | DeviceBusy | ConflictError | None = None
        try:
            async with device_lock(self._leases, self._parts.clock, endpoint.device, endpoint.id, ttl_s) as lease:
                try:
                    yield Residency(self._parts, lease), backend
                except (EndpointError, ConflictError) as error:
                    failed = error  # leaves the lock's task group bare, not in a group of exceptions
        finally:
            with anyio.move_on_after(5, shield=True):
                await backend.aclose()
        if failed is not None:
            raise failed
