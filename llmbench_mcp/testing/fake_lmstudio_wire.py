"""LM Studio's wire forms as a simulated server writes them: errors, streams with either reasoning field, stats."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from llmbench_mcp.testing.replies import DONE, Reply, event, streamed

EXPRESS = {"X-Powered-By": "Express"}
NOT_LOADED = "No models loaded. Please load a model in the developer page or use the 'lms load' command."
TOO_LONG = (
    "The number of tokens to keep from the initial prompt is greater than the context length."
    " Try to load the model with a larger context length, or provide a shorter input"
)
UNAUTHORISED = (
    "An LM Studio API token is required to make requests to this server, but none was provided using the"
    " Authorization header using the 'Bearer' scheme."
)


@dataclass(frozen=True, slots=True)
class Said:
    """An answer: its words, what was thought before, under which name, and the prompt's tokens."""

    text: str
    model: str
    thought: str = ""
    prompt_tokens: int = 0
    finish: str = "stop"

    @property
    def tokens(self) -> int:
        """A token a word."""
        return len(split_words(self.text)) + len(split_words(self.thought))

    @property
    def usage(self) -> dict[str, Any]:
        """``usage`` as the OpenAI-compatible API has it."""
        usage: dict[str, Any] = {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.tokens,
            "total_tokens": self.prompt_tokens + self.tokens,
        }
        if self.thought:
            usage["completion_tokens_details"] = {"reasoning_tokens": len(split_words(self.thought))}
        return usage

    @property
    def stats(self) -> dict[str, Any]:
        """``stats`` as API v0 has it; the times are in seconds."""
        reason = {"stop": "eosFound", "length": "maxPredictedTokensReached"}[self.finish]
        return {
            "tokens_per_second": 50.0,
            "time_to_first_token": 0.125,
            "generation_time": self.tokens / 50.0,
            "stop_reason": reason,
        }


def split_words(text: str) -> list[str]:
    """The words, each with the blank after it: joined they are the text again."""
    return re.findall(r"\S+\s*|\s+", text)


def missing(method: str, path: str) -> Reply:
    """What every unknown path is answered with: status 200."""
    return Reply(200, {"error": f"Unexpected endpoint or method. ({method} {path})"}, EXPRESS)


def native_error(status: int, kind: str, message: str, **more: Any) -> Reply:
    """An error of API v1."""
    return Reply(status, {"error": {"type": kind, "message": message, **more}}, EXPRESS)


def openai_error(status: int, message: str, code: str | None = None) -> Reply:
    """An error of the OpenAI-compatible API."""
    error = {"message": message, "type": "invalid_request_error", "param": "model", "code": code}
    return Reply(status, {"error": error}, EXPRESS)


def no_model(name: str) -> Reply:
    """404 for a name that nothing has."""
    return openai_error(404, f'Model "{name}" not found. Please specify a valid model.', "model_not_found")


def whole(said: Said, reasoning_field: str, *, stats: bool) -> Reply:
    """The answer in one piece."""
    message = {"role": "assistant", "content": said.text}
    if said.thought:
        message[reasoning_field] = said.thought
    choice = {"index": 0, "logprobs": None, "finish_reason": said.finish, "message": message}
    body = {**_head(said, "chat.completion"), "choices": [choice], "usage": said.usage}
    return Reply(200, body | ({"stats": said.stats} if stats else {}), EXPRESS)


def stream(said: Said, reasoning_field: str, *, usage: bool, stats: bool) -> Reply:
    """The answer word by word."""
    deltas: list[dict[str, str]] = [{"role": "assistant"}] if not said.thought and not said.text else []
    deltas += [{"role": "assistant", reasoning_field: word} for word in split_words(said.thought)]
    deltas += [{"role": "assistant", "content": word} for word in split_words(said.text)]
    closing = _chunk(said, {}, said.finish) | ({"stats": said.stats} if stats else {})
    counted = {**_head(said, "chat.completion.chunk"), "choices": [], "usage": said.usage}
    events = [*(_chunk(said, delta) for delta in deltas), closing, *([counted] if usage else [])]
    return streamed([*(event(one) for one in events), DONE])


def broken_off(said: Said) -> Reply:
    """An answer whose instance was unloaded while it was given: the first word, then a named error event."""
    error = {"error": {"message": "Model unloaded.", "type": "internal_error"}}
    first = _chunk(said, {"role": "assistant", "content": split_words(said.text)[0]})
    return streamed([event(first), b"event: error\ndata: " + json.dumps(error).encode() + b"\n\n"])


def _head(said: Said, kind: str) -> dict[str, Any]:
    name = said.model
    return {"id": "chatcmpl-1", "object": kind, "created": 0, "model": name, "system_fingerprint": name}


def _chunk(said: Said, delta: dict[str, str], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {**_head(said, "chat.completion.chunk"), "choices": [choice]}
