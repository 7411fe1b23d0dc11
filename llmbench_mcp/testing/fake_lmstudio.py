"""A stateful simulated LM Studio: models on disk, instances in a GPU's memory, both native APIs.

::

    gpu = SimulatedGpu(24 * GB)
    async with FakeLMStudio([StudioModel("big", 20 * GB), "m"], gpu=gpu) as server:
        server.faults.never_unloads = True             # and lost_unloads, keeps_memory, load_error, never_listed
        server.timings.load_s = 4                      # and unload_s, memory_back_s, list_s, jit_ttl_s
        server.hang(LOAD); server.refuse(LOAD, 500, "boom")
        await server.restart(); server.evict("m"); await server.load_by_other("m")
        server.log, server.loaded_ids, server.memory.loads

``native=False`` is LM Studio before 0.4: no ``/api/v1``. ``jit=False`` is a server that loads nothing by itself.

As a process: ``python -m llmbench_mcp.testing.fake_lmstudio --port 1234 --model big=20 --model m``; see ``main``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from llmbench_mcp.domain.clock import SystemClock
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.testing.fake_lmstudio_memory import Faults, Loaded, LoadError, StudioMemory, Timings
from llmbench_mcp.testing.fake_lmstudio_models import StudioModel
from llmbench_mcp.testing.fake_lmstudio_wire import (
    EXPRESS,
    NOT_LOADED,
    TOO_LONG,
    UNAUTHORISED,
    Said,
    broken_off,
    missing,
    native_error,
    no_model,
    openai_error,
    split_words,
    stream,
    whole,
)
from llmbench_mcp.testing.fake_server import FakeServer, Received, Script
from llmbench_mcp.testing.replies import Gate, Reply
from llmbench_mcp.testing.simulated_gpu import GB, GpuExporter, SimulatedGpu

V1_MODELS = "/api/v1/models"
LOAD = "/api/v1/models/load"
UNLOAD = "/api/v1/models/unload"
V0_MODELS = "/api/v0/models"
V0_CHAT = "/api/v0/chat/completions"
EMBEDDINGS = "/v1/embeddings"


@dataclass
class Logged:
    """One request: path, model or instance, and the clock's times of its arrival and answer (None: not yet)."""

    path: str
    model: str
    body: Any
    started: float
    ended: float | None = None
    status: int | None = None


