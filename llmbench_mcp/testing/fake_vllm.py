"""A stateful simulated vLLM: one model in a GPU's memory, adapters on it, sleep mode.

::

    gpu = SimulatedGpu(24 * GB)
    async with FakeVllm(["m"], adapters={"m-sql": "m"}, gpu=gpu, memory_bytes=20 * GB, sleep_mode=True) as server:
        server.sleeping, server.level     # and server.sleeps, server.wakes: how often
        server.lag = 2                    # orders take effect after so many looks at /is_sleeping
        server.loses_sleeps = 1           # so many orders to sleep are answered and forgotten
        server.thought = "Hm."            # what is thought before an answer

Requests to a sleeping server wait until it is woken. Where the engine is dead (``dead``), ``/health`` answers 503.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs

from llmbench_mcp.testing.fake_server import FakeServer, Received, Script
from llmbench_mcp.testing.replies import Reply, error_reply, text_reply
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedGpu

VERSION = "0.19.1"


class FakeVllm(FakeServer):
    """Start it with ``async with``.

    Args:
        models: the names of its one model; the first is in every answer.
        script: decides about each chat request.
        adapters: LoRA adapters by name, with the name of the model each is on.
        sleep_mode: whether it was started with ``--enable-sleep-mode`` and in development mode.
        gpu: where the model lies, from start to stop unless it sleeps.
        memory_bytes: how much it takes there; ``residue_bytes`` of it stays while it sleeps.

    ``root`` is the model's path or repository, ``length`` its context.
    """

    server_header = "uvicorn"
    owned_by = "vllm"
    root = "/models/weights"
    length = 8192
    residue_bytes = GB // 4

    def __init__(
        self,
        models: Sequence[str] = ("m",),
        script: Script | None = None,
        *,
        adapters: Mapping[str, str] | None = None,
        sleep_mode: bool = False,
        gpu: SimulatedGpu | None = None,
        memory_bytes: int = 8 * GB,
    ) -> None:
        super().__init__(models, script)
        self.adapters = dict(adapters or {})
        self.gpu, self.memory_bytes = gpu, memory_bytes
        self.sleeping, self.level, self.dead = False, 0, False
        self.reloaded = True
        self.sleeps = self.wakes = self.loses_sleeps = self.lag = 0
        self.thought = ""
        self._due: tuple[int, bool] | None = None
        self._awake = asyncio.Event()
        self._awake.set()
        self.routes["GET /version"] = lambda request: Reply(body={"version": VERSION})
        self.routes["GET /health"] = lambda request: Reply(503 if self.dead else 200, b"")
        if sleep_mode:
            self.routes |= {
                "GET /is_sleeping": self.is_sleeping,
                "POST /sleep": self.order_sleep,
                "POST /wake_up": self.order_wake,
                "POST /collective_rpc": self.rpc,
            }

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._hold(self.memory_bytes)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await super().__aexit__(kind, error, trace)
        if self.gpu:
            self.gpu.release_all(self.url)

    def refused(self, request: Received) -> Reply | None:
        """The key guards ``/v1`` only, and the error is a bare text."""
        guarded = request.path.removeprefix(self.prefix).startswith("/v1")
        return Reply(401, {"error": "Unauthorized"}) if guarded and super().refused(request) else None

    def list_models(self, request: Received) -> Reply:
        """``GET /v1/models``: the model under each of its names, then the adapters."""
        entries = [self.entry(model) for model in self.models]
        entries += [
            {**self.entry(name), "root": f"/adapters/{name}", "parent": base, "max_model_len": None}
            for name, base in self.adapters.items()
        ]
        return Reply(body={"object": "list", "data": entries})

    def entry(self, model: str | Mapping[str, Any]) -> Mapping[str, Any]:
        """One entry, with the permissions nobody reads."""
        permission = [{"id": "modelperm-1", "object": "model_permission", "allow_sampling": True}]
        more = {"root": self.root, "parent": None, "max_model_len": self.length, "permission": permission}
        return {**super().entry(model), **more}

    async def chat(self, request: Received) -> Reply:
        """Waits while the server sleeps, then as any."""
        await self._awake.wait()
        return await super().chat(request)

    def ordinary(self, request: Received) -> Reply:
        """An answer with its reasoning in the field ``reasoning``; nonsense while dropped weights are not back."""
        if request.model not in [*self.models, *self.adapters]:
            return error_reply(404, f"The model `{request.model}` does not exist.", kind="NotFoundError")
        text = self.answer(request.prompt) if self.reloaded else "!" * 32
        return text_reply(text, model=self.answering_model(request), reasoning=self.thought, field="reasoning")

    def answering_model(self, request: Received) -> str:
        """The first of the model's names, or the adapter's."""
        return request.model if request.model in self.adapters else str(self.models[0])

    def is_sleeping(self, request: Received) -> Reply:
        """``GET /is_sleeping``, and one step towards what was ordered."""
        if self._due:
            looks, sleeping = self._due
            self._due = (looks - 1, sleeping) if looks else None
            if not looks:
                self._become(sleeping)
        return Reply(body={"is_sleeping": self.sleeping})

    def order_sleep(self, request: Received) -> Reply:
        """``POST /sleep?level=``: an empty answer, perhaps before it sleeps."""
        self.sleeps += 1
        if self.loses_sleeps:
            self.loses_sleeps -= 1
        else:
            self.level = int(parse_qs(request.query).get("level", ["1"])[0])
            self._order(True)
        return Reply(200, b"")

    def order_wake(self, request: Received) -> Reply:
        """``POST /wake_up``, with ``tags`` only a part of it: awake once the cache is back."""
        self.wakes += 1
        tags = parse_qs(request.query).get("tags", [])
        if not tags or "kv_cache" in tags:
            self._order(False)
        return Reply(200, b"")

    def rpc(self, request: Received) -> Reply:
        """``POST /collective_rpc``: ``reload_weights`` reads them from disk."""
        self.reloaded = self.reloaded or (request.body or {}).get("method") == "reload_weights"
        return Reply(body={"results": [None]})

    def _order(self, sleeping: bool) -> None:
        if self.lag:
            self._due = (self.lag - 1, sleeping)
        else:
            self._become(sleeping)

    def _become(self, sleeping: bool) -> None:
        self.sleeping = sleeping
        if sleeping:
            self.reloaded = self.level < 2
            self._awake.clear()
        else:
            self._awake.set()
        self._hold(self.residue_bytes if sleeping else self.memory_bytes)

    def _hold(self, amount: int) -> None:
        if self.gpu:
            self.gpu.allocate(self.url, str(self.models[0]), amount)
