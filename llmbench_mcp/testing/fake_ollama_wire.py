"""Ollama's wire forms as a simulated server writes them: NDJSON chats, durations, keep-alive values, errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from llmbench_mcp.testing.replies import Reply, Step

NDJSON = "application/x-ndjson"
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "us": 1e-6, "ns": 1e-9}
_CENTURIES = timedelta(days=106_751)
_STAMP = "2026-01-31T12:00:00.000000Z"


@dataclass(frozen=True, slots=True)
class Spent:
    """What the last line of an answer tells: token counts, and seconds (sent as nanoseconds, left out when 0)."""

    prompt_tokens: int = 0
    tokens: int = 0
    load_s: float = 0.0
    prompt_s: float = 0.0
    eval_s: float = 0.0

    def as_fields(self) -> dict[str, int]:
        """The fields, the zeros left out as Go's omitempty does."""
        total_s = self.load_s + self.prompt_s + self.eval_s
        fields = {
            "total_duration": round(total_s * 1e9),
            "load_duration": round(self.load_s * 1e9),
            "prompt_eval_count": self.prompt_tokens,
            "prompt_eval_duration": round(self.prompt_s * 1e9),
            "eval_count": self.tokens,
            "eval_duration": round(self.eval_s * 1e9),
        }
        return {name: value for name, value in fields.items() if value}


def line(payload: Mapping[str, Any]) -> bytes:
    """One NDJSON line."""
    return json.dumps(payload, ensure_ascii=False).encode() + b"\n"


def piece(content: str = "", *, model: str = "m", **message: Any) -> bytes:
    """One line of a chat; extra keywords go into its message (``thinking=``, ``tool_calls=``)."""
    said = {"role": "assistant", "content": content, **message}
    return line({"model": model, "created_at": _STAMP, "message": said, "done": False})


def last(spent: Spent | None = None, *, model: str = "m", reason: str = "stop") -> bytes:
    """The last line of a chat."""
    fields = (spent or Spent()).as_fields()
    said = {"role": "assistant", "content": ""}
    ending = {"model": model, "created_at": _STAMP, "message": said, "done": True, "done_reason": reason}
    return line(ending | fields)


def ndjson(steps: Iterable[Step]) -> Reply:
    """A 200 answer of these lines."""
    return Reply(steps=tuple(steps), content_type=NDJSON)


def chat_reply(text: str, *, model: str = "m", thinking: str = "", reason: str = "stop") -> Reply:
    """A whole, ordinary chat: thinking, words, the last line with counts (7 of the prompt, a token a word)."""
    thoughts = [piece(model=model, thinking=word) for word in split_words(thinking)]
    words = [piece(word, model=model) for word in split_words(text)]
    spent = Spent(7, len(thoughts) + len(words), prompt_s=0.1, eval_s=1.0)
    return ndjson([*thoughts, *words, last(spent, model=model, reason=reason)])


def split_words(text: str) -> list[str]:
    """The words, each with the blank after it: joined they are the text again."""
    return re.findall(r"\S+\s*|\s+", text)


def refusal(status: int, message: str, **headers: str) -> Reply:
    """``{"error": text}``; header names are given with underscores (``retry_after="2"``)."""
    return Reply(status, {"error": message}, {name.replace("_", "-"): value for name, value in headers.items()})


def keep_alive_s(value: Any) -> float | None:
    """Seconds from a request's ``keep_alive``: a number of seconds or a Go duration; None where absent."""
    if value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    try:
        return float(value)
    except ValueError:
        parts = re.findall(r"(\d+(?:\.\d+)?)(ms|us|ns|h|m|s)", value)
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return -seconds if value.startswith("-") else seconds


def rfc3339(now: str, seconds: float) -> str:
    """``now`` (ISO 8601) plus so many seconds, as Go writes times; never is centuries away."""
    offset = min(timedelta(seconds=seconds), _CENTURIES) if seconds < 1e9 else _CENTURIES
    return (datetime.fromisoformat(now.replace("Z", "+00:00")) + offset).isoformat(timespec="microseconds")