class FakeLMStudio(FakeServer):
    """Start it with ``async with``; ``script`` decides about chats first, as in ``FakeServer``.

    Args:
        models: what is on disk.
        gpu: where instances are loaded; None is a server that always has room.
        clock: of loading, unloading and idle times.
        native: whether ``/api/v1`` is there.

    ``chat_s`` is how long an answer is generated, ``thought`` what is thought before it, sent as
    ``reasoning_field``; ``stats`` puts figures into the OpenAI-compatible answers too; ``serves_any_name`` lets
    the only model loaded answer for every unknown name.
    """

    server_header = ""
    owned_by = "organization_owner"

    def __init__(
        self,
        models: Iterable[StudioModel | str] = ("m",),
        script: Script | None = None,
        *,
        gpu: SimulatedGpu | None = None,
        clock: Clock | None = None,
        native: bool = True,
    ) -> None:
        super().__init__((), script)
        self.store = [StudioModel(model) if isinstance(model, str) else model for model in models]
        self.clock = clock or (gpu.clock if gpu else SystemClock())
        self.memory = StudioMemory(self.clock, gpu, f"lmstudio-{id(self):x}")
        self.jit = True
        self.serves_any_name = not native
        self.chat_s = 0.0
        self.thought = ""
        self.reasoning_field = "reasoning_content"
        self.stats = False
        self.log: list[Logged] = []
        self._hangs: dict[str, deque[Gate]] = defaultdict(deque)
        self._refusals: dict[str, deque[Reply]] = defaultdict(deque)
        self.routes |= {
            f"GET {V0_MODELS}": self.list_v0,
            f"POST {V0_CHAT}": self.chat,
            f"POST {EMBEDDINGS}": self.embed,
        }
        if native:
            self.routes |= {
                f"GET {V1_MODELS}": self.list_v1,
                f"POST {LOAD}": self.order_load,
                f"POST {UNLOAD}": self.order_unload,
            }

    @property
    def faults(self) -> Faults:
        """What goes wrong with memory."""
        return self.memory.faults

    @property
    def timings(self) -> Timings:
        """How long things take."""
        return self.memory.timings

    @property
    def loaded_ids(self) -> list[str]:
        """The ids of the instances listed, in order of loading."""
        return [one.id for one in self.memory.listed()]

    def hang(self, path: str) -> Gate:
        """Let the next request of that path hang, until the gate is opened."""
        self._hangs[path].append(gate := Gate())
        return gate

    def refuse(self, path: str, status: int, message: str, kind: str = "internal_error") -> None:
        """Refuse the next request of that path."""
        self._refusals[path].append(native_error(status, kind, message))

    async def restart(self, *, memory_too: bool = True) -> None:
        """Break all connections, forget all instances, and listen again on the same port."""
        await self.stop()
        self.memory.forget_all(memory_too=memory_too)
        await self.__aenter__()

    def evict(self, instance_id: str) -> None:
        """Somebody else unloads an instance, in use or not."""
        self.memory.evict(instance_id)

    async def load_by_other(self, key: str) -> Loaded:
        """Somebody else loads an instance by hand."""
        model = self.find(key)
        assert model, key
        return await self.memory.load(model)

    def heal(self) -> None:
        """No more faults of any kind."""
        self.memory.heal()
        self._hangs.clear()
        self._refusals.clear()

    def find(self, name: str) -> StudioModel | None:
        """The model on disk of that name."""
        return next((model for model in self.store if model.has_name(name)), None)

    def list_models(self, request: Received) -> Reply:
        """``GET /v1/models``: all that could be loaded on demand, else what is loaded."""
        names = [model.key for model in self.store] if self.jit else []
        self.models = list(dict.fromkeys([*names, *self.loaded_ids]))
        return super().list_models(request)

    def list_v1(self, request: Received) -> Reply:
        """``GET /api/v1/models``."""
        return Reply(200, {"models": [model.in_v1(self._shown(model)) for model in self.store]}, EXPRESS)

    def _shown(self, model: StudioModel) -> list[dict[str, Any]]:
        return [
            {"id": one.id, "config": {"context_length": one.context_length, "flash_attention": True}}
            for one in self.memory.of_model(model.key)
        ]

    def list_v0(self, request: Received) -> Reply:
        """``GET /api/v0/models``: the models, and second instances as models of their own."""
        loaded = {one.id: one for one in self.memory.listed()}
        on_disk = [
            model.in_v0(model.key, loaded[model.key].context_length if model.key in loaded else None)
            for model in self.store
        ]
        more = [one.model.in_v0(one.id, one.context_length) for one in loaded.values() if one.id != one.model.key]
        return Reply(200, {"object": "list", "data": [*on_disk, *more]}, EXPRESS)

    async def order_load(self, request: Received) -> Reply:
        """``POST /api/v1/models/load``: always a new instance; answered once it is loaded."""
        model = self.find(request.model)
        if model is None:
            return native_error(404, "model_not_found", f"Model {request.model} not found", param="model")
        started = self.clock.monotonic()
        try:
            loaded = await self.memory.load(model, request.body.get("context_length"))
        except LoadError as error:
            return native_error(500, "model_load_failed", f"Failed to load model. {error}")
        body: dict[str, Any] = {
            "type": "embedding" if model.kind == "embedding" else "llm",
            "instance_id": loaded.id,
            "load_time_seconds": self.clock.monotonic() - started,
            "status": "loaded",
        }
        if request.body.get("echo_load_config"):
            body["load_config"] = {"context_length": loaded.context_length}
        return Reply(200, body, EXPRESS)

    def order_unload(self, request: Received) -> Reply:
        """``POST /api/v1/models/unload``."""
        name = str(request.body.get("instance_id", ""))
        loaded = self.memory.find(name)
        if loaded is None:
            return native_error(404, "model_not_found", f"No loaded instance with id {name}", param="instance_id")
        self.memory.order_unload(loaded)
        return Reply(200, {"instance_id": name}, EXPRESS)

    async def chat(self, request: Received) -> Reply:
        """A chat on either path: the script's reply, else an ordinary answer."""
        scripted = self.script(request) if self.script else None
        if isawaitable(scripted):
            scripted = await scripted
        if isinstance(scripted, Reply):
            return scripted
        return await self._on_instance(request, scripted, embed=False)

    async def embed(self, request: Received) -> Reply:
        """``POST /v1/embeddings``: two numbers for each input."""
        return await self._on_instance(request, None, embed=True)

    async def _on_instance(self, request: Received, text: str | None, *, embed: bool) -> Reply:
        try:
            loaded = await self._instance_for(request)
        except LoadError as error:
            return openai_error(400, f'Failed to load model "{request.model}". Error: {error}')
        if isinstance(loaded, Reply):
            return loaded
        if embed != (loaded.model.kind == "embedding"):
            wanted = "an embedding model" if embed else "a chat model"
            return openai_error(400, f'"{loaded.model.key}" is not {wanted}.')
        async with self.memory.using(loaded):
            return _embedded(request, loaded) if embed else await self._answered(request, loaded, text)

    async def _instance_for(self, request: Received) -> Loaded | Reply:
        name, model = request.model, self.find(request.model)
        if (there := self.memory.find(name)) is not None:
            return there
        if model and self.jit:
            return await self.memory.on_demand(model, request.body.get("ttl"))
        if model and (instances := self.memory.of_model(model.key)):
            return instances[0]
        listed = self.memory.listed()
        if self.serves_any_name and len(listed) == 1:
            return listed[0]
        return no_model(name) if listed or (self.jit and not model) else openai_error(404, NOT_LOADED)

    async def _answered(self, request: Received, loaded: Loaded, text: str | None) -> Reply:
        asked = sum(len(str(message.get("content")).split()) for message in request.body["messages"])
        if asked > loaded.context_length:
            return openai_error(400, TOO_LONG)
        await self.clock.sleep(self.chat_s)
        words, limit = split_words(self.answer(request.prompt) if text is None else text), _limit(request)
        cut = limit is not None and limit < len(words)
        finish = "length" if cut else "stop"
        said = Said("".join(words[:limit] if cut else words), loaded.id, self.thought, asked, finish)
        if loaded.gone.is_set():
            return broken_off(said)
        stats = self.stats or request.path.endswith(V0_CHAT)
        if not request.body.get("stream"):
            return whole(said, self.reasoning_field, stats=stats)
        usage = bool((request.body.get("stream_options") or {}).get("include_usage"))
        return stream(said, self.reasoning_field, usage=usage, stats=stats)

    async def _reply(self, request: Received) -> Reply:
        body = request.body if isinstance(request.body, dict) else {}
        name = str(body.get("model") or body.get("instance_id") or "")
        entry = Logged(request.path, name, request.body, self.clock.monotonic())
        self.log.append(entry)
        reply = await self._faulty(request) or await self._regular(request)
        entry.ended, entry.status = self.clock.monotonic(), reply.status
        return reply

    async def _faulty(self, request: Received) -> Reply | None:
        path = request.path.removeprefix(self.prefix)
        if self._hangs[path]:
            await self._hangs[path].popleft().pass_through()
        return self._refusals[path].popleft() if self._refusals[path] else None

    async def _regular(self, request: Received) -> Reply:
        if self.api_key and request.headers.get("authorization") != f"Bearer {self.api_key}":
            return native_error(401, "invalid_request", UNAUTHORISED, code="invalid_api_key")
        path = request.path.removeprefix(self.prefix)
        known = request.path.startswith(self.prefix) and f"{request.method} {path}" in self.routes
        return await super()._reply(request) if known else missing(request.method, path)


