"""The few interfaces with two or more real implementations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.endpoint import Endpoint, OfferedModel, Resident, ServerInfo
from llmbench_mcp.domain.hardware import Device


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

    async def load(self, served_name: str) -> None:
        """Load and wait until loaded; returns at once when the server cannot load on request."""
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


class BackendFactory(Protocol):
    """Opens backends and finds out which one a server needs."""

    def open(self, endpoint: Endpoint) -> Backend:
        """A backend for that endpoint. Raises SetupError for an unknown backend name."""
        ...

    async def detect(self, url: str, credential_ref: str | None = None) -> ServerInfo:
        """Which backend serves at that base URL. Raises EndpointError subclasses."""
        ...

    def names(self) -> Sequence[str]:
        """The backend names installed."""
        ...


class DeviceReader(Protocol):
    """Reads devices; never raises for a missing driver: the reason is in ``Device.unknown``."""

    async def read(self) -> Sequence[Device]:
        """All devices of this machine, the CPU's memory last."""
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


class CredentialChecker(Protocol):
    """Says whether a credential reference may be used; never sees or returns the secret to the caller."""

    def __call__(self, ref: str, by_agent: bool) -> object:
        """Raises InputError for a bad reference, SetupError for one that leads to nothing."""
        ...
