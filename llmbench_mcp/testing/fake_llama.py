"""A scripted llama.cpp server: one model, or router mode with loading, unloading and eviction.

::

    async with FakeRouter(["a", "b"], models_max=1, gpu=gpu) as router:
        router.states            # {"a": "unloaded", "b": "unloaded"}
        router.loads             # every load, in order, autoloads too
        router.busy.add("a")     # in the middle of somebody's request: not evicted
        router.fails.add("b")    # its process ends at once
        router.hangs.add("b")    # it stays loading for ever
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs

from llmbench_mcp.testing.fake_server import FakeServer, Received, Script
from llmbench_mcp.testing.replies import Reply, error_reply, text_reply
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedGpu

BUILD = "b9000-abcdef0"
_SHAPE = {"input_modalities": ["text"], "output_modalities": ["text"]}
_META = {
    "vocab_type": 1,
    "n_vocab": 32_000,
    "n_ctx": 4096,
    "n_ctx_train": 32_768,
    "n_embd": 2048,
    "n_params": 1_500_000_000,
    "size": 900_000_000,
    "ftype": "Q4_K - Medium",
}


class FakeLlama(FakeServer):
    """Single mode: answers under its own model's name whatever name was asked, as the real one does."""

    server_header = "llama.cpp"
    owned_by = "llamacpp"

    def __init__(self, model: str = "tiny", script: Script | None = None, *, starting: int = 0) -> None:
        super().__init__([model], script)
        self.starting = starting
        self.routes["GET /health"] = self.health
        self.routes["GET /props"] = self.props

    def health(self, request: Received) -> Reply:
        """503 for the first ``starting`` times."""
        self.starting -= 1
        if self.starting >= 0:
            return _loading()
        return Reply(body={"status": "ok"})

    def props(self, request: Received) -> Reply:
        """What the server says about itself."""
        return Reply(body=_props("tiny-1.5B-instruct.Q4_K_M.gguf"))

    def list_models(self, request: Received) -> Reply:
        """The OpenAI list, with a second one beside it that looks like Ollama's and is mostly empty."""
        details = {"format": "gguf", "family": "", "parameter_size": "", "quantization_level": ""}
        second = [
            {"name": name, "model": name, "size": "", "capabilities": ["completion"], "details": details}
            for name in map(str, self.models)
        ]
        return Reply(body={"models": second, "object": "list", "data": [self.entry(model) for model in self.models]})

    def entry(self, model: str | Mapping[str, Any]) -> Mapping[str, Any]:
        """An entry with ``meta``."""
        aliases = [model, f"{model}-alias"]
        return {**super().entry(model), "aliases": aliases, "tags": [], "architecture": _SHAPE, "meta": _META}

    def ordinary(self, request: Received) -> Reply:
        """The one model answers, whichever was asked."""
        return text_reply(self.answer(request.prompt), model=self.answering_model(request))

    def answering_model(self, request: Received) -> str:
        """The model served."""
        return str(self.models[0])


