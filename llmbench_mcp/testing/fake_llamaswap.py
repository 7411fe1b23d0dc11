"""A stateful simulated llama-swap: it starts and stops a server per model as requests come.

::

    models = [SwapModel("a", 8 * GB, start_s=4), SwapModel("b", ttl=60), SwapModel("c", fails=True)]
    async with FakeLlamaSwap(models, groups=[{"a", "b"}], gpu=gpu, clock=clock) as server:
        server.states             # {"a": "ready"}: what /running lists
        server.starts             # every start, in order
        server.loses_unloads = 1  # so many orders to unload are answered and forgotten
        server.hang("a")          # its next start never ends, until the gate is opened

A model runs alone unless a group holds it: the members of a group run together, and starting one of them stops
all others. ``stop_s`` seconds pass between the order to stop and the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from llmbench_mcp.domain.clock import SystemClock
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.testing.fake_server import FakeServer, Received, Script
from llmbench_mcp.testing.replies import Gate, Reply, text_reply
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedGpu

VERSION = "v172"
_UPSTREAM, _UNLOAD = "/upstream/", "/api/models/unload/"
_TYPES = {401: "authentication_error", 404: "invalid_request_error", 429: "rate_limit_error"}
_CODES = {401: "unauthorized", 404: "not_found", 429: "concurrency_limit", 502: "bad_gateway"}


@dataclass(frozen=True, slots=True)
class SwapModel:
    """A configured model. ``size`` in bytes; ``ttl`` idle seconds until it stops, 0 for never.

    ``upstream_name`` is what its own server calls it in answers; a ``peer``'s model runs elsewhere.
    """

    name: str
    size: int = GB
    ttl: int = 0
    start_s: float = 0.0
    fails: bool = False
    upstream_name: str = ""
    peer: str = ""


@dataclass
class _Process:
    state: str
    used_at: float
    stopped_at: float = 0.0


class FakeLlamaSwap(FakeServer):
    """Start it with ``async with``; ``script`` decides about chats once the model runs.

    Args:
        models: what is configured.
        groups: sets of models that may run together.
        gpu: where the models' servers load.
        clock: of starting, stopping and idle times.
        unloads_one: False is a version that can only unload all.
    """

    server_header = ""
    owned_by = "llama-swap"

    def __init__(
        self,
        models: Sequence[SwapModel | str] = ("m",),
        script: Script | None = None,
        *,
        groups: Sequence[Collection[str]] = (),
        gpu: SimulatedGpu | None = None,
        clock: Clock | None = None,
        unloads_one: bool = True,
    ) -> None:
        super().__init__((), script)
        made = [SwapModel(model) if isinstance(model, str) else model for model in models]
        self.configured = {model.name: model for model in made}
        self.groups, self.gpu = [frozenset(group) for group in groups], gpu
        self.clock = clock or (gpu.clock if gpu else SystemClock())
        self.unloads_one = unloads_one
        self.stop_s = 0.0
        self.loses_unloads = 0
        self.starts: list[str] = []
        self._processes: dict[str, _Process] = {}
        self._hangs: dict[str, Gate] = {}
        self._turn = asyncio.Lock()
        self._swaps: set[asyncio.Task[Reply | None]] = set()
        if gpu:
            gpu.before_reading.append(self.settle)
        self.routes |= {
            "GET /health": lambda request: Reply(body=b"OK", content_type="text/plain"),
            "GET /api/version": lambda request: Reply(body={"version": VERSION, "commit": "0", "build_date": "0"}),
            "GET /running": self.running,
            "GET /unload": self.unload_all,
        }

    async def stop(self) -> None:
        """Close everything at once, and all servers behind it."""
        for swap in self._swaps:
            swap.cancel()
        await asyncio.gather(*self._swaps, return_exceptions=True)
        await super().stop()
        for name in list(self._processes):
            self.kill(name)

    @property
    def states(self) -> dict[str, str]:
        """What runs now, by name."""
        self.settle()
        return {name: process.state for name, process in sorted(self._processes.items())}

    def hang(self, name: str) -> Gate:
        """Let the model's next start hang until the gate is opened."""
        self._hangs[name] = gate = Gate()
        return gate

    def kill(self, name: str) -> None:
        """The model's server ends at once, by itself or by another's doing."""
        self._processes.pop(name, None)
        if self.gpu:
            self.gpu.release(self.url, name)

    def settle(self) -> None:
        """Do what is due by now."""
        now = self.clock.monotonic()
        for name, process in list(self._processes.items()):
            ttl = self.configured[name].ttl
            if process.state == "ready" and ttl and now >= process.used_at + ttl:
                self._stop(name, process.used_at + ttl)
            if process.state == "stopping" and now >= process.stopped_at:
                self.kill(name)

    def list_models(self, request: Received) -> Reply:
        """``GET /v1/models``, sorted; a peer's model says whose it is."""
        entries = [self._entry_of(model) for _, model in sorted(self.configured.items())]
        return Reply(body={"object": "list", "data": entries})

    def _entry_of(self, model: SwapModel) -> Mapping[str, Any]:
        meta = {"meta": {"llamaswap": {"peerID": model.peer}}} if model.peer else {}
        return {**self.entry(model.name), **meta}

    def running(self, request: Received) -> Reply:
        """``GET /running``."""
        rows = [
            {
                "model": name,
                "state": state,
                "cmd": f"llama-server --port 9001 -m /m/{name}.gguf",
                "proxy": "http://localhost:9001",
                "ttl": self.configured[name].ttl,
                "name": "",
                "description": "",
            }
            for name, state in self.states.items()
        ]
        return Reply(body={"running": rows})

    def unload_all(self, request: Received) -> Reply:
        """``GET /unload``."""
        return self._unload(list(self.states))

    async def chat(self, request: Received) -> Reply:
        """Starts the model if need be, then as any."""
        refused = await self._ready(request.model)
        return refused or await super().chat(request)

    def ordinary(self, request: Received) -> Reply:
        """An answer by the model's own server."""
        return text_reply(self.answer(request.prompt), model=self.answering_model(request))

    def answering_model(self, request: Received) -> str:
        """The name the model's own server gives."""
        return self.configured[request.model].upstream_name or request.model

    def refused(self, request: Received) -> Reply | None:
        """``/health`` is for everybody; the rest wants the key, where there is one."""
        open_to_all = request.path.removeprefix(self.prefix) == "/health"
        return None if open_to_all or not super().refused(request) else own_error(401, "unauthorized")

    async def _reply(self, request: Received) -> Reply:
        path = unquote(request.path.removeprefix(self.prefix))
        if path.startswith(_UPSTREAM):
            return self.refused(request) or await self._upstream(path.removeprefix(_UPSTREAM))
        if path.startswith(_UNLOAD) and self.unloads_one:
            return self.refused(request) or self._unload_one(path.removeprefix(_UNLOAD))
        return await super()._reply(request)

    async def _upstream(self, rest: str) -> Reply:
        name = next((name for name in self.configured if rest.startswith(f"{name}/")), None)
        if name is None:
            return own_error(404, "model not found")
        return await self._ready(name) or Reply(body={"status": "ok"})

    def _unload_one(self, name: str) -> Reply:
        return self._unload([name]) if name in self.configured else own_error(404, "model not found")

    def _unload(self, names: Sequence[str]) -> Reply:
        if self.loses_unloads:
            self.loses_unloads -= 1
            names = ()
        for name in names:
            self._stop(name, self.clock.monotonic())
        self.settle()
        return Reply(body=b"OK", content_type="text/plain")

    async def _ready(self, name: str) -> Reply | None:
        """Why the model cannot be had; None once it runs."""
        model = self.configured.get(name)
        if model is None:
            return own_error(404, "no router found for model")
        if model.peer:
            return None
        swap = asyncio.create_task(self._swap_to(model))  # goes on when its request is given up
        self._swaps.add(swap)
        swap.add_done_callback(self._swaps.discard)
        return await asyncio.shield(swap)

    async def _swap_to(self, model: SwapModel) -> Reply | None:
        async with self._turn:  # one after the other
            if self.states.get(model.name) != "ready" and not await self._start(model):
                return own_error(502, f"process for {model.name} exited before it was ready")
            self._processes[model.name].used_at = self.clock.monotonic()
        return None

    async def _start(self, model: SwapModel) -> bool:
        await self._make_room(model.name)
        self.starts.append(model.name)
        self._processes[model.name] = _Process("starting", self.clock.monotonic())
        if self.gpu:
            self.gpu.allocate(self.url, model.name, model.size)
        if model.name in self._hangs:
            await self._hangs.pop(model.name).pass_through()
        await self.clock.sleep(model.start_s)
        if model.fails or model.name not in self._processes:
            self.kill(model.name)
            return False
        self._processes[model.name].state = "ready"
        return True

    async def _make_room(self, name: str) -> None:
        together = next((group for group in self.groups if name in group), frozenset({name}))
        for other, state in self.states.items():
            if other not in together or state == "stopping":
                self._stop(other, self.clock.monotonic())
        while any(state == "stopping" for state in self.states.values()):
            await self.clock.sleep(self.stop_s / 4)

    def _stop(self, name: str, at: float) -> None:
        process = self._processes.get(name)
        if process and process.state != "stopping":
            process.state, process.stopped_at = "stopping", at + self.stop_s


def own_error(status: int, message: str, **headers: str) -> Reply:
    """An error of llama-swap itself, not of a server behind it."""
    kind, code = _TYPES.get(status, "server_error"), _CODES.get(status, "internal_error")
    body = {"src": "llama-swap", "error": {"message": message, "type": kind, "param": None, "code": code}}
    return Reply(status, body, {name.replace("_", "-"): value for name, value in headers.items()})
