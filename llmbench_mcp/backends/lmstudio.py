"""LM Studio: its native API v1 loads and unloads by instance; before 0.4 there is v0, which only lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from llmbench_mcp.backends.client import Answer, HttpClient
from llmbench_mcp.backends.lmstudio_errors import bears_its_name, load_failure, path_missing
from llmbench_mcp.backends.lmstudio_facts import Listed, Shelf, shelf_v0, shelf_v1
from llmbench_mcp.backends.openai_extras import EMBEDDINGS_PATH, OpenAIExtras
from llmbench_mcp.backends.openai_wire import (
    CHAT_PATH,
    Patience,
    ask,
    chat_body,
    fetch_models,
)
from llmbench_mcp.backends.probe import NO, SURE, Probe
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.endpoint import Endpoint, ModelList, OfferedModel, Resident, ServerInfo
from llmbench_mcp.domain.errors import (
    EndpointError,
    IdentityError,
    IncompatibleError,
    ModelNotAvailable,
    ProtocolError,
    ServerFault,
    StillHeld,
)
from llmbench_mcp.domain.text import nearest, one_line

V1_MODELS = "/api/v1/models"
V0_MODELS = "/api/v0/models"
LOAD_PATH = "/api/v1/models/load"
UNLOAD_PATH = "/api/v1/models/unload"
POLL_S = 0.25
LOAD_S = 600.0
SETTLE_S = 5.0
"""For so long after a load the list may still lack the instance."""
TTL_S = 300
"""Idle seconds after which a model that was loaded by a request, and cannot be unloaded by one, leaves."""


class LMStudioBackend(OpenAIExtras):
    """Lists and orders over the native API, asks over the OpenAI-compatible one."""

    def __init__(self, endpoint: Endpoint, client: HttpClient) -> None:
        self.endpoint = endpoint
        self._client = client
        self._asked_as: dict[str, str] = {}

    @classmethod
    async def recognise(cls, probe: Probe) -> int:
        """SURE by its own lists, or by its own words where it wants a token first."""
        v1 = await probe.get(V1_MODELS)
        if bears_its_name(v1):
            return SURE
        native = shelf_v1(v1.json()) if v1.status == 200 else None
        if native and native.listed:
            return SURE
        v0 = await probe.get(V0_MODELS)
        old = shelf_v0(v0.json()) if v0.status == 200 else None
        listing = old and (old.listed or native or path_missing(v1))  # an empty list alone may be anybody's
        return SURE if listing else NO

    async def inspect(self) -> ServerInfo:
        """Which API there is, and so what the server can do. LM Studio does not tell its version."""
        shelf = await self._shelf()
        notes = () if shelf.listed else ("The server lists no models.",)
        if shelf.native:
            return ServerInfo("lmstudio", can_load=True, can_unload=True, notes=notes)
        on_demand = await self._loads_on_demand(shelf)
        how = f"loads a model on its first request and drops it after {TTL_S} idle seconds" if on_demand else "no more"
        old = f"LM Studio before 0.4: it lists what is loaded, {how}; it cannot unload a model on request."
        return ServerInfo("lmstudio", can_load=on_demand, notes=(*notes, old))

    async def list_models(self) -> Sequence[OfferedModel]:
        """Every model on the server's disk, embedding models included. ``context_length`` is the largest possible."""
        shelf = await self._shelf()
        told = (f"The server lists {shelf.skipped} models without a usable name; left out.",) if shelf.skipped else ()
        return ModelList((listed.model for listed in shelf.listed), told)

    async def residents(self) -> Sequence[Resident] | None:
        """Every instance in memory under its own id. The server never tells memory."""
        return [resident for listed in (await self._shelf()).listed for resident in listed.residents()]

    async def load(self, served_name: str, context_length: int | None = None) -> None:
        """Load one instance and wait until it is listed; a model that has one is left as it is.

        Before 0.4, a one-token request loads the model, where the server loads on demand.

        Raises:
            ModelNotAvailable: not on the server, or loaded with another context than the one asked for.
            DoesNotFit: the server says that its memory does not suffice.
            ServerFault: it failed to load.
            EndpointTimeout: not loaded within LOAD_S.
        """
        shelf = await self._shelf()
        listed = self._found(shelf, served_name)
        if listed.instances:
            self._check_context(listed, context_length)
            return
        order = self._order_load if shelf.native else self._load_by_asking
        try:
            instance_id = await order(listed, served_name, context_length)
        except EndpointError as refusal:
            raise load_failure(refusal, served_name) from refusal
        self._check_context(await self._settle(served_name, instance_id), context_length)

    async def unload(self, resident: Resident) -> None:
        """Have the server unload exactly that instance; one that is gone already is no error.

        Raises:
            StillHeld: LM Studio before 0.4, where only idle time makes a model leave.
            IncompatibleError: several instances are loaded and none is named.
        """
        shelf = await self._shelf()
        if not shelf.native:
            raise StillHeld(
                f"{self._client.address.base} is LM Studio before 0.4 and cannot unload"
                f" '{one_line(resident.served_name, 80)}' on request.",
                "Unload it in LM Studio or with `lms unload`, wait until it was idle long enough, or update LM Studio.",
            )
        instance_id = resident.instance_id or self._only_instance(shelf, resident.served_name)
        if instance_id:
            await self._order_unload(instance_id)

    async def chat(self, request: ChatRequest, *, total_s: float, stall_s: float) -> Completion:
        """Ask once, streaming; the answer must be the asked model's, under any of its names.

        ``stall_s`` limits the silence before the first byte too.
        """
        body = chat_body(request) | {"model": self._name_for(request.model)}
        return await self._identified(
            request.model, await ask(self._client, body, Patience(total_s, stall_s, request.watch))
        )

    async def chat_about(self, request: ChatRequest, png: bytes, *, total_s: float, stall_s: float) -> Completion:
        """As ``chat``, with a picture."""
        asked = replace(request, model=self._name_for(request.model))
        done = await super().chat_about(asked, png, total_s=total_s, stall_s=stall_s)
        return await self._identified(request.model, done)

    async def embed(
        self, model: str, texts: Sequence[str], *, total_s: float, input_type: str | None = None
    ) -> Sequence[Sequence[float]]:
        """One vector for each text."""
        return await super().embed(self._name_for(model), texts, total_s=total_s, input_type=input_type)

    async def rerank(self, model: str, query: str, documents: Sequence[str], *, total_s: float) -> Sequence[float]:
        """Raises IncompatibleError: LM Studio has no such request."""
        raise IncompatibleError(f"{self._client.address.base} cannot rerank: LM Studio has no request for it.")

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.aclose()

    async def _shelf(self) -> Shelf:
        v1 = await self._client.request("GET", V1_MODELS)
        shelf = shelf_v1(v1.json()) if v1.status == 200 else None
        if shelf is None:
            if not (v1.status == 200 or path_missing(v1)):
                raise self._client.refusal(v1)
            v0 = await self._client.request("GET", V0_MODELS)
            shelf = self._old_shelf(v1, v0)
        self._asked_as = {key: name for listed in shelf.listed for key, name in _stand_in(listed)}
        return shelf

    def _old_shelf(self, v1: Answer, v0: Answer) -> Shelf:
        shelf = shelf_v0(v0.json()) if v0.status == 200 else None
        if shelf is not None:
            return shelf
        for answer in (v1, v0):
            if not path_missing(answer):
                self._client.accept(answer)
        raise ProtocolError(
            f"{self._client.address.base} is not LM Studio: it has neither {V1_MODELS} nor {V0_MODELS}.",
            "Add the endpoint again to detect its kind.",
        )

    async def _loads_on_demand(self, shelf: Shelf) -> bool:
        """With loading on demand the OpenAI list holds what is on disk, without it only what is loaded."""
        asleep = {listed.model.served_name for listed in shelf.listed if not listed.instances}
        offered = {entry["id"] for entry in await fetch_models(self._client)}
        return not asleep or bool(asleep & offered)

    def _found(self, shelf: Shelf, served_name: str) -> Listed:
        listed = shelf.find(served_name)
        if listed:
            return listed
        keys = [one.model.served_name for one in shelf.listed]
        close = ", ".join(one_line(name, 80) for name in nearest(served_name, keys))
        raise ModelNotAvailable(
            f"{self._client.address.base} does not offer '{one_line(served_name, 80)}'.",
            f"It offers: {close}." if close else "It offers no model.",
        )

    def _check_context(self, listed: Listed, wanted: int | None) -> None:
        contexts = [instance.context_length for instance in listed.instances]
        if wanted is None or wanted in contexts or None in contexts:
            return
        name = one_line(listed.model.served_name, 80)
        raise ModelNotAvailable(
            f"'{name}' is loaded with a context of {contexts[0]} tokens, not of {wanted}.",
            "Unload it first: loading it again would make a second instance.",
        )

    async def _order_load(self, listed: Listed, name: str, context_length: int | None) -> str | None:
        body: dict[str, Any] = {"model": name}
        if context_length is not None:
            body["context_length"] = context_length
        answer = self._client.accept(await self._client.request("POST", LOAD_PATH, body, total_s=LOAD_S))
        found = answer.get("instance_id") or answer.get("model_instance_id")  # the latter in 0.4's previews
        return found if isinstance(found, str) else None

    async def _load_by_asking(self, listed: Listed, name: str, context_length: int | None) -> None:
        body: dict[str, Any] = {"model": name, "ttl": TTL_S}
        path, body = (EMBEDDINGS_PATH, body | {"input": "Hi"}) if listed.embeds else (CHAT_PATH, body | _HI)
        self._client.accept(await self._client.request("POST", path, body, total_s=LOAD_S))

    async def _settle(self, name: str, instance_id: str | None) -> Listed:
        """Wait until the list holds the instance; where somebody else loaded one meanwhile, theirs stays."""
        clock = self._client.clock
        deadline = clock.monotonic() + SETTLE_S
        while True:
            listed = self._found(await self._shelf(), name)
            ids = [instance.id for instance in listed.instances]
            if instance_id in ids or (instance_id is None and ids):
                break
            if clock.monotonic() >= deadline:
                raise ServerFault(
                    f"{self._client.address.base} does not list '{one_line(name, 80)}' as loaded after loading it.",
                    "Look at LM Studio's developer log.",
                )
            await clock.sleep(POLL_S)
        if instance_id is not None and len(ids) > 1:
            await self._order_unload(instance_id)
            others = tuple(instance for instance in listed.instances if instance.id != instance_id)
            return replace(listed, instances=others)
        return listed

    def _only_instance(self, shelf: Shelf, name: str) -> str | None:
        listed = shelf.find(name)
        ids = [instance.id for instance in listed.instances] if listed else []
        if len(ids) > 1:
            named = ", ".join(one_line(one, 80) for one in ids[:5])
            raise IncompatibleError(
                f"{len(ids)} instances of '{one_line(name, 80)}' are loaded: {named}.", "Name the one to unload."
            )
        return ids[0] if ids else None

    async def _order_unload(self, instance_id: str) -> None:
        try:
            await self._client.post_json(UNLOAD_PATH, {"instance_id": instance_id})
        except EndpointError:
            if await self._holds(instance_id):
                raise

    async def _holds(self, instance_id: str) -> bool:
        listed = (await self._shelf()).listed
        return any(instance.id == instance_id for one in listed for instance in one.instances)

    def _name_for(self, model: str) -> str:
        return self._asked_as.get(model, model)

    async def _identified(self, asked: str, done: Completion) -> Completion:
        """With one model loaded LM Studio has answered under any name: only the name in its answer tells who spoke."""
        if done.model is None or done.model == asked:
            return done
        listed = (await self._shelf()).find(asked)
        if listed and listed.answers_to(done.model):
            return replace(done, model=asked)
        raise IdentityError(
            f"{self._client.address.base} answered as '{self._client.clean(done.model, 80)}',"
            f" not as '{one_line(asked, 80)}'.",
            "Load the model asked for, or unload the other.",
        )


_HI: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1, "stream": False}


def _stand_in(listed: Listed) -> list[tuple[str, str]]:
    """The key, and the instance to ask instead, where none bears the key's name: asking the key would load another."""
    ids = [instance.id for instance in listed.instances]
    key = listed.model.served_name
    return [(key, ids[0])] if ids and not listed.names & set(ids) else []
