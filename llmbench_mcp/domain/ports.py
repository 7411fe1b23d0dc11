"""The few interfaces with two or more real implementations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.credential import Asked, PageState, Place
from llmbench_mcp.domain.endpoint import Endpoint, OfferedModel, Resident, ServerInfo
from llmbench_mcp.domain.hardware import Device, Energy


class Backend(Protocol):
    """One inference server, spoken to in its own dialect. Every method may raise EndpointError subclasses."""

    endpoint: Endpoint

    async def inspect(self) -> ServerInfo:
        """Version and abilities; raises ProtocolError when another kind of server answers."""
        ...

    async def list_models(self) -> Sequence[OfferedModel]:
        """All models the server offers, loaded or not."""
        ...

    async def residents(self) -> Sequence[Resident] | None:
        """Models loaded now; None when the server cannot say."""
        ...

    async def load(self, served_name: str, context_length: int | None = None) -> None:
        """Load and wait until loaded; returns at once when the server cannot load on request.

        ``context_length``: tokens of context to load with; a server that cannot choose ignores it.
        """
        ...

    async def unload(self, resident: Resident) -> None:
        """Ask for one instance to be unloaded; proof is the caller's business."""
        ...

    async def chat(self, request: ChatRequest, *, total_s: float, stall_s: float) -> Completion:
        """Ask once, streaming; raises EndpointError when no usable answer came.

        A stream that breaks after text has arrived returns a Completion with ``error`` set or
        ``complete`` False, so that the text is kept.
        """
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...


@runtime_checkable
class Embeds(Protocol):
    """A backend that also asks for embeddings."""

    async def embed(
        self, model: str, texts: Sequence[str], *, total_s: float, input_type: str | None = None
    ) -> Sequence[Sequence[float]]:
        """One vector for each text, in order. ``input_type`` is for the few models that want one.

        Raises EndpointError subclasses.
        """
        ...


@runtime_checkable
class Reranks(Protocol):
    """A backend that also asks for a ranking of documents."""

    async def rerank(self, model: str, query: str, documents: Sequence[str], *, total_s: float) -> Sequence[float]:
        """How well each document answers the query, in the documents' order. Raises EndpointError subclasses."""
        ...


@runtime_checkable
class Sees(Protocol):
    """A backend that also asks about a picture."""

    async def chat_about(self, request: ChatRequest, png: bytes, *, total_s: float, stall_s: float) -> Completion:
        """As ``chat``, the picture (a PNG file) sent after the prompt."""
        ...


@runtime_checkable
class TellsWork(Protocol):
    """A backend whose server says how much it is doing."""

    async def at_work(self, served_name: str) -> int | None:
        """How many requests that model answers now; None when the server does not say. Raises EndpointError."""
        ...


class BackendFactory(Protocol):
    """Opens backends and finds out which one a server needs."""

    def open(self, endpoint: Endpoint) -> Backend:
        """A backend for that endpoint. Raises SetupError for an unknown backend name."""
        ...

    async def detect(self, url: str, credential_ref: str | None = None, by_agent: bool = False) -> ServerInfo:
        """Which backend serves at that base URL, looked at on an agent's behalf or not. Raises EndpointError."""
        ...

    def names(self) -> Sequence[str]:
        """The backend names installed."""
        ...


class DeviceReader(Protocol):
    """Reads devices; never raises for a missing driver: the reason is in ``Device.unknown``."""

    async def read(self) -> Sequence[Device]:
        """All devices of this machine, the CPU's memory last of them, then those of other machines."""
        ...


class EnergyCounter(Protocol):
    """Reads one device's energy counter, quickly and alone; never raises for a missing one."""

    async def energy(self, device_id: str) -> Energy:
        """The counter in joules now, or why there is none."""
        ...


class ProcessOwners(Protocol):
    """Tells which local server a process belongs to."""

    async def owners(self, pids: Collection[int], ports: Collection[int]) -> Mapping[int, int]:
        """By pid, the port of these that it, or a process that started it, listens on; unknown ones are absent."""
        ...


class Clock(Protocol):
    """Time, injected so that tests need not wait."""

    def monotonic(self) -> float:
        """Seconds since this machine's boot-time origin, the same in every process of one boot."""
        ...

    def utc_now(self) -> str:
        """ISO 8601 UTC with milliseconds, e.g. ``2026-01-31T12:00:00.000Z``."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait, cancellably."""
        ...


@runtime_checkable
class CountsSleep(Protocol):
    """A clock that can also count the time that the machine slept, where ``monotonic`` stands still meanwhile."""

    def since_boot(self) -> float:
        """Seconds that went by since boot, asleep or awake."""
        ...


class KeyStore(Protocol):
    """Keeps the keys that persons enter, and shows none of them."""

    async def where(self) -> str:
        """Where the next key entered will lie, for showing."""
        ...

    async def take(self, name: str, key: str) -> tuple[Place, str]:
        """Keep what was entered under a name; returns its place and the slot it is found by there.

        Raises InputError when it is no key, SetupError or StorageError when it cannot be kept.
        """
        ...

    async def trouble(self, place: Place, slot: str) -> str | None:
        """Why the key there cannot be read; None when it can."""
        ...

    async def delete(self, place: Place, slot: str) -> None:
        """Take a key away, if it is there. Raises SetupError or StorageError."""
        ...

    def is_set(self, reference: str) -> bool:
        """Whether an environment variable named so holds a key."""
        ...


class EntryPage(Protocol):
    """A page at which a person may enter one key, once."""

    asked: Asked
    state: PageState
    url: str
    id: str

    async def over(self, wait_s: float) -> bool:
        """Whether it is over, at the latest ``wait_s`` seconds from now."""
        ...

    async def aclose(self) -> None:
        """Close it."""
        ...


class PageOpener(Protocol):
    """Opens a page; ``store`` gets what was entered and raises InputError for what is no key."""

    async def __call__(self, asked: Asked, store: Callable[[str], Awaitable[None]]) -> EntryPage:
        """Raises StorageError when no page can be opened."""
        ...


class CredentialChecker(Protocol):
    """Says whether a credential reference may be used; never sees or returns the secret to the caller."""

    def __call__(self, ref: str, by_agent: bool) -> object:
        """Raises InputError for a bad reference, SetupError for one that leads to nothing."""
        ...
