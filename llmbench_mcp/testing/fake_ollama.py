"""A stateful simulated Ollama: a store of models, a GPU's memory, and an HTTP server that behaves as the real one.

::

    gpu, store = SimulatedGpu(24 * GB), OllamaStore([StoredModel("big:30b", 20 * GB), "m"])
    async with FakeOllama(store, gpu=gpu) as a, FakeOllama(store, gpu=gpu) as b:
        a.faults.never_unloads = True      # and lost_unloads, keeps_memory, load_error
        a.hang("/api/chat")                # the next such request is never answered
        a.refuse("/api/chat", 500, "boom") # the next such request is refused
        await a.restart(); a.evict("m"); await a.load_by_other("m")
        a.log                              # every request with its times
        gpu.together(10 * GB)              # two big models at once?

As a process: ``python -m llmbench_mcp.testing.fake_ollama --port 0 --port 0 --gpu-gb 24 --model big:30b=20``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from llmbench_mcp.domain.clock import SystemClock
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.testing.fake_ollama_models import OllamaStore, StoredModel
from llmbench_mcp.testing.fake_ollama_replies import done, native_answer, not_found, options_of, why_refused
from llmbench_mcp.testing.fake_ollama_scheduler import Faults, Loaded, RefusedError, Scheduler, Timings
from llmbench_mcp.testing.fake_ollama_wire import Spent, keep_alive_s, refusal, rfc3339
from llmbench_mcp.testing.fake_server import FakeServer, Received, Script, Scripted
from llmbench_mcp.testing.replies import Gate, Reply, text_reply
from llmbench_mcp.testing.simulated_gpu import GB, GpuExporter, SimulatedGpu

CHAT = "/api/chat"
VERSION = "0.12.6"


@dataclass
class Logged:
    """One request: path, model, and the clock's times of its arrival and of its answer (None: not yet)."""

    path: str
    model: str
    body: Any
    started: float
    ended: float | None = None
    status: int | None = None


