"""The installed backends, found by entry point and imported when first needed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property, partial
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Protocol

import anyio

from llmbench_mcp.domain.address import parse_address
from llmbench_mcp.domain.clock import SystemClock
from llmbench_mcp.domain.endpoint import Endpoint, ServerInfo
from llmbench_mcp.domain.errors import EndpointError, ProtocolError, SetupError
from llmbench_mcp.domain.ports import Backend, Clock
from llmbench_mcp.domain.text import nearest, one_line

if TYPE_CHECKING:  # the HTTP library is the dearest import of all; whoever opens no backend does without it
    from llmbench_mcp.backends.client import HttpClient
    from llmbench_mcp.backends.probe import Probe

GROUP = "llmbench.backends"


class Revealable(Protocol):
    """A secret that shows itself only when told to."""

    def reveal(self) -> str:
        """The secret itself."""
        ...


class BackendClass(Protocol):
    """What an entry point of the group names."""

    def __call__(self, endpoint: Endpoint, client: HttpClient) -> Backend:
        """Construct one; no I/O."""
        ...

    async def recognise(self, probe: Probe) -> int:
        """How sure it is that the probed server speaks its dialect; see ``probe``."""
        ...


async def no_secret(reference: str, origin: str) -> Revealable | None:
    """The resolver of an installation without credentials."""
    return None


class EntryPointBackends:
    """The backend factory.

    Args:
        resolve_secret: turns a credential reference into the secret for an origin (``http://host:port``), at each
            request; raises AuthError where there is none.
        redact: takes known secrets out of text from servers, answers included, and changes nothing else.
        clock: stamps streams and paces polling.
        agents_stay_near: connect to endpoints that agents added only where agents may add some.
    """

    def __init__(
        self,
        *,
        resolve_secret: Callable[[str, str], Awaitable[Revealable | None]] = no_secret,
        redact: Callable[[str], str] = str,
        clock: Clock | None = None,
        agents_stay_near: bool = True,
    ) -> None:
        self._agents_stay_near = agents_stay_near
        self._resolve = resolve_secret
        self._redact = redact
        self._clock = clock or SystemClock()
        self._classes: dict[str, BackendClass] = {}

    @cached_property
    def _points(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=GROUP)}

    def names(self) -> Sequence[str]:
        """The backend names installed, sorted; nothing is imported."""
        return sorted(self._points)

    def load(self, name: str) -> None:
        """Import the backend of that name. Raises SetupError when it cannot be."""
        self._class(name)

    def open(self, endpoint: Endpoint) -> Backend:
        """A backend for that endpoint; no I/O yet.

        Raises:
            SetupError: no such backend, or its package cannot be imported.
            InputError: the endpoint's URL is malformed.
        """
        by_agent = endpoint.added_by == "agent"
        return self._class(endpoint.backend)(endpoint, self._client(endpoint.url, endpoint.credential_ref, by_agent))

    async def detect(self, url: str, credential_ref: str | None = None, by_agent: bool = False) -> ServerInfo:
        """Which backend serves at that base URL.

        Raises:
            InputError: the URL is malformed.
            EndpointError: nothing answers, or no backend knows what does.
        """
        client = self._client(url, credential_ref, by_agent)
        try:
            name = await self._recognise(client)
            base = client.address.base
            return await self._class(name)(Endpoint("", base, base, name), client).inspect()
        finally:
            await client.aclose()

    async def _recognise(self, client: HttpClient) -> str:
        from llmbench_mcp.backends.openai_wire import MODELS_PATH
        from llmbench_mcp.backends.probe import SURE, Probe

        probe = Probe(client)
        certainty, trouble = await _ask_all({name: self._class(name) for name in self.names()}, probe)
        best = max(certainty, key=lambda name: certainty[name], default="")
        if best and (certainty[best] >= SURE or (certainty[best] and not trouble)):
            return best
        if trouble:  # whoever could not look might have been surer
            raise trouble[0]
        client.accept(await probe.get(MODELS_PATH))
        raise ProtocolError(
            f"{client.address.base} answers, but is no inference server of a known kind"
            f" ({', '.join(self.names()) or 'no backend is installed'}).",
            "Check that the address is an inference server's base URL.",
        )

    def _client(self, url: str, credential_ref: str | None, by_agent: bool) -> HttpClient:
        from llmbench_mcp.backends.client import ClientOptions, HttpClient

        address = parse_address(url)
        credential = partial(self._secret, credential_ref, address.origin)
        near_only = by_agent and self._agents_stay_near
        return HttpClient(address, ClientOptions(credential, self._redact, self._clock, near_only=near_only))

    async def _secret(self, credential_ref: str | None, origin: str) -> str | None:
        secret = await self._resolve(credential_ref, origin) if credential_ref else None
        return secret.reveal() if secret else None

    def _class(self, name: str) -> BackendClass:
        if name not in self._classes:
            self._classes[name] = _import(self._point(name))
        return self._classes[name]

    def _point(self, name: str) -> EntryPoint:
        point = self._points.get(name)
        if point is None:
            close = ", ".join(nearest(name, self._points))
            raise SetupError(f"No backend named '{one_line(name, 60)}' is installed.", f"Installed: {close}.")
        return point


async def _ask_all(classes: dict[str, BackendClass], probe: Probe) -> tuple[dict[str, int], list[EndpointError]]:
    """How sure each backend is, all looking at once, and what kept any of them from looking."""
    certainty: dict[str, int] = dict.fromkeys(classes, 0)
    trouble: list[EndpointError] = []

    async def one(name: str) -> None:
        try:
            certainty[name] = await classes[name].recognise(probe)
        except EndpointError as error:
            trouble.append(error)

    async with anyio.create_task_group() as group:
        for name in classes:
            group.start_soon(one, name)
    return certainty, trouble


def _import(point: EntryPoint) -> BackendClass:
    try:
        loaded: BackendClass = point.load()
    except Exception as error:  # a plug-in: whatever it raises is its fault
        said = f"{type(error).__name__}: {one_line(str(error))}"
        raise SetupError(
            f"The backend {point.name!r} ({point.value}) cannot be imported: {said}.",
            "Reinstall the package it comes from.",
        ) from error
    return loaded
