"""Making one model ready on one endpoint, and giving its memory back. The caller holds the device's lock."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio

from llmbench_mcp.config import Settings
from llmbench_mcp.domain.chat import ChatRequest, Sampling
from llmbench_mcp.domain.endpoint import HOSTED, Endpoint, Resident, ServerInfo
from llmbench_mcp.domain.errors import (
    ConflictError,
    EndpointError,
    EndpointTimeout,
    IdentityError,
    ServerFault,
    StillHeld,
    UnreachableError,
    WeightsChanged,
)
from llmbench_mcp.domain.ports import Backend, BackendFactory, Clock, DeviceReader
from llmbench_mcp.engine.eviction import Evictor, Rooms
from llmbench_mcp.engine.placement import Room, forecast, gib
from llmbench_mcp.store.endpoints import EndpointStore
from llmbench_mcp.store.leases import Lease
from llmbench_mcp.store.residency import ResidencyStore

log = logging.getLogger(__name__)

_LOOK_S = 5.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What residency works with."""

    clock: Clock
    backends: BackendFactory
    endpoints: EndpointStore
    devices: DeviceReader
    store: ResidencyStore
    settings: Settings


@dataclass(frozen=True, slots=True)
class Place:
    """The model wanted: on which endpoint, under which name; what is known of it. ``keep``: it stays afterwards.

    ``context_length``: tokens it must be loaded with; None: whatever it has.
    """

    backend: Backend
    served_name: str
    size_bytes: int | None = None
    digest: str | None = None
    keep: bool = False
    context_length: int | None = None

    @property
    def endpoint(self) -> Endpoint:
        """Where."""
        return self.backend.endpoint

    @property
    def key(self) -> tuple[str, str]:
        """(endpoint id, served name)."""
        return (self.endpoint.id, self.served_name)


@dataclass(frozen=True, slots=True)
class Ready:
    """The model answers. ``load_s`` is the time until it did; ``residency`` says how sure its place is.

    ``unloaded``: what had to leave for it.
    """

    load_s: float
    residency: str
    unloaded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Occupant:
    """A model loaded on the device. ``own``: this program loaded it. ``can_leave``: its server unloads on request."""

    backend: Backend
    resident: Resident
    own: bool
    can_leave: bool = True

    @property
    def key(self) -> tuple[str, str]:
        """(endpoint id, served name)."""
        return (self.backend.endpoint.id, self.resident.served_name)

    @property
    def may_leave(self) -> bool:
        """Whether the endpoint's policy lets us unload it."""
        return self.can_leave and (self.own or self.backend.endpoint.evict == "any")

    def __str__(self) -> str:
        size = self.resident.device_bytes or self.resident.memory_bytes
        amount = f" ({gib(size)})" if size else ""
        return f"{self.resident.served_name!r}{amount} on {self.backend.endpoint.name}"


@dataclass(slots=True)
class _Notes:
    """Why a residency is less than proven."""

    doubts: list[str] = field(default_factory=list)
    unloaded: list[str] = field(default_factory=list)

    def add(self, note: str) -> None:
        if note and note not in self.doubts:
            self.doubts.append(note)


