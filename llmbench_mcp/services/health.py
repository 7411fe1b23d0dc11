"""Health: asks a model whether it works, and records status, capabilities and how tools are called."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from llmbench_mcp.domain.capability import Capability, Kind, kind_of
from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.errors import (
    AuthError,
    DoesNotFit,
    EndpointError,
    IdentityError,
    IncompatibleError,
    ModelNotAvailable,
    ProtocolError,
    RateLimitedError,
    StillHeld,
    UnreachableError,
)
from llmbench_mcp.domain.model import Home, Model, ModelStatus
from llmbench_mcp.domain.ports import Backend
from llmbench_mcp.engine.device_lock import device_lock
from llmbench_mcp.engine.residency import Parts, Place, Residency
from llmbench_mcp.services.checks import Check, Checker, CheckName
from llmbench_mcp.services.lent import lent
from llmbench_mcp.services.models import Models, check_local
from llmbench_mcp.store.leases import LeaseStore
from llmbench_mcp.store.models import ModelStore

_PREPARING = 3
"""Evicting, loading and warming up, each within the load time limit."""
_MAIN = ("chat", "embedding", "rerank")
_NOT_THE_MODEL = (AuthError, UnreachableError, RateLimitedError, IdentityError, DoesNotFit, StillHeld)
"""Errors about the server, the device or the moment: no evidence against the model."""
_STATUS_OF: tuple[tuple[type[EndpointError], ModelStatus], ...] = (
    (ModelNotAvailable, "not_available"),
    (IncompatibleError, "incompatible"),
    (ProtocolError, "unsupported"),
)


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """How a model did at one endpoint; ``model`` is as recorded afterwards, ``before`` its status until then."""

    model: Model
    endpoint: Endpoint
    before: ModelStatus
    checks: tuple[Check, ...]

    @property
    def is_well(self) -> bool:
        """Whether it did what it mainly is for, at each repeat."""
        return any(check.name == "stability" and check.outcome == "ok" for check in self.checks)


@dataclass(frozen=True, slots=True)
class Subject:
    """What is probed."""

    model: Model
    endpoint: Endpoint
    home: Home


class Health:
    """Use cases about whether models work. One probe at a time on a device, and none while a run uses it."""

    def __init__(self, store: ModelStore, models: Models, parts: Parts, leases: LeaseStore) -> None:
        self._store = store
        self._models = models
        self._parts = parts
        self._leases = leases

    async def probe(self, key: str, endpoint_key: str | None = None, also: Collection[CheckName] = ()) -> ProbeReport:
        """Ask the model small questions that fit its capabilities, and record what they show.

        A model that was loaded for it is unloaded again. ``also`` may hold ``vision``, for a model of which
        nobody says that it sees.

        Raises:
            NotFoundError, ConflictError: as Models.place; ConflictError for a model that runs on another machine.
            DeviceBusy: a run or another probe uses the device.
        """
        model, endpoint, home = await self._models.place(key, endpoint_key)
        check_local(model, endpoint, home)
        subject = Subject(model, endpoint, home)
        checks = await self._locked(subject, also)
        await self._record(subject, checks)
        after = await self._models.resolve(model.id)
        return ProbeReport(after, endpoint, model.status, checks)

    async def _locked(self, subject: Subject, also: Collection[CheckName]) -> tuple[Check, ...]:
        endpoint, ttl_s = subject.endpoint, self._parts.settings.lease_s
        async with (
            lent(self._parts.backends, endpoint) as backend,
            device_lock(self._leases, self._parts.clock, endpoint.device, endpoint.id, ttl_s) as lease,
        ):
            room = Residency(self._parts, lease)
            try:
                return await self._checks(subject, backend, room, also)
            finally:
                await room.release(backend, subject.home.served_name)

    async def _checks(
        self, subject: Subject, backend: Backend, room: Residency, also: Collection[CheckName]
    ) -> tuple[Check, ...]:
        done: list[Check] = []
        for kind in _kinds(subject.model):
            done.append(await self._first(subject, backend, room, kind))
            if done[-1].outcome == "ok":
                sees = "vision" in subject.model.capabilities or "vision" in also
                return (*done, *await self._further(self._checker(subject, backend), kind, sees))
            if done[-1].outcome != "cannot":
                break
        return tuple(done)

    async def _first(self, subject: Subject, backend: Backend, room: Residency, kind: Kind) -> Check:
        """The main check, after the model was given its place; what is no chat model is loaded by being asked."""
        load_s, model = self._parts.settings.load_timeout_s, subject.model
        place = Place(backend, subject.home.served_name, model.size_bytes, model.digest)
        is_chat = kind == "chat"
        check, ready = await self._checker(subject, backend, _PREPARING * load_s).asked(
            kind, lambda: room.prepare(place) if is_chat else _cleared(room, place)
        )
        if ready is None:
            return check
        asked = await self._checker(subject, backend, None if is_chat else load_s).main(kind)
        return replace(asked, retries=check.retries + asked.retries)

    async def _further(self, checker: Checker, kind: Kind, sees: bool) -> list[Check]:
        checks = [await checker.stability(kind)]
        if kind == "chat":
            checks.append(await checker.tools())
        if kind == "chat" and sees:
            checks.append(await checker.vision())
        return checks

    def _checker(self, subject: Subject, backend: Backend, limit_s: float | None = None) -> Checker:
        limit_s = limit_s or self._parts.settings.probe_timeout_s
        return Checker(backend, subject.home.served_name, self._parts.clock, limit_s)

    async def _record(self, subject: Subject, checks: Sequence[Check]) -> None:
        model_id, by_name = subject.model.id, {check.name: check for check in checks}
        for check in checks:
            if check.name != "stability":
                await self._learn(subject.model, check)
        if "tools" in by_name:
            await self._store.set_tools(model_id, subject.home, by_name["tools"].tools)
        stability = by_name.get("stability")
        if stability is None:
            await self._fault(subject, checks[-1])
            return
        retries = sum(check.retries for check in checks if check.name in (*_MAIN, "stability"))
        if stability.outcome == "ok" and not retries:
            await self._store.recover(model_id, f"probe: {stability.message}")
        elif not isinstance(stability.error, _NOT_THE_MODEL):
            reason = f"{stability.message}; asked again {retries} times in all"
            await self._store.set_status(model_id, "unstable", f"probe: {reason}")

    async def _fault(self, subject: Subject, check: Check) -> None:
        """The main check failed: about the server, about the moment, or about the model."""
        error = check.error
        if isinstance(error, AuthError | UnreachableError):
            await self._parts.endpoints.failed(subject.endpoint.id, error.what, error.word)
        if isinstance(error, _NOT_THE_MODEL) or check.outcome == "unknown":
            return
        fitting: list[ModelStatus] = [status for kind, status in _STATUS_OF if isinstance(error, kind)]
        status: ModelStatus = "incompatible" if check.outcome == "cannot" else [*fitting, "failed"][0]
        await self._store.set_status(subject.model.id, status, f"probe: {check.message}")

    async def _learn(self, model: Model, check: Check) -> None:
        """What the check shows of a capability, where nobody surer said the same already."""
        shown = _shown(check)
        known = next((fact for fact in model.known_capabilities if fact.name == check.name), None)
        agreed = known is not None and known.present is shown and known.source != "name"
        if shown is None or agreed:
            return
        await self._store.set_capability(model.id, Capability(check.name, shown, "probe"), check.message or None)


async def _cleared(room: Residency, place: Place) -> bool:
    await room.make_room(place)
    return True


def _shown(check: Check) -> bool | None:
    """Whether the model has the capability, as far as the check shows."""
    if check.name == "tools" and check.outcome == "ok":
        return True if check.tools == "native" else None
    return {"ok": True, "cannot": False}.get(check.outcome)


def _kinds(model: Model) -> tuple[Kind, ...]:
    """What to check it as: what it is known to be; a chat model or embeddings where that is a guess."""
    kind = kind_of(model.known_capabilities)
    sure = any(fact.name == kind and fact.source != "name" for fact in model.known_capabilities)
    if sure or kind == "rerank":
        return (kind,)
    return (kind, "embedding" if kind == "chat" else "chat")
