"""Models: discover what endpoints offer, find them by name, assign them, change what is known of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmbench_mcp.domain.capability import KNOWN, Capability
from llmbench_mcp.domain.endpoint import Endpoint, OfferedModel
from llmbench_mcp.domain.errors import ConflictError, InputError, NotFoundError
from llmbench_mcp.domain.model import DiscoveryReport, Home, Model, ModelEvent, PastJob
from llmbench_mcp.domain.text import is_text, nearest, one_line
from llmbench_mcp.services.discovery import Discovery, Look
from llmbench_mcp.services.endpoints import Endpoints
from llmbench_mcp.store.models import ModelStore

_HISTORY = 50
_MOST_NAME = 512
_REMOTE = "remote"
"""The device of endpoints whose models run on somebody else's machine."""


@dataclass(frozen=True, slots=True)
class ModelFilter:
    """None means any; ``text`` matches name, family or quantisation without regard to case.

    ``max_bytes`` leaves out models that are larger, and those whose size is unknown.
    """

    text: str | None = None
    endpoint: str | None = None
    status: str | None = None
    capability: str | None = None
    max_bytes: float | None = None


class Models:
    """Use cases about models."""

    def __init__(self, store: ModelStore, endpoints: Endpoints, discovery: Discovery) -> None:
        self._store = store
        self._endpoints = endpoints
        self._discovery = discovery

    async def discover(
        self, names: Sequence[str] = (), *, around: bool = False, by_agent: bool = False
    ) -> list[DiscoveryReport]:
        """Look at all or the named endpoints; raises and looks around as ``Discovery.look``."""
        return await self._discovery.look(names, around=around, by_agent=by_agent)

    async def keep_discovering(self, look: Look | None = None) -> None:
        """Look at all known endpoints, or as ``look`` does, from time to time until cancelled; in the background."""
        await self._discovery.keep_looking(look)

    async def last_jobs(self, models: Sequence[Model], limit: int = 10) -> dict[str, list[PastJob]]:
        """By model id, what the newest jobs found of it."""
        return await self._store.last_jobs([model.id for model in models], limit)

    async def refresh(self, key: str) -> tuple[Model, list[DiscoveryReport]]:
        """Look again at the endpoints that offer a model. Raises as resolve; NotFoundError when it is gone for good."""
        model = await self.resolve(key)
        homes = list(dict.fromkeys(home.endpoint_id for home in model.homes))
        reports = await self._discovery.look(homes) if homes else []
        return await self.resolve(model.id), reports

    async def all(self) -> list[Model]:
        """Every model, by name."""
        return await self._store.all()

    async def page(self, wanted: ModelFilter, limit: int = 50, offset: int = 0) -> tuple[list[Model], int]:
        """A page of models by name, and how many match."""
        matching = [model for model in await self._store.all() if _matches(model, wanted)]
        return matching[offset : offset + limit], len(matching)

    async def resolve(self, key: str, endpoint: Endpoint | None = None) -> Model:
        """A model by id, name, served name or ``name@endpoint``; of several, the one that ``endpoint`` offers.

        Raises:
            NotFoundError: nothing of that name; offers the nearest.
            ConflictError: several of that name; lists the ``name@endpoint`` forms.
        """
        models = await self._store.all()
        found = [model for model in models if key in (model.id, model.name)]
        found = found or [model for model in models if key in _handles(model)]
        here = [model for model in found if endpoint is not None and model.home_at(endpoint.id)]
        if len(found) == 1 or len(here) == 1:
            return (here or found)[0]
        if found:
            forms = sorted(form for model in found for form in _handles(model) if "@" in form)
            raise ConflictError(
                f"{len(found)} models are called '{one_line(key, 80)}'.", f"Say which: {', '.join(forms[:5])}."
            )
        names = [model.name for model in models]
        hint = f"Nearest: {', '.join(nearest(key, names))}." if names else "Run models_discover (discover) first."
        raise NotFoundError(f"There is no model '{one_line(key, 80)}'.", hint, nearest(key, names))

    async def place(self, key: str, endpoint_key: str | None = None) -> tuple[Model, Endpoint, Home]:
        """A model and where it is asked: at the endpoint named, else where assigned, else where alone it is offered.

        Raises:
            NotFoundError, ConflictError: as resolve; ConflictError also when no such home is there.
        """
        named = await self._endpoints.get(endpoint_key) if endpoint_key else None
        model = await self.resolve(key, named)
        present = {home.endpoint_id for home in model.homes if home.present}
        only = next(iter(present)) if len(present) == 1 else None
        wanted = named.id if named else model.assigned_endpoint_id or only
        home = model.home_at(wanted) if wanted else None
        if home is None or not home.present:
            told = (
                f"Endpoint {named.name!r} does not offer {model.name!r}" if named else f"{model.name!r} has no one home"
            )
            raise ConflictError(f"{told}.", f"It is offered at: {_homes_of(model)}. Name one of them.")
        return model, await self._endpoints.get(home.endpoint_id), home

    async def assign(self, key: str, endpoint_key: str | None) -> Model:
        """Assign a model to an endpoint that offers it, or (None) to nothing.

        Raises:
            NotFoundError, ConflictError: as resolve; ConflictError also when the endpoint does not offer it, or
                forwards it to another machine while its own device is of this one.
        """
        if endpoint_key is None:
            model = await self.resolve(key)
            await self._store.assign(model.id, None)
            return await self.resolve(model.id)
        endpoint = await self._endpoints.get(endpoint_key)
        model = await self.resolve(key, endpoint)
        home = model.home_at(endpoint.id)
        if home is None or not home.present:
            raise ConflictError(
                f"Endpoint {endpoint.name!r} does not offer {model.name!r}.", f"It is offered at: {_homes_of(model)}."
            )
        check_local(model, endpoint, home)
        await self._store.assign(model.id, endpoint)
        return await self.resolve(model.id)

    async def assign_only_home(self, key: str) -> Model:
        """Assign to the one endpoint that offers the model. Raises ConflictError when there are several."""
        model = await self.resolve(key)
        homes = list(dict.fromkeys(home.endpoint_name for home in model.homes if home.present))
        if len(homes) != 1:
            names = ", ".join(homes) or "none"
            raise ConflictError(f"{model.name!r} is offered by {len(homes)} endpoints: {names}.", "Name the endpoint.")
        return await self.assign(model.id, homes[0])

    async def set_enabled(self, key: str, enabled: bool) -> Model:
        """Disable a model, so that no run takes it, or enable it again. Raises as resolve."""
        model = await self.resolve(key)
        await self._store.set_enabled(model.id, enabled)
        return await self.resolve(model.id)

    async def register(self, served_name: str, endpoint_key: str) -> Model:
        """Register by hand a model that the endpoint serves and does not list. Raises InputError, NotFoundError."""
        endpoint = await self._endpoints.get(endpoint_key)
        if not served_name.strip() or len(served_name) > _MOST_NAME or not is_text(served_name):
            raise InputError("The model's name is blank, too long or no text.", "Give the name the server knows it by.")
        model_id = await self._store.register(endpoint, OfferedModel(served_name))
        return await self.resolve(model_id)

    async def unregister(self, key: str) -> Model:
        """Take a registration by hand back; returns the model as it was. Raises ConflictError when there is none."""
        model = await self.resolve(key)
        if not await self._store.unregister(model.id):
            raise ConflictError(f"{model.name!r} was not registered by hand.", "Disable it to keep it out of runs.")
        return model

    async def set_capabilities(self, key: str, said: Mapping[str, bool | None]) -> Model:
        """Set by hand what a model can (True) or cannot do (False), or (None) leave it to servers and probes again.

        Raises:
            InputError: no such capability. NotFoundError, ConflictError: as resolve.
        """
        model = await self.resolve(key)
        for name in said:
            if name not in KNOWN:
                raise InputError(f"There is no capability '{one_line(name, 40)}'.", f"Use: {', '.join(KNOWN)}.")
        for name, can in said.items():
            if can is None:
                await self._store.forget_capability(model.id, name)
            else:
                await self._store.set_capability(model.id, Capability(name, can, "hand"))
        return await self.resolve(model.id)

    async def set_facts(self, key: str, facts: Mapping[str, Any]) -> Model:
        """Set family, quantisation, parameter_count or context_length by hand; None leaves it to the servers again."""
        model = await self.resolve(key)
        if any(isinstance(value, int) and not 0 < value < 2**62 for value in facts.values()):
            raise InputError("A number of parameters or tokens must be positive.", "Give it in full, e.g. 8000000000.")
        await self._store.set_facts(model.id, facts)
        return await self.resolve(model.id)

    async def history(self, model: Model, limit: int = _HISTORY) -> list[ModelEvent]:
        """What happened to a model, newest first."""
        return await self._store.history(model.id, limit)


