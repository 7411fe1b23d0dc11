"""What a simulated Ollama says to a request: refusals by ability, ends without an answer, answers with counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from llmbench_mcp.testing.fake_ollama_models import StoredModel
from llmbench_mcp.testing.fake_ollama_wire import Spent, last, ndjson, piece, refusal, split_words
from llmbench_mcp.testing.fake_server import Received
from llmbench_mcp.testing.replies import Reply

_PROMPT_TOKEN_S = 0.01


def options_of(request: Received) -> Mapping[str, Any]:
    """The request's ``options``."""
    return request.body.get("options") or {}


def not_found(name: str) -> Reply:
    """404, as for a model that was never pulled."""
    return refusal(404, f"model '{name}' not found")


def why_refused(model: StoredModel | None, request: Received) -> Reply | None:
    """The refusal of a model that is not there or cannot do what is asked; None when it can."""
    body = request.body
    if model is None:
        return not_found(request.model)
    if body.get("keep_alive") == 0 and not (body.get("prompt") or body.get("messages")):
        return None  # unloading needs no ability
    if "completion" not in model.capabilities:
        return refusal(400, f'"{model.name}" does not support {request.path.rpartition("/")[2]}')
    if body.get("tools") and "tools" not in model.capabilities:
        return refusal(400, f"registry.ollama.ai/library/{model.name} does not support tools")
    if body.get("think") and "thinking" not in model.capabilities:
        return refusal(400, f'"{model.name}" does not support thinking')
    return None


def done(model: StoredModel, reason: str, blank: Mapping[str, Any]) -> Reply:
    """The one object that a request without a prompt gets."""
    stamp = {"model": model.name, "created_at": "2026-01-31T12:00:00Z"}
    return Reply(body={**stamp, **blank, "done": True, "done_reason": reason})


def native_answer(request: Received, text: str, context: int, spent: Spent) -> Reply:
    """The NDJSON answer, cut at ``num_predict``; a prompt beyond the context is cut silently unless forbidden."""
    prompt = sum(len(str(message.get("content")).split()) for message in request.body["messages"])
    if prompt > context and request.body.get("truncate") is False:
        return refusal(400, "the prompt is longer than the context length currently set for this model")
    thoughts = ["Hm. "] if request.body.get("think") else []
    words, reason = split_words(text), "stop"
    limit = options_of(request).get("num_predict", -1)
    if 0 <= limit < len(words):
        words, reason = words[:limit], "length"
    counted = min(prompt, context)
    spent = replace(spent, prompt_tokens=counted, tokens=len(words) + len(thoughts), prompt_s=counted * _PROMPT_TOKEN_S)
    lines = [piece(thinking=thought, model=request.model) for thought in thoughts]
    lines += [piece(word, model=request.model) for word in words]
    return ndjson([*lines, last(spent, model=request.model, reason=reason)])
