"""Models: one set of weights, where it can run, and where it is assigned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from llmbench_mcp.domain.capability import Capability, present

ModelStatus = Literal[
    "new",
    "active",
    "unstable",
    "not_available",
    "incompatible",
    "unsupported",
    "failed",
    "disabled",
    "missing",
]

TROUBLED: tuple[ModelStatus, ...] = ("unstable", "not_available", "incompatible", "unsupported", "failed")
"""Statuses that a model earned by how it behaved, and loses by behaving well."""

ToolCalling = Literal["unknown", "native", "text", "none"]
"""How a server returned a call when given a tool: as a call, as text only, or not at all."""


@dataclass(frozen=True, slots=True)
class Home:
    """An endpoint that offers the model, and under which name.

    ``pinned`` homes were registered by hand and stay when the server does not list them. ``remote`` ones are
    forwarded by the server to another machine. ``tools`` is what the tools check saw there.
    """

    endpoint_id: str
    endpoint_name: str
    served_name: str
    present: bool = True
    pinned: bool = False
    remote: bool = False
    tools: ToolCalling = "unknown"


@dataclass(frozen=True, slots=True)
class Model:
    """One model; ``digest`` is None where no server gave one, and then it is known by endpoint and name.

    ``guessed`` names the fields read out of the name, ``pinned`` those set by hand.
    """

    id: str
    name: str
    status: ModelStatus = "new"
    digest: str | None = None
    family: str | None = None
    parameter_count: int | None = None
    quantisation: str | None = None
    size_bytes: int | None = None
    context_length: int | None = None
    known_capabilities: tuple[Capability, ...] = ()
    guessed: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    homes: tuple[Home, ...] = ()
    assigned_endpoint_id: str | None = None
    status_reason: str | None = None
    first_seen: str | None = None
    last_seen: str | None = None

    @property
    def capabilities(self) -> tuple[str, ...]:
        """What it can do; empty where nothing is known."""
        return present(self.known_capabilities)

    @property
    def is_remote(self) -> bool:
        """Whether every endpoint that offers it now forwards to another machine."""
        here = [home for home in self.homes if home.present]
        return bool(here) and all(home.remote for home in here)

    def home_at(self, endpoint_id: str) -> Home | None:
        """The home at that endpoint, if it has one; of several the one offered now."""
        there = [home for home in self.homes if home.endpoint_id == endpoint_id]
        return next((home for home in there if home.present), there[0] if there else None)


@dataclass(frozen=True, slots=True)
class PastJob:
    """What one run found of a model in one suite: ``passed`` of ``done`` graded attempts."""

    run_id: str
    suite: str
    endpoint: str
    state: str
    passed: int
    done: int
    created_at: str


@dataclass(frozen=True, slots=True)
class ModelEvent:
    """One line of a model's history; ``kind`` is status, assigned, capability, tools, home or set."""

    at: str
    kind: str
    value: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class DiscoveryReport:
    """What one look at one endpoint changed; names are served names.

    ``new_on`` is the device assumed where looking around this machine found the server and added it. A server found
    that could not be added is reported under its address, with ``error``.
    """

    endpoint_name: str
    seen: int = 0
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str | None = None
    next_step: str = field(default="")
    new_on: str | None = None