class FakeOllama(FakeServer):
    """Start it with ``async with``; ``script`` decides about chats first, as in ``FakeServer``.

    Args:
        models: a store, perhaps shared, or what to put into an own one.
        gpu: where models are loaded; None is a server without a GPU.
        clock: of keep-alive, loading and unloading times.
        max_loaded: as OLLAMA_MAX_LOADED_MODELS.

    ``timings.load_s`` and so on set how long things take, ``chat_s`` how long an answer is generated,
    ``default_context`` the context of requests without ``num_ctx``.
    """

    server_header = ""
    owned_by = "library"

    def __init__(
        self,
        models: OllamaStore | Iterable[StoredModel | str] = ("m",),
        script: Script | None = None,
        *,
        gpu: SimulatedGpu | None = None,
        clock: Clock | None = None,
        max_loaded: int = 3,
    ) -> None:
        super().__init__((), script)
        self.store = models if isinstance(models, OllamaStore) else OllamaStore(models)
        self.clock = clock or (gpu.clock if gpu else SystemClock())
        self.scheduler = Scheduler(self.clock, gpu, f"ollama-{id(self):x}", max_loaded=max_loaded)
        self.default_context = 4096
        self.chat_s = 0.0
        self.max_queue = 512
        self.log: list[Logged] = []
        self._hangs: dict[str, deque[Gate]] = defaultdict(deque)
        self._refusals: dict[str, deque[Reply]] = defaultdict(deque)
        self._asking = 0
        self._restarting = asyncio.Lock()
        self.routes |= {
            "GET /": lambda request: Reply(body="Ollama is running", content_type="text/plain; charset=utf-8"),
            "GET /api/version": lambda request: Reply(body={"version": VERSION}),
            "GET /api/tags": self.tags,
            "GET /api/ps": self.ps,
            "POST /api/show": self.show,
            "POST /api/generate": self.generate,
            "POST /api/embed": self.embed,
            f"POST {CHAT}": self.chat,
        }

    @property
    def faults(self) -> Faults:
        """What goes wrong with memory."""
        return self.scheduler.faults

    @property
    def timings(self) -> Timings:
        """How long things take."""
        return self.scheduler.timings

    @property
    def prompts(self) -> list[str]:
        """The prompts of all native chats, in order of arrival."""
        return [request.prompt for request in self.requests if request.path.endswith(CHAT)]

    @property
    def loaded_names(self) -> list[str]:
        """The models ``/api/ps`` lists, sorted."""
        return sorted(loaded.model.name for loaded in self.scheduler.listed())

    def hang(self, path: str) -> Gate:
        """Let the next request of that path hang, until the gate is opened."""
        self._hangs[path].append(gate := Gate())
        return gate

    def refuse(self, path: str, status: int, message: str, **headers: str) -> None:
        """Refuse the next request of that path."""
        self._refusals[path].append(refusal(status, message, **headers))

    async def restart(self, *, memory_too: bool = True) -> None:
        """Break all connections, forget all residents, and listen again on the same port."""
        async with self._restarting:
            await self.stop()
            self.scheduler.forget_all(memory_too=memory_too)
            await self.__aenter__()

    def evict(self, name: str) -> None:
        """Somebody else throws a model out."""
        self.scheduler.evict(name)

    async def load_by_other(self, name: str, keep_alive: float = -1) -> None:
        """Somebody else loads a model."""
        model = self.store.find(name)
        assert model, name
        async with self.scheduler.using(model, self.default_context, keep_alive):
            pass

    def heal(self) -> None:
        """No more faults of any kind."""
        self.scheduler.heal()
        self._hangs.clear()
        self._refusals.clear()

    def list_models(self, request: Received) -> Reply:
        """``GET /v1/models``."""
        self.models = [model.name for model in self.store]
        return super().list_models(request)

    def tags(self, request: Received) -> Reply:
        """``GET /api/tags``."""
        return Reply(body={"models": [model.as_entry() for model in self.store]})

    def show(self, request: Received) -> Reply:
        """``POST /api/show``."""
        model = self.store.find(request.model)
        return Reply(body=model.as_shown()) if model else not_found(request.model)

    def ps(self, request: Received) -> Reply:
        """``GET /api/ps``."""
        return Reply(body={"models": [self._resident(loaded) for loaded in self.scheduler.listed()]})

    def _resident(self, loaded: Loaded) -> dict[str, Any]:
        left_s = loaded.expires_at - self.clock.monotonic()
        return {
            "name": loaded.model.name,
            "model": loaded.model.name,
            "size": loaded.size,
            "digest": loaded.model.digest,
            "details": loaded.model.details(),
            "expires_at": rfc3339(self.clock.utc_now(), left_s),
            "size_vram": loaded.size_vram,
            "context_length": loaded.context_length,
        }

    async def generate(self, request: Received) -> Reply:
        """``POST /api/generate``: without a prompt it loads, and with keep_alive 0 besides it unloads."""
        prompt = request.body.get("prompt") or ""
        return await self._run(request, prompt, {"response": ""})

    async def chat(self, request: Received) -> Reply:
        """``POST /api/chat``, and the OpenAI-compatible one: the script's reply, else an ordinary answer."""
        scripted = self.script(request) if self.script else None
        if isawaitable(scripted):
            scripted = await scripted
        if isinstance(scripted, Reply) and scripted.status != 200:
            return scripted
        return await self._run(request, request.prompt, {"message": {"role": "assistant", "content": ""}}, scripted)

    async def _run(self, request: Received, prompt: str, blank: dict[str, Any], scripted: Scripted = None) -> Reply:
        model = self.store.find(request.model)
        refused = why_refused(model, request)
        if model is None or refused:
            return refused or not_found(request.model)
        keep = keep_alive_s(request.body.get("keep_alive"))
        if not prompt and keep == 0:
            self.scheduler.order_unload(model.name)
            return done(model, "unload", blank)
        if model.remote_host:
            return await self._answered(request, self.default_context, 0.0, scripted)
        async with self._loaded(request, model, keep) as (context, load_s):
            return await self._answered(request, context, load_s, scripted) if prompt else done(model, "load", blank)

    @asynccontextmanager
    async def _loaded(
        self, request: Received, model: StoredModel, keep: float | None
    ) -> AsyncIterator[tuple[int, float]]:
        """The context in force and the seconds loading took, while the model is kept in use."""
        context = options_of(request).get("num_ctx") or self.default_context
        if self._asking >= self.max_queue:
            raise RefusedError(503, "server busy, please try again.  maximum pending requests exceeded")
        self._asking += 1
        try:
            async with self.scheduler.using(model, context, keep) as (_, load_s):
                yield context, load_s
        finally:
            self._asking -= 1

    async def _answered(self, request: Received, context: int, load_s: float, scripted: Scripted) -> Reply:
        await self.clock.sleep(self.chat_s)
        if isinstance(scripted, Reply):
            return scripted
        text = self.answer(request.prompt) if scripted is None else scripted
        if not request.path.endswith(CHAT):
            return text_reply(text, model=request.model)
        return native_answer(request, text, context, Spent(load_s=load_s, eval_s=self.chat_s or 0.5))

    async def embed(self, request: Received) -> Reply:
        """``POST /api/embed``: two numbers for each input; without input it only loads."""
        model = self.store.find(request.model)
        if model is None:
            return not_found(request.model)
        if "embedding" not in model.capabilities:
            return refusal(400, f'"{model.name}" does not support embeddings')
        texts = request.body.get("input") or []
        texts = [texts] if isinstance(texts, str) else texts
        async with self._loaded(request, model, keep_alive_s(request.body.get("keep_alive"))):
            return Reply(body={"model": request.model, "embeddings": [[float(len(text)), 1.0] for text in texts]})

    async def _reply(self, request: Received) -> Reply:
        entry = Logged(request.path, _model_in(request), request.body, self.clock.monotonic())
        self.log.append(entry)
        try:
            reply = await self._faulty(request) or await super()._reply(request)
        except RefusedError as refused:
            reply = refusal(refused.status, refused.text)
        entry.ended, entry.status = self.clock.monotonic(), reply.status
        return reply

    async def _faulty(self, request: Received) -> Reply | None:
        path = request.path.removeprefix(self.prefix)
        if self._hangs[path]:
            await self._hangs[path].popleft().pass_through()
        return self._refusals[path].popleft() if self._refusals[path] else None


