"""Making one model ready on one endpoint, and giving its memory back."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from llmbench_mcp.domain.chat import ChatRequest, Sampling
from llmbench_mcp.domain.endpoint import Endpoint, Resident, ServerInfo
from llmbench_mcp.domain.errors import EndpointError, EndpointTimeout, IdentityError, ServerFault
from llmbench_mcp.domain.ports import Backend, Clock

log = logging.getLogger(__name__)

RELEASE_WAIT_S = 30.0
LOAD_WAIT_S = 300.0
_POLL_S = 0.25


class StillHeldError(ServerFault):
    """A model asked to leave is still listed: loading on top of it is refused."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The model answers. ``load_s`` is the time until it did; ``residency`` says how sure its place is."""

    load_s: float
    residency: str


class Residency:
    """Loads, evicts and unloads; remembers what this program loaded, and touches nothing else."""

    def __init__(self, clock: Clock, load_wait_s: float = LOAD_WAIT_S, release_wait_s: float = RELEASE_WAIT_S) -> None:
        self._clock = clock
        self._load_wait_s = load_wait_s
        self._release_wait_s = release_wait_s
        self._ours: set[tuple[str, str]] = set()

    async def prepare(self, backend: Backend, endpoint: Endpoint, served_name: str) -> Ready:
        """Load the model where the server can, prove that it is there, and warm it up.

        Raises:
            StillHeldError: an evicted model did not leave in time.
            IdentityError: the server does not list the model after loading it.
            EndpointError: the server failed.
        """
        started = self._clock.monotonic()
        info = await backend.inspect()
        residents = await backend.residents()
        if info.can_load and not _holds(residents, served_name):
            await self._make_room(backend, endpoint, info, residents or ())
            await backend.load(served_name)
            self._ours.add((endpoint.id, served_name))
            residents = await backend.residents()
        if residents is not None and not _holds(residents, served_name):
            raise IdentityError(
                f"{endpoint.name} does not list {served_name!r} as loaded.", "See model_list and the server's log."
            )
        await self._warm_up(backend, served_name)
        residency = "verified" if residents is not None else "unverified: the server does not say what is loaded"
        return Ready(round(self._clock.monotonic() - started, 3), residency)

    async def _warm_up(self, backend: Backend, served_name: str) -> None:
        request = ChatRequest(served_name, "Hi", sampling=Sampling(max_tokens=1))
        try:
            done = await backend.chat(request, total_s=self._load_wait_s, stall_s=self._load_wait_s)
        except EndpointTimeout as error:
            raise EndpointTimeout(
                f"{served_name!r} gave no first token within {self._load_wait_s:.0f} s.",
                "See the server's log; a model that loads slower wants a larger LLMBENCH_LOAD_TIMEOUT_S.",
            ) from error
        if done.error:
            raise ServerFault(f"The warm-up request failed: {done.error}")

    async def _make_room(
        self, backend: Backend, endpoint: Endpoint, info: ServerInfo, residents: Sequence[Resident]
    ) -> None:
        if not info.can_unload:
            return
        for resident in residents:
            if endpoint.evict == "any" or (endpoint.id, resident.served_name) in self._ours:
                await self._unload(backend, endpoint, resident)

    async def release(self, backend: Backend, endpoint: Endpoint, served_name: str) -> None:
        """Unload what we loaded; a model somebody else loaded stays."""
        if (endpoint.id, served_name) not in self._ours:
            return
        try:
            for resident in await backend.residents() or ():
                if resident.served_name == served_name:
                    await self._unload(backend, endpoint, resident)
        except EndpointError as error:
            log.warning("%s could not be unloaded from %s: %s", served_name, endpoint.name, error)

    async def _unload(self, backend: Backend, endpoint: Endpoint, resident: Resident) -> None:
        await backend.unload(resident)
        until = self._clock.monotonic() + self._release_wait_s
        while _holds(await backend.residents(), resident.served_name, resident.instance_id):
            if self._clock.monotonic() >= until:
                held = "" if resident.memory_bytes is None else f" ({resident.memory_bytes / 1e9:.1f} GB)"
                raise StillHeldError(
                    f"{resident.served_name!r}{held} is still loaded on {endpoint.name} "
                    f"{self._release_wait_s:.0f} s after it was asked to leave.",
                    "Unload it by hand or restart the server, then start the run again.",
                )
            await self._clock.sleep(_POLL_S)
        self._ours.discard((endpoint.id, resident.served_name))


def _holds(residents: Sequence[Resident] | None, served_name: str, instance_id: str | None = None) -> bool:
    return any(
        resident.served_name == served_name and (instance_id is None or resident.instance_id == instance_id)
        for resident in residents or ()
    )
