"""Inference servers as this program knows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

BackendName = str
EvictPolicy = Literal["own", "any"]
Adder = Literal["person", "agent"]
EndpointState = Literal["unknown", "reachable", "unreachable", "no_access"]

HOSTED = "remote"
"""The device of servers on somebody else's machine: no memory of ours, and no lock between them."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One inference server instance.

    ``device`` is the memory its models load into (``nvidia:0``, ``cpu``, ``remote``, ...).
    ``credential_ref`` names a secret (``env:LLMBENCH_KEY_X``) and never holds one.
    """

    id: str
    name: str
    url: str
    backend: BackendName
    device: str = "cpu"
    credential_ref: str | None = None
    concurrency: int = 1
    evict: EvictPolicy = "own"
    added_by: Adder = "person"
    server_version: str | None = None
    reachable: bool | None = None
    last_seen: str | None = None
    last_error: str | None = None
    last_error_kind: str | None = None

    @property
    def state(self) -> EndpointState:
        """``no_access``: it answers, and refuses the credential or the lack of one."""
        if self.reachable is None:
            return "unknown"
        if self.reachable:
            return "reachable"
        return "no_access" if self.last_error_kind == "auth" else "unreachable"


@dataclass(frozen=True, slots=True)
class Resident:
    """A model loaded in an endpoint's memory now, as the server reports it; None where it does not say.

    ``memory_bytes`` is all it takes, ``device_bytes`` the part of it on the device: less means that some
    layers run on the CPU. ``context_length`` is the context in force, in tokens.
    """

    served_name: str
    instance_id: str | None = None
    memory_bytes: int | None = None
    device_bytes: int | None = None
    digest: str | None = None
    context_length: int | None = None
    expires_at: str | None = None


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a backend learnt about a server: its version and what it can do with memory."""

    backend: BackendName
    version: str | None = None
    can_load: bool = False
    can_unload: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """One model in a server's list. None means the server does not say.

    ``remote`` models run on somebody else's machine and take no memory here. ``guessed`` names the fields
    that were read out of the model's name because the server is silent about them. ``adapter_of`` is the served
    name of the model that this one is a LoRA adapter on, in whose memory it lives.
    """

    served_name: str
    digest: str | None = None
    family: str | None = None
    parameter_count: int | None = None
    quantisation: str | None = None
    size_bytes: int | None = None
    context_length: int | None = None
    capabilities: tuple[str, ...] = ()
    remote: bool = False
    guessed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())
    adapter_of: str | None = None

    def believable(self) -> OfferedModel:
        """The same without figures beyond 64 bits, which no model has and no database holds."""
        return replace(
            self,
            parameter_count=_storable(self.parameter_count),
            size_bytes=_storable(self.size_bytes),
            context_length=_storable(self.context_length),
        )


def _storable(figure: int | None) -> int | None:
    return figure if figure is not None and abs(figure) < 1 << 63 else None


class ModelList(list[OfferedModel]):
    """A server's list of models with remarks about the list itself, which are lost on nobody when it is empty."""

    def __init__(self, models: Iterable[OfferedModel] = (), warnings: Iterable[str] = ()) -> None:
        super().__init__(models)
        self.warnings = tuple(warnings)
