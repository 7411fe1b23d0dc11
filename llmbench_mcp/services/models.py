"""Models: discover what endpoints offer, find them by name, assign them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from llmbench_mcp.domain.endpoint import Endpoint, OfferedModel, ServerInfo
from llmbench_mcp.domain.errors import (
    BenchError,
    ConflictError,
    EndpointTimeout,
    InputError,
    NotFoundError,
    StorageError,
)
from llmbench_mcp.domain.model import DiscoveryReport, Model
from llmbench_mcp.domain.ports import BackendFactory
from llmbench_mcp.domain.text import nearest, one_line
from llmbench_mcp.services.endpoints import Endpoints
from llmbench_mcp.store.endpoints import EndpointStore
from llmbench_mcp.store.models import ModelStore

_DISCOVER_S = 20.0


@dataclass(frozen=True, slots=True)
class ModelFilter:
    """None means any; ``text`` matches name, family or quantisation without regard to case."""

    text: str | None = None
    endpoint: str | None = None
    status: str | None = None
    capability: str | None = None


class Models:
    """Use cases about models."""

    def __init__(
        self, store: ModelStore, endpoint_store: EndpointStore, endpoints: Endpoints, backends: BackendFactory
    ) -> None:
        self._store = store
        self._endpoint_store = endpoint_store
        self._endpoints = endpoints
        self._backends = backends

    async def discover(self, names: Sequence[str] = ()) -> list[DiscoveryReport]:
        """Look at all or the named endpoints, concurrently; a failing one reports its error and stops nobody.

        Raises:
            InputError: no endpoint is known. NotFoundError: a name is not one.
        """
        endpoints = [await self._endpoints.get(name) for name in names] or await self._endpoint_store.all()
        if not endpoints:
            raise InputError("No endpoint is known yet.", "Call endpoint_add (endpoint add) first.")
        reports: dict[str, DiscoveryReport] = {}

        async def one(endpoint: Endpoint) -> None:
            reports[endpoint.id] = await self._discover_one(endpoint)

        async with anyio.create_task_group() as group:
            for endpoint in endpoints:
                group.start_soon(one, endpoint)
        return [reports[endpoint.id] for endpoint in endpoints]

    async def _discover_one(self, endpoint: Endpoint) -> DiscoveryReport:
        try:
            info, offered = await self._ask(endpoint)
            await self._endpoint_store.seen(endpoint.id, info.version)
            return await self._store.merge(endpoint, offered)
        except StorageError:
            raise
        except BenchError as problem:
            error = problem
        await self._endpoint_store.failed(endpoint.id, error.what)
        return DiscoveryReport(endpoint.name, error=error.what, next_step=error.next_step)

    async def _ask(self, endpoint: Endpoint) -> tuple[ServerInfo, Sequence[OfferedModel]]:
        backend = self._backends.open(endpoint)
        try:
            with anyio.fail_after(_DISCOVER_S):
                return await backend.inspect(), await backend.list_models()
        except TimeoutError as error:
            silent = f"{endpoint.url} gave no list within {_DISCOVER_S:.0f} s."
            raise EndpointTimeout(silent, "Try again.") from error
        finally:
            await backend.aclose()

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

    async def assign(self, key: str, endpoint_key: str | None) -> Model:
        """Assign a model to an endpoint that offers it, or (None) to nothing.

        Raises:
            NotFoundError, ConflictError: as resolve; ConflictError also when the endpoint does not offer it.
        """
        if endpoint_key is None:
            model = await self.resolve(key)
            await self._store.assign(model.id, None)
            return await self.resolve(model.id)
        endpoint = await self._endpoints.get(endpoint_key)
        model = await self.resolve(key, endpoint)
        home = model.home_at(endpoint.id)
        if home is None or not home.present:
            homes = ", ".join(h.endpoint_name for h in model.homes if h.present) or "nowhere now"
            raise ConflictError(
                f"Endpoint {endpoint.name!r} does not offer {model.name!r}.", f"It is offered at: {homes}."
            )
        await self._store.assign(model.id, endpoint.id)
        return await self.resolve(model.id)

    async def assign_only_home(self, key: str) -> Model:
        """Assign to the one endpoint that offers the model. Raises ConflictError when there are several."""
        model = await self.resolve(key)
        homes = [home for home in model.homes if home.present]
        if len(homes) != 1:
            names = ", ".join(home.endpoint_name for home in homes) or "none"
            raise ConflictError(f"{model.name!r} is offered by {len(homes)} endpoints: {names}.", "Name the endpoint.")
        return await self.assign(model.id, homes[0].endpoint_id)


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
    )
