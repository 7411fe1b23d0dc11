"""llama.cpp's server: one model from its start, or a router that loads and unloads models as asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmbench_mcp.backends.client import HttpClient
from llmbench_mcp.backends.llamacpp_facts import (
    capabilities_listed,
    holds_memory,
    is_llamacpp,
    names_of,
    offered,
    status_of,
)
from llmbench_mcp.backends.openai_wire import (
    MODELS_PATH,
    Patience,
    ask,
    chat_body,
    fetch_list,
    fetch_models,
    left_out,
    model_entries,
    warned,
)
from llmbench_mcp.backends.probe import NO, SURE, Probe
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.endpoint import Endpoint, OfferedModel, Resident, ServerInfo
from llmbench_mcp.domain.errors import (
    AuthError,
    EndpointError,
    EndpointTimeout,
    IdentityError,
    IncompatibleError,
    ModelNotAvailable,
    ProtocolError,
    ServerFault,
)
from llmbench_mcp.domain.text import nearest, one_line

POLL_S = 0.25
START_S = 60.0
LOAD_S = 600.0
SETTLE_S = 5.0
"""For so long after a load request the router may still show the state before it."""


class LlamaCppBackend:
    """Speaks llama-server's own endpoints beside the OpenAI ones."""

    def __init__(self, endpoint: Endpoint, client: HttpClient) -> None:
        self.endpoint = endpoint
        self._client = client
        self._same: set[tuple[str, str]] = set()

    @classmethod
    async def recognise(cls, probe: Probe) -> int:
        """SURE by the Server header, which every answer bears, or by the owner in the model list."""
        answer = await probe.get(MODELS_PATH)
        marked = answer.headers.get("server", "").lower().startswith("llama.cpp")
        return SURE if marked or is_llamacpp(model_entries(answer.json()) or []) else NO

    async def inspect(self) -> ServerInfo:
        """Version and mode; waits up to START_S for a server that is still loading its model."""
        await self._wait_for_start()
        answer = await self._client.request("GET", MODELS_PATH)
        entries = model_entries(self._client.accept(answer))
        if entries is None or not (is_llamacpp(entries) or "llama.cpp" in answer.headers.get("server", "")):
            raise ProtocolError(
                f"{self._client.address.base} is not llama.cpp's server.", "Add the endpoint again to detect its kind."
            )
        props = await self._props()
        router = props.get("role") == "router" or any(status_of(entry) for entry in entries)
        return ServerInfo(
            backend="llamacpp",
            version=self._version(props),
            can_load=router,
            can_unload=router,
            notes=() if router else ("One model for the server's lifetime; it ignores the model name asked for.",),
        )

    async def list_models(self) -> Sequence[OfferedModel]:
        """Every model with what the server knows of it: parameters, size, quantisation, context in force."""
        entries, payload = await fetch_list(self._client)
        single = len(entries) == 1 and status_of(entries[0]) is None
        props = await self._props() if single else {}
        words = capabilities_listed(payload)
        models = [offered(entry, props, words.get(entry["id"], ())) for entry in entries]
        return warned(models, left_out(payload))

    async def residents(self) -> Sequence[Resident] | None:
        """The one model, or the router's loaded and loading ones. The server never tells memory."""
        return [Resident(entry["id"]) for entry in await fetch_models(self._client) if holds_memory(entry)]

    async def load(self, served_name: str) -> None:
        """Have the router load the model and wait until it has; a single server has it loaded already.

        Raises:
            ModelNotAvailable: the server does not list it.
            ServerFault: it failed to start.
            EndpointTimeout: not loaded within LOAD_S.
        """
        entry = await self._entry(served_name)
        status = status_of(entry)
        if status in (None, "loaded"):
            return
        if status != "loading":
            await self._order("/models/load", entry["id"], unless="already running")
        await self._wait_until_loaded(entry["id"])

    async def unload(self, resident: Resident) -> None:
        """Ask the router to unload; it answers before it has. Raises IncompatibleError on a single server."""
        entry = await self._entry(resident.served_name)
        if status_of(entry) is None:
            raise IncompatibleError(
                f"{self._client.address.base} serves one model and cannot unload it.", "Stop the server to free it."
            )
        await self._order("/models/unload", entry["id"], unless="not running")

    async def chat(self, request: ChatRequest, *, total_s: float, stall_s: float) -> Completion:
        """Ask once, streaming, without the prompt cache; the answer must be the asked model's.

        ``stall_s`` limits the silence before the first byte too.
        """
        body = chat_body(request) | {"cache_prompt": False}
        completion = await ask(self._client, body, Patience(total_s, stall_s))
        await self._check_identity(request.model, completion.model)
        return completion

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.aclose()

    async def _wait_for_start(self) -> None:
        clock = self._client.clock
        deadline = clock.monotonic() + START_S
        while (await self._client.request("GET", "/health")).status == 503:
            if clock.monotonic() >= deadline:
                raise EndpointTimeout(
                    f"{self._client.address.base} is still loading its model after {START_S:g} s.", "Try again later."
                )
            await clock.sleep(POLL_S)

    async def _props(self) -> dict[str, Any]:
        """``/props``, or nothing where it is switched off or guarded."""
        try:
            return await self._client.get_json("/props")
        except (ProtocolError, IncompatibleError, AuthError, ModelNotAvailable, ServerFault):
            return {}

    def _version(self, props: Mapping[str, Any]) -> str | None:
        build = props.get("build_info")
        return self._client.clean(build, 80) if isinstance(build, str) and build else None

    async def _entry(self, served_name: str) -> Mapping[str, Any]:
        entries = await fetch_models(self._client)
        for entry in entries:
            if served_name in names_of(entry):
                return entry
        close = ", ".join(one_line(name, 80) for name in nearest(served_name, [e["id"] for e in entries]))
        raise ModelNotAvailable(
            f"{self._client.address.base} does not offer '{one_line(served_name, 80)}'.",
            f"It offers: {close}." if close else "It offers no model.",
        )

    async def _order(self, path: str, name: str, *, unless: str) -> None:
        """POST an order to the router; the refusal that says it is needless is no error."""
        try:
            await self._client.post_json(path, {"model": name})
        except EndpointError as refusal:
            if unless not in refusal.what:
                raise

    async def _wait_until_loaded(self, name: str) -> None:
        clock = self._client.clock
        start, moved = clock.monotonic(), False
        while (elapsed := clock.monotonic() - start) < LOAD_S:
            status = status_of(await self._entry(name))
            if status == "loaded":
                return
            moved = moved or status in ("loading", "downloading")
            if status in ("unloaded", "failed") and (moved or elapsed >= SETTLE_S):
                raise ServerFault(
                    f"{self._client.address.base} failed to load '{one_line(name, 80)}'.", "Look at the server's log."
                )
            await clock.sleep(POLL_S)
        raise EndpointTimeout(
            f"{self._client.address.base} did not load '{one_line(name, 80)}' within {LOAD_S:g} s.",
            "Look at the server's log.",
        )

    async def _check_identity(self, asked: str, answered: str | None) -> None:
        """A single server ignores the name in the request: only the name in its answer tells who spoke."""
        if answered is None or answered == asked or (asked, answered) in self._same:
            return
        for entry in await fetch_models(self._client):
            names = names_of(entry)
            if asked in names and answered in names:
                self._same.add((asked, answered))
                return
        raise IdentityError(
            f"{self._client.address.base} answered as '{self._client.clean(answered, 80)}',"
            f" not as '{one_line(asked, 80)}'.",
            "Assign the model the server really serves, or start the server with the other one.",
        )