class Residency:
    """Loads, evicts and unloads on one device; touches nothing that this program did not load, unless told to."""

    def __init__(self, parts: Parts, lease: Lease) -> None:
        self._parts = parts
        self._lease = lease
        self._rooms = Rooms(parts.devices, parts.settings.budgets)
        self._evictor = Evictor(parts.clock, self._rooms, parts.settings.release_wait_s)

    async def prepare(self, place: Place) -> Ready:
        """Load the model where the server can, prove that it is there, and warm it up.

        Raises:
            StillHeld: an evicted model did not leave in time.
            DoesNotFit: the device has not enough memory for it.
            IdentityError: the server does not list the model after loading it, or lists another digest.
            EndpointError: the server failed.
        """
        clock, notes = self._parts.clock, _Notes()
        started = clock.monotonic()
        info, here = await self._clear(place, notes)
        if info.can_load and not here:
            await self._load(place)
        elif here and here[0].own:
            await self._parts.store.remember(self._lease, *place.key, place.endpoint.device, place.keep)
        resident = await self._identify(place)
        await self._warm_up(place)
        await self._measure(place, resident, notes)
        took = round(clock.monotonic() - started, 3)
        return Ready(took, _label(resident is not None, notes.doubts), tuple(notes.unloaded))

    async def make_room(self, place: Place) -> None:
        """Have the device free for a model that its first request loads, and that ``release`` unloads.

        Raises as ``prepare``.
        """
        info, here = await self._clear(place, _Notes())
        if info.can_unload and not here:
            await self._parts.store.remember(self._lease, *place.key, place.endpoint.device, place.keep)

    async def _clear(self, place: Place, notes: _Notes) -> tuple[ServerInfo, list[Occupant]]:
        """Make others leave; returns what the server can, and the model itself where it is loaded already."""
        info = await place.backend.inspect()
        await self._check_held(place, notes)
        occupants = await self._occupants(place, info, notes)
        here = [occupant for occupant in occupants if occupant.key == place.key and _suits(place, occupant.resident)]
        others = [occupant for occupant in occupants if occupant not in here]
        # A server that loads but cannot be told to unload makes room by itself.
        must_fit = info.can_load and info.can_unload and not here and not self._parts.settings.partial_offload
        await self._make_room(place, others, must_fit, notes)
        return info, here

    async def _occupants(self, place: Place, info: ServerInfo, notes: _Notes) -> list[Occupant]:
        """What is loaded on the device now, at whatever server."""
        own = {load.key for load in await self._parts.store.own() if load.held_level is None}
        residents = await place.backend.residents()
        await self._forget_gone(place, residents, own)
        found = _owned(place.backend, info, residents, own)
        for endpoint in await self._parts.endpoints.all():
            if endpoint.id != place.endpoint.id and endpoint.device == place.endpoint.device != HOSTED:
                found += await self._neighbours(endpoint, own, notes)
        return found

    async def _forget_gone(self, place: Place, residents: Sequence[Resident] | None, own: set[tuple[str, str]]) -> None:
        """What we loaded there and is listed no more has left by itself."""
        if residents is None:
            return
        listed = {resident.served_name for resident in residents}
        for endpoint_id, served_name in own:
            if endpoint_id == place.endpoint.id and served_name not in listed:
                await self._parts.store.forget(self._lease, endpoint_id, served_name)

    async def _neighbours(self, endpoint: Endpoint, own: set[tuple[str, str]], notes: _Notes) -> list[Occupant]:
        backend = self._parts.backends.open(endpoint)
        try:
            return _owned(backend, *await _asked(backend), own)
        except EndpointError as error:
            if isinstance(error, UnreachableError) and error.gone:
                await self._forget_all(endpoint, own)  # a server that is gone holds nothing
                return []
            if any(endpoint_id == endpoint.id for endpoint_id, _ in own):
                raise
            notes.add(f"{endpoint.name} on the same device could not be asked: {error.what}")
        finally:
            with anyio.move_on_after(5, shield=True):
                await backend.aclose()
        return []

    async def _forget_all(self, endpoint: Endpoint, own: set[tuple[str, str]]) -> None:
        for endpoint_id, served_name in own:
            if endpoint_id == endpoint.id:
                await self._parts.store.forget(self._lease, endpoint_id, served_name)

    async def _check_held(self, place: Place, notes: _Notes) -> None:
        """Memory that had not come back when its model left: it must have by now."""
        for load in await self._parts.store.own():
            if load.held_level is None or load.device != place.endpoint.device:
                continue
            room = await self._rooms.proof(load.device)
            if room.used is None:
                notes.add(f"whether the memory of {load.served_name!r} came back could not be read: {room.unknown}")
            elif room.used > load.held_level:
                raise StillHeld(
                    f"{load.device} still holds memory of {load.served_name!r}, which its server no longer lists: "
                    f"{gib(room.used)} in use, {gib(load.held_level)} expected.",
                    "Restart that server, then run_retry (run retry).",
                )
            else:
                await self._parts.store.forget(self._lease, *load.key)

    async def _make_room(self, place: Place, others: list[Occupant], must_fit: bool, notes: _Notes) -> None:
        """Evict what may leave; with co-residency only while the model does not fit beside it."""
        need = forecast(await self._parts.store.footprint(*place.key), place.size_bytes)
        staying = [occupant for occupant in others if not occupant.may_leave]
        _refuse_to_replace(place, staying)
        for occupant in (occupant for occupant in others if occupant.may_leave):
            if self._parts.settings.co_residency and _fits(need.bytes, await self._rooms.of(place.endpoint.device)):
                staying.append(occupant)
                continue
            await self._evict(occupant, notes)
        for occupant in staying:
            notes.add(f"shares the device with {occupant}")
        if must_fit:
            held_by = [str(occupant) for occupant in staying]
            await self._evictor.until_it_fits(place.served_name, place.endpoint.device, need, held_by)

    async def _evict(self, occupant: Occupant, notes: _Notes) -> None:
        endpoint, resident = occupant.backend.endpoint, occupant.resident
        backend = self._parts.backends.open(endpoint)
        try:
            held = resident.device_bytes or resident.memory_bytes
            held = held or await self._parts.store.footprint(endpoint.id, resident.served_name)
            doubt = await self._evictor.unload(backend, resident, held)
        except StillHeld as error:
            if error.level is not None:
                await self._parts.store.held(self._lease, *occupant.key, error.level)
            raise
        finally:
            with anyio.move_on_after(5, shield=True):
                await backend.aclose()
        notes.unloaded.append(str(occupant))
        log.info("unloaded %s, %s", occupant, "loaded by this program" if occupant.own else "loaded by somebody else")
        if doubt:
            notes.add(f"that {resident.served_name!r} left was not verified by GPU: {doubt}")
        await self._parts.store.forget(self._lease, *occupant.key)

    async def _load(self, place: Place) -> None:
        # Remembered first: a load cut short by a crash is ours to clean up, too.
        await self._parts.store.remember(self._lease, *place.key, place.endpoint.device, place.keep)
        try:
            with anyio.fail_after(self._parts.settings.load_timeout_s):
                await place.backend.load(place.served_name, place.context_length)
        except TimeoutError as error:
            raise self._too_slow(place, "was not loaded") from error

    def _too_slow(self, place: Place, what: str) -> EndpointTimeout:
        return EndpointTimeout(
            f"{place.served_name!r} {what} within {self._parts.settings.load_timeout_s:.0f} s.",
            "See the server's log; a model that loads slower wants a larger LLMBENCH_LOAD_TIMEOUT_S.",
        )

    async def _identify(self, place: Place) -> Resident | None:
        """The instance that will answer; None where the server does not say what is loaded."""
        residents = await place.backend.residents()
        if residents is None:
            return None
        resident = next((one for one in residents if one.served_name == place.served_name), None)
        if resident is None:
            raise IdentityError(
                f"{place.endpoint.name} does not list {place.served_name!r} as loaded.",
                "See model_list (models) and the server's log.",
            )
        if resident.digest and place.digest and resident.digest != place.digest:
            raise WeightsChanged(
                f"{place.endpoint.name} loaded {place.served_name!r} with digest {resident.digest[:16]}, "
                f"not {place.digest[:16]}.",
                "The model was replaced: call models_discover (discover), then start the run again.",
            )
        return resident

    async def _warm_up(self, place: Place) -> None:
        wait_s = self._parts.settings.load_timeout_s
        request = ChatRequest(place.served_name, "Hi", sampling=Sampling(max_tokens=1))
        try:
            done = await place.backend.chat(request, total_s=wait_s, stall_s=wait_s)
        except EndpointTimeout as error:
            raise self._too_slow(place, "gave no first token") from error
        if done.error:
            raise ServerFault(f"The warm-up request failed: {done.error}")

    async def _measure(self, place: Place, resident: Resident | None, notes: _Notes) -> None:
        if resident is not None and not _suits(place, resident):
            notes.add(f"context {resident.context_length} instead of {place.context_length}")
        if resident is None or not resident.memory_bytes:
            return
        await self._parts.store.measured(self._lease, *place.key, resident.memory_bytes)
        on_device = resident.device_bytes
        if on_device is not None and on_device < resident.memory_bytes and place.endpoint.device != "cpu":
            share = 100 * (1 - on_device / resident.memory_bytes)
            notes.add(f"{share:.0f} % of it lies in the CPU's memory")

    async def release(self, backend: Backend, served_name: str) -> None:
        """Unload it if we loaded it; a model somebody else loaded stays, and one that was once asked to stay.

        What fails to leave stays remembered.
        """
        endpoint = backend.endpoint
        own = {load.key for load in await self._parts.store.own() if load.held_level is None and not load.keep}
        if (endpoint.id, served_name) not in own:
            return
        try:
            residents = [one for one in await backend.residents() or () if one.served_name == served_name]
            for resident in residents:
                await self._evict(Occupant(backend, resident, own=True), _Notes())
        except (StillHeld, EndpointError) as error:
            log.warning("%s could not be unloaded from %s: %s", served_name, endpoint.name, error)
            return
        if not residents:
            await self._parts.store.forget(self._lease, endpoint.id, served_name)

    async def unload_by_hand(self, backend: Backend, served_name: str) -> str:
        """Unload it whoever loaded it; returns ``verified``, with any doubt.

        Raises:
            ConflictError: it is not loaded, or the server cannot unload.
            StillHeld: it does not leave.
        """
        if not (await backend.inspect()).can_unload:
            raise ConflictError(f"{backend.endpoint.name} cannot unload models.", "Stop that server instead.")
        residents = [one for one in await backend.residents() or () if one.served_name == served_name]
        if not residents:
            raise ConflictError(
                f"{served_name!r} is not loaded on {backend.endpoint.name}.", "See model_residency (residency list)."
            )
        notes = _Notes()
        for resident in residents:
            await self._evict(Occupant(backend, resident, own=True), notes)
        return "; ".join(["no longer listed", *notes.doubts]) if notes.doubts else "verified"


