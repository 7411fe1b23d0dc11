"""A scripted llama.cpp server: one model, or router mode with loading and unloading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmbench_mcp.testing.fake_server import FakeServer, Received, Script
from llmbench_mcp.testing.replies import Reply, error_reply, text_reply


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
            return error_reply(503, "Loading model", kind="unavailable_error")
        return Reply(body={"status": "ok"})

    def props(self, request: Received) -> Reply:
        """What the server says about itself."""
        return Reply(
            body={
                "default_generation_settings": {"n_ctx": 4096},
                "model_path": "/models/tiny-1.5B-instruct.Q4_K_M.gguf",
                "model_ftype": "Q4_K - Medium",
                "modalities": {"vision": False},
                "chat_template_caps": {"supports_tool_calls": True},
                "build_info": "b9000-abcdef0",
            }
        )

    def entry(self, model: str | Mapping[str, Any]) -> Mapping[str, Any]:
        """An entry with ``meta``."""
        meta = {"n_ctx": 4096, "n_params": 1_500_000_000, "size": 900_000_000, "ftype": "Q4_K - Medium"}
        return {
            **super().entry(model),
            "aliases": [model, f"{model}-alias"],
            "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
            "meta": meta,
        }

    def ordinary(self, request: Received) -> Reply:
        """The one model answers, whichever was asked."""
        return text_reply(self.answer(request.prompt), model=self.answering_model(request))

    def answering_model(self, request: Received) -> str:
        """The model served."""
        return str(self.models[0])


class FakeRouter(FakeLlama):
    """Router mode: ``states`` maps model names to status words; orders take effect one model list later."""

    def __init__(self, models: Sequence[str], *, fails: Sequence[str] = ()) -> None:
        super().__init__(models[0])
        self.models = list(models)
        self.states = dict.fromkeys(models, "unloaded")
        self.fails = set(fails)
        self._next: dict[str, list[str]] = {}
        self.routes["POST /models/load"] = self.order_load
        self.routes["POST /models/unload"] = self.order_unload

    def props(self, request: Received) -> Reply:
        """The router's own properties."""
        return Reply(body={"role": "router", "max_instances": 1, "build_info": "b9000-abcdef0"})

    def list_models(self, request: Received) -> Reply:
        """The list, and then one step of every pending change."""
        reply = super().list_models(request)
        for name, words in self._next.items():
            if words:
                self.states[name] = words.pop(0)
        return reply

    def entry(self, model: str | Mapping[str, Any]) -> Mapping[str, Any]:
        """An entry with ``status``; ``meta`` only while loaded."""
        name, state = str(model), self.states[str(model)]
        entry = {**super().entry(model), "aliases": []}
        status: dict[str, Any] = {"value": state, "args": ["llama-server", "--model", f"/m/{name}-Q8_0.gguf"]}
        if state == "failed":
            status |= {"value": "unloaded", "failed": True, "exit_code": 1}
        if state != "loaded":
            del entry["meta"]
        return {**entry, "status": status}

    def order_load(self, request: Received) -> Reply:
        """Answers before the model is loaded."""
        name = request.model
        if name not in self.states:
            return error_reply(404, "File Not Found", kind="not_found_error")
        if self.states[name] == "loaded":
            return error_reply(400, "model is already running", kind="invalid_request_error")
        self._next[name] = ["loading", "failed" if name in self.fails else "loaded"]
        return Reply(body={"success": True})

    def order_unload(self, request: Received) -> Reply:
        """Answers before the model is unloaded."""
        if self.states.get(request.model) != "loaded":
            return error_reply(400, "model is not running", kind="invalid_request_error")
        self._next[request.model] = ["unloaded"]
        return Reply(body={"success": True})

    def ordinary(self, request: Received) -> Reply:
        """Refuses models that are unknown or not loaded."""
        state = self.states.get(request.model)
        if state != "loaded":
            problem = "model is not loaded" if state else f"model '{request.model}' not found"
            return error_reply(400, problem, kind="invalid_request_error")
        return text_reply(self.answer(request.prompt), model=request.model)

    def answering_model(self, request: Received) -> str:
        """The model asked for."""
        return request.model
