"""Models: one set of weights, where it can run, and where it is assigned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

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


@dataclass(frozen=True, slots=True)
class Home:
    """An endpoint that offers the model, and under which name."""

    endpoint_id: str
    endpoint_name: str
    served_name: str
    present: bool = True


@dataclass(frozen=True, slots=True)
class Model:
    """One model; ``digest`` is None where no server gave one, and then it is known by endpoint and name."""

    id: str
    name: str
    status: ModelStatus = "new"
    digest: str | None = None
    family: str | None = None
    parameter_count: int | None = None
    quantisation: str | None = None
    size_bytes: int | None = None
    context_length: int | None = None
    capabilities: tuple[str, ...] = ()
    homes: tuple[Home, ...] = ()
    assigned_endpoint_id: str | None = None
    status_reason: str | None = None
    first_seen: str | None = None
    last_seen: str | None = None

    def home_at(self, endpoint_id: str) -> Home | None:
        """The home at that endpoint, if it has one."""
        return next((home for home in self.homes if home.endpoint_id == endpoint_id), None)


@dataclass(frozen=True, slots=True)
class DiscoveryReport:
    """What one look at one endpoint changed; names are served names."""

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