def _model_in(request: Received) -> str:
    return request.model if isinstance(request.body, dict) else ""


def main(argv: Sequence[str] | None = None) -> None:
    """Serve as a process of its own until killed; ``--help`` lists the options.

    Writes one line of JSON once all listen: ``{"ports": [...], "exporter": port}``. The exporter's ``/metrics``
    tells the memory of the GPU that all servers share, as DCGM's exporter does.
    """
    parser = argparse.ArgumentParser(prog="fake_ollama")
    parser.add_argument("--port", type=int, action="append", help="one server each; 0 takes a free port")
    parser.add_argument("--exporter-port", type=int, default=0)
    parser.add_argument("--gpu-gb", type=float, default=24.0)
    parser.add_argument("--model", action="append", metavar="NAME=GB", help="repeat for several")
    parser.add_argument("--load-s", type=float, default=0.0)
    parser.add_argument("--unload-s", type=float, default=0.0)
    parser.add_argument("--chat-s", type=float, default=0.0)
    options = parser.parse_args(argv)
    try:
        asyncio.run(_serve(options))
    except KeyboardInterrupt:
        sys.exit(130)


async def _serve(options: argparse.Namespace) -> None:
    gpu = SimulatedGpu(round(options.gpu_gb * GB))
    store = OllamaStore(map(_model, options.model or ["m=1"]))
    exporter = GpuExporter([gpu])
    exporter.port = options.exporter_port
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(exporter)
        servers = [await stack.enter_async_context(_server(store, gpu, port, options)) for port in options.port or [0]]
        ready = {"ports": [server.port for server in servers], "exporter": exporter.port}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def _server(store: OllamaStore, gpu: SimulatedGpu, port: int, options: argparse.Namespace) -> FakeOllama:
    server = FakeOllama(store, gpu=gpu)
    server.port = port
    server.timings.load_s, server.timings.unload_s = options.load_s, options.unload_s
    server.chat_s = options.chat_s
    return server


def _model(text: str) -> StoredModel:
    name, _, size = text.rpartition("=")
    return StoredModel(name, round(float(size) * GB)) if name else StoredModel(text)


if __name__ == "__main__":
    main()
