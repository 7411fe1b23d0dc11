"""llama.cpp's server: one model from its start, or a router that loads and unloads models as asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from llmbench_mcp.backends.client import HttpClient
from llmbench_mcp.backends.identity import Identity
from llmbench_mcp.backends.llamacpp_facts import (
    capabilities_listed,
    failure_of,
    holds_memory,
    is_llamacpp,
    names_of,
    offered,
    resident,
    status_of,
)
from llmbench_mcp.backends.openai_extras import OpenAIExtras
from llmbench_mcp.backends.openai_wire import (
    CHAT_PATH,
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
    IncompatibleError,
    ModelNotAvailable,
    ProtocolError,
    RateLimitedError,
    ServerFault,
    StillHeld,
)
from llmbench_mcp.domain.text import nearest, one_line

POLL_S = 0.25
START_S = 60.0
LOAD_S = 600.0
SETTLE_S = 5.0
"""For so long after a load request the router may still show the state before it."""
_UNKNOWN_BUILDS = ("", "unknown", "b0-unknown")
"""What a server says that was built without its sources' history."""
_DESCRIBED = 16
"""Most loaded models of a router asked for their properties."""
_NO_PROPS = (ProtocolError, IncompatibleError, AuthError, ModelNotAvailable, ServerFault)


class LlamaCppBackend(OpenAIExtras):
    """Speaks llama-server's own endpoints beside the OpenAI ones."""

    def __init__(self, endpoint: Endpoint, client: HttpClient) -> None:
        self.endpoint = endpoint
        self._client = client
        self._identity = Identity(client, self._names)

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
            notes=_notes(props) if router else (_SINGLE,),
        )

    async def list_models(self) -> Sequence[OfferedModel]:
        """Every model with what the server knows of it: parameters, size, quantisation, context in force."""
        entries, payload = await fetch_list(self._client)
        props = await self._props_by_name(entries)
        words = capabilities_listed(payload)
        models = [offered(entry, props.get(entry["id"], {}), words.get(entry["id"], ())) for entry in entries]
        return warned(models, left_out(payload))

    async def residents(self) -> Sequence[Resident] | None:
        """The one model, or the router's loaded and loading ones. The server never tells memory."""
        return [resident(entry) for entry in await fetch_models(self._client) if holds_memory(entry)]

    async def load(self, served_name: str, context_length: int | None = None) -> None:
        """Have the router load the model and wait until it has; a single server has it loaded already.

        At its limit of models the router first makes the least recently used one leave.

        Raises:
            ModelNotAvailable: the server does not list it.
            StillHeld: the router is at its limit and all its models are busy.
            ServerFault: it failed to start.
            EndpointTimeout: not loaded within LOAD_S.
        """
        entry = await self._entry(served_name)
        status = status_of(entry)
        if status in (None, "loaded"):
            return
        if status == "sleeping":
            await self._wake(entry["id"])
        elif status not in _COMING:
            await self._order_load(entry["id"])
        await self._wait_until_loaded(entry["id"])

    async def unload(self, resident: Resident) -> None:
        """Ask the router to unload; it answers before it has, and what is not loaded is no error.

        Raises:
            IncompatibleError: a single server.
            ModelNotAvailable: the router does not list it.
        """
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
        completion = await ask(self._client, body, Patience(total_s, stall_s, request.watch))
        await self._identity.check(request.model, completion.model)
        return completion

    async def at_work(self, served_name: str) -> int | None:
        """Slots that process a request, from ``/slots``; a server started with ``--no-slots`` does not say."""
        answer = await self._client.request("GET", f"/slots?model={quote(served_name, safe='')}&autoload=false")
        slots = answer.json() if answer.status == 200 else None
        if not isinstance(slots, list):
            return None
        return sum(isinstance(slot, dict) and slot.get("is_processing") is True for slot in slots)

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
        except _NO_PROPS:
            return {}

    async def _props_by_name(self, entries: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        """``/props`` of the single server's model, or of each one a router has loaded."""
        if len(entries) == 1 and status_of(entries[0]) is None:
            return {entries[0]["id"]: await self._props()}
        loaded = [entry["id"] for entry in entries if status_of(entry) == "loaded"]
        return {name: await self._props_at_router(name) for name in loaded[:_DESCRIBED]}

    async def _props_at_router(self, name: str) -> dict[str, Any]:
        """Asking must not load a model that has just left: hence ``autoload=false``."""
        try:
            return await self._client.get_json(f"/props?model={quote(name, safe='')}&autoload=false")
        except (*_NO_PROPS, RateLimitedError):
            return {}

    def _version(self, props: Mapping[str, Any]) -> str | None:
        build = props.get("build_info")
        if not isinstance(build, str) or build in _UNKNOWN_BUILDS:
            return None
        return self._client.clean(build, 80)

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

    async def _order_load(self, name: str) -> None:
        try:
            await self._order("/models/load", name, unless="already running")
        except ServerFault as refusal:
            if "limit reached" not in refusal.what:
                raise
            held = [one_line(e["id"], 80) for e in await fetch_models(self._client) if holds_memory(e)]
            raise StillHeld(
                f"{self._client.address.base} has no place for '{one_line(name, 80)}': it holds"
                f" {', '.join(held[:5])} and can let none of them go now.",
                "Wait until their requests are done, or start the router with a larger --models-max.",
            ) from refusal

    async def _wake(self, name: str) -> None:
        """A sleeping model comes back with its next request and with nothing else."""
        body = {"model": name, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
        answer = await self._client.request("POST", CHAT_PATH, body, LOAD_S)
        if answer.status >= 300:
            raise self._client.refusal(answer)

    async def _wait_until_loaded(self, name: str) -> None:
        clock = self._client.clock
        start, moved = clock.monotonic(), False
        while (elapsed := clock.monotonic() - start) < LOAD_S:
            entry = await self._entry(name)
            status = status_of(entry)
            if status == "loaded":
                return
            moved = moved or status in _COMING
            if status in ("unloaded", "failed") and (moved or elapsed >= SETTLE_S):
                raise self._load_failure(entry, moved)
            await clock.sleep(POLL_S)
        raise EndpointTimeout(
            f"{self._client.address.base} did not load '{one_line(name, 80)}' within {LOAD_S:g} s.",
            "Look at the server's log.",
        )

    def _load_failure(self, entry: Mapping[str, Any], moved: bool) -> ServerFault:
        why = failure_of(entry) or ("it left again while it was loading" if moved else "the router did not begin")
        return ServerFault(
            f"{self._client.address.base} failed to load '{one_line(entry['id'], 80)}' ({why}).",
            "Look at the server's log.",
        )

    async def _names(self) -> list[frozenset[str]]:
        """A single server ignores the name in the request: only the name in its answer tells who spoke."""
        return [names_of(entry) for entry in await fetch_models(self._client)]


_COMING = ("loading", "downloading")
_SINGLE = "One model for the server's lifetime; it ignores the model name asked for."


def _notes(props: Mapping[str, Any]) -> tuple[str, ...]:
    """What to know of a router, from its ``/props``."""
    most = props.get("max_instances")
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        return ()
    return (f"Holds {most} at a time; loading one more makes it unload the model used least recently.",)