def _limit(request: Received) -> int | None:
    limit = request.body.get("max_tokens")
    return limit if isinstance(limit, int) and limit >= 0 else None


def _embedded(request: Received, loaded: Loaded) -> Reply:
    texts = request.body.get("input")
    texts = texts if isinstance(texts, list) else [texts]
    data = [{"object": "embedding", "embedding": [float(len(t)), 1.0], "index": i} for i, t in enumerate(texts)]
    return Reply(200, {"object": "list", "data": data, "model": loaded.id, "usage": {"prompt_tokens": 0}}, EXPRESS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until killed; prints one JSON line with the URLs (``servers``, ``exporter``) once it listens."""
    parser = argparse.ArgumentParser(prog="fake_lmstudio", description=main.__doc__)
    parser.add_argument("--port", type=int, action="append", help="one server for each; 0 takes a free port")
    parser.add_argument("--model", action="append", metavar="KEY[=GB]", help="a model on disk; may be repeated")
    parser.add_argument("--gpu-gb", type=float, default=24.0)
    parser.add_argument("--load-s", type=float, default=0.0)
    parser.add_argument("--unload-s", type=float, default=0.0)
    parser.add_argument("--v0", action="store_true", help="be LM Studio before 0.4")
    asyncio.run(_serve(parser.parse_args(arguments)))


async def _serve(options: argparse.Namespace) -> None:
    gpu = SimulatedGpu(round(options.gpu_gb * GB))
    models = [_model(text) for text in options.model or ["m"]]
    async with AsyncExitStack() as stack:
        urls = []
        for port in options.port or [0]:
            server = FakeLMStudio(models, gpu=gpu, native=not options.v0)
            server.port = port
            server.timings.load_s, server.timings.unload_s = options.load_s, options.unload_s
            urls.append((await stack.enter_async_context(server)).url)
        exporter = await stack.enter_async_context(GpuExporter([gpu]))
        sys.stdout.write(json.dumps({"servers": urls, "exporter": f"{exporter.url}/metrics"}) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def _model(text: str) -> StudioModel:
    key, _, size = text.partition("=")
    return StudioModel(key, round(float(size or 1) * GB))


if __name__ == "__main__":
    main()