def check_local(model: Model, endpoint: Endpoint, home: Home) -> None:
    """Refuse a model that the endpoint forwards to another machine: it uses no device here.

    Raises ConflictError, except at endpoints whose device is ``remote``.
    """
    if home.remote and endpoint.device != _REMOTE:
        raise ConflictError(
            f"{model.name!r} runs on another machine: {endpoint.name} only forwards to it, and {endpoint.device} would"
            " be given figures that are not its own.",
            "Assign a model that runs here, or add its real server as an endpoint with device=remote.",
        )


def _homes_of(model: Model) -> str:
    names = dict.fromkeys(home.endpoint_name for home in model.homes if home.present)
    return ", ".join(names) or "nowhere now"


def _handles(model: Model) -> set[str]:
    served = {home.served_name for home in model.homes}
    at = {f"{home.served_name}@{home.endpoint_name}" for home in model.homes}
    return served | at | {f"{model.name}@{home.endpoint_name}" for home in model.homes}


def _matches(model: Model, wanted: ModelFilter) -> bool:
    text = (wanted.text or "").casefold()
    words = " ".join(word for word in (model.name, model.family, model.quantisation) if word)
    at = {name for home in model.homes for name in (home.endpoint_name, home.endpoint_id) if home.present}
    return (
        text in words.casefold()
        and (wanted.endpoint is None or wanted.endpoint in at)
        and (wanted.status is None or wanted.status == model.status)
        and (wanted.capability is None or wanted.capability in model.capabilities)
        and (wanted.max_bytes is None or (model.size_bytes or math.inf) <= wanted.max_bytes)
    )