class FakeRouter(FakeLlama):
    """Router mode. Orders are answered at once and take effect one model list later.

    Args:
        models: their names.
        fails: those whose process ends while it starts.
        models_max: as ``--models-max``: one more makes the least recently used one leave; 0 is no limit.
        autoload: whether a chat loads its model; False is ``--no-models-autoload``.
        gpu: where they are loaded, each taking its ``sizes`` entry (bytes) or one GB.

    ``states`` maps names to status words and may be set. ``starting`` and ``aliases`` are as on a single server.
    """

    def __init__(
        self,
        models: Sequence[str],
        *,
        fails: Sequence[str] = (),
        models_max: int = 4,
        autoload: bool = False,
        gpu: SimulatedGpu | None = None,
    ) -> None:
        super().__init__(models[0])
        self.models = list(models)
        self.states = dict.fromkeys(models, "unloaded")
        self.fails, self.hangs, self.busy = set(fails), set[str](), set[str]()
        self.models_max = models_max
        self.autoload = autoload
        self.gpu = gpu
        self.sizes: dict[str, int] = {}
        self.loads: list[str] = []
        self._used: list[str] = []
        self._next: dict[str, list[str]] = {}
        self.routes["POST /models/load"] = self.order_load
        self.routes["POST /models/unload"] = self.order_unload
        self.routes["GET /slots"] = self.slots

    @property
    def running(self) -> list[str]:
        """The models that have a process."""
        return [name for name, state in self.states.items() if state in ("loaded", "loading", "sleeping")]

    def props(self, request: Received) -> Reply:
        """The router's own properties, or with ``?model=`` those of a loaded model."""
        name = _query(request, "model")
        if name is not None:
            return self._gate(name, request) or Reply(body=_props(f"{name}-Q8_0.gguf", name))
        return Reply(
            body={
                "role": "router",
                "max_instances": self.models_max,
                "models_autoload": self.autoload,
                "model_alias": "llama-server",
                "model_path": "none",
                "default_generation_settings": {"params": None, "n_ctx": 0},
                "build_info": BUILD,
            }
        )

    def slots(self, request: Received) -> Reply:
        """One idle slot of a loaded model."""
        name = _query(request, "model")
        if name is None:
            return _bad("model name is missing from the request")
        return self._gate(name, request) or Reply(body=[{"id": 0, "n_ctx": 4096, "is_processing": name in self.busy}])

    def list_models(self, request: Received) -> Reply:
        """The list, and then one step of every pending change."""
        reply = Reply(body={"data": [self.entry(model) for model in self.models], "object": "list"})
        for name, words in self._next.items():
            if words:
                self._set(name, words.pop(0))
        return reply

    def entry(self, model: str | Mapping[str, Any]) -> Mapping[str, Any]:
        """An entry with ``status``; ``meta`` only while loaded."""
        name, state = str(model), self.states[str(model)]
        args = ["llama-server", "--alias", name, "--model", f"/m/{name}-Q8_0.gguf", "--parallel", "1"]
        preset = f"[{name}]\nmodel = /m/{name}-Q8_0.gguf\nparallel = 1\n\n"
        status: dict[str, Any] = {"value": state, "args": args, "preset": preset}
        if state == "failed":
            status |= {"value": "unloaded", "failed": True, "exit_code": 1}
        entry = {**super().entry(model), "aliases": [], "status": status, "source": "models_dir", "can_remove": False}
        if state != "loaded":
            del entry["meta"]
        return entry

    def order_load(self, request: Received) -> Reply:
        """Answers before the model is loaded; makes another leave first where there is no place."""
        name = request.model
        if name not in self.states:
            return error_reply(404, "File Not Found", kind="not_found_error")
        if name in self.running:
            return _bad("model is already running")
        if not self._make_place():
            return error_reply(500, "model limit reached, try again later", kind="server_error")
        self._start(name)
        ending = [] if name in self.hangs else ["failed" if name in self.fails else "loaded"]
        self._next[name] = ["loading", *ending]
        return Reply(body={"success": True})

    def order_unload(self, request: Received) -> Reply:
        """Answers before the model is unloaded."""
        if request.model not in self.running:
            return _bad("model is not running" if request.model in self.states else "model is not found")
        self._next[request.model] = ["unloaded"]
        return Reply(body={"success": True})

    def ordinary(self, request: Received) -> Reply:
        """Refuses models that are unknown, not loaded or loading; autoloads where that is on."""
        refused = self._gate(request.model, request)
        if refused:
            return refused
        self._touch(request.model)
        self._set(request.model, "loaded")  # wakes a sleeping one
        return text_reply(self.answer(request.prompt), model=request.model)

    def answering_model(self, request: Received) -> str:
        """The model asked for."""
        return request.model

    def _gate(self, name: str, request: Received) -> Reply | None:
        """Why a request for that model is refused; None once it may pass, its model loaded."""
        if name not in self.states:
            return _bad(f"model '{name}' not found")
        wanted = _query(request, "autoload")
        autoload = self.autoload if wanted is None else wanted in ("true", "1")
        if name in self.running and not (autoload and self.states[name] == "loading"):
            return _loading() if self.states[name] == "loading" else None
        return self._load_now(name) if autoload else _bad("model is not loaded")

    def _load_now(self, name: str) -> Reply | None:
        if name not in self.running:
            if not self._make_place():
                return error_reply(500, "model limit reached, try again later", kind="server_error")
            self._start(name)
        self._next[name] = []
        self._set(name, "failed" if name in self.fails else "loaded")
        return error_reply(500, f"model name={name} failed to load") if name in self.fails else None

    def _start(self, name: str) -> None:
        self.loads.append(name)
        self._touch(name)

    def _touch(self, name: str) -> None:
        self._used = [*(other for other in self._used if other != name), name]

    def _make_place(self) -> bool:
        """Whether there is a place, after the least recently used model that is idle has left if need be."""
        coming = {name for name, words in self._next.items() if words and words[0] == "loading"}
        if self.models_max <= 0 or len(coming.union(self.running)) < self.models_max:
            return True
        idle = [name for name in self._used if self.states[name] in ("loaded", "sleeping") and name not in self.busy]
        for victim in idle[:1]:
            self._next[victim] = []
            self._set(victim, "unloaded")
        return bool(idle)

    def _set(self, name: str, state: str) -> None:
        self.states[name] = state
        if self.gpu and state in ("loading", "loaded"):
            if not any((a.holder, a.model) == (self.url, name) for a in self.gpu.held):
                self.gpu.allocate(self.url, name, self.sizes.get(name, GB))
        elif self.gpu:
            self.gpu.release(self.url, name)


def _props(file_name: str, alias: str = "tiny") -> dict[str, Any]:
    return {
        "default_generation_settings": {"n_ctx": 4096},
        "total_slots": 1,
        "model_alias": alias,
        "model_path": f"/models/{file_name}",
        "model_ftype": "Q4_K - Medium",
        "modalities": {"vision": False, "video": False, "audio": False},
        "chat_template_caps": {"supports_tool_calls": True, "supports_tools": True},
        "build_info": BUILD,
        "is_sleeping": False,
    }


def _query(request: Received, name: str) -> str | None:
    return next(iter(parse_qs(request.query).get(name, [])), None)


def _bad(message: str) -> Reply:
    return error_reply(400, message, kind="invalid_request_error")


def _loading() -> Reply:
    return error_reply(503, "Loading model", kind="unavailable_error")