def _refuse_to_replace(place: Place, staying: Sequence[Occupant]) -> None:
    """Loading with another context would throw out somebody else's instance of the same model."""
    for occupant in staying:
        if occupant.key == place.key:
            raise StillHeld(
                f"{occupant} was loaded by somebody else with a context of {occupant.resident.context_length}, "
                f"not {place.context_length}.",
                "Unload it there, leave out context_length, or let this program do so: "
                "llmbench-mcp endpoint add URL --evict any.",
            )


async def _asked(backend: Backend) -> tuple[ServerInfo, Sequence[Resident] | None]:
    with anyio.move_on_after(_LOOK_S):
        return await backend.inspect(), await backend.residents()
    raise EndpointTimeout(f"{backend.endpoint.name} did not say within {_LOOK_S:.0f} s what it has loaded.")


def _owned(
    backend: Backend, info: ServerInfo, residents: Sequence[Resident] | None, own: set[tuple[str, str]]
) -> list[Occupant]:
    endpoint_id = backend.endpoint.id
    return [Occupant(backend, one, (endpoint_id, one.served_name) in own, info.can_unload) for one in residents or ()]


def _suits(place: Place, resident: Resident) -> bool:
    """Whether it is loaded with the context asked for, as far as that is known."""
    asked, in_force = place.context_length, resident.context_length
    return asked is None or in_force is None or asked == in_force


def _fits(need: int | None, room: Room) -> bool:
    return need is not None and room.free is not None and need <= room.free


def _label(listed: bool, doubts: list[str]) -> str:
    sure = "verified" if listed else "unverified: the server does not say what is loaded"
    return "; ".join([sure, *doubts])
