"""Domain data to JSON text and back, for what is stored whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from llmbench_mcp.domain.chat import Sampling
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.domain.task import Load, Task


def dump(value: Any) -> str:
    """Compact, key-sorted JSON: equal data gives equal text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)


def short_hash(value: Any) -> str:
    """16 hex digits over the JSON form."""
    return hashlib.sha256(dump(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def dump_sampling(sampling: Sampling) -> str:
    """Sampling as JSON text."""
    return dump(sampling.as_dict())


@lru_cache(maxsize=256)
def load_sampling(text: str) -> Sampling:
    """Sampling from JSON text."""
    return Sampling(**json.loads(text))


def request_facts(request: RunRequest) -> Mapping[str, Any]:
    """What distinguishes one request from another, without its idempotency key.

    What was added later appears only where it is used, so that hashes of older requests stay.
    """
    later: dict[str, Any] = {
        "select": request.select,
        "matrix": {name: list(values) for name, values in request.matrix.items()},
        "limits": request.limits.as_dict(),
        "custom_tasks": [[task.id, task.content_hash()] for task in request.custom_tasks],
    }
    return {name: value for name, value in later.items() if value} | {
        "models": list(request.models),
        "suites": list(request.suites),
        "endpoint": request.endpoint,
        "repeats": request.repeats,
        "sampling": request.sampling.as_dict(),
        "priority": request.priority,
        "keep_loaded": request.keep_loaded,
    }


def dump_task(task: Task) -> str:
    """A task stored whole, hidden tests included: it never leaves through a tool."""
    speed = {"load": task.load.as_dict()} if task.load else {}
    return dump(
        speed
        | {
            "id": task.id,
            "prompt": task.prompt,
            "validation": task.validation,
            "system": task.system,
            "expected": task.expected,
            "title": task.title,
            "needs": list(task.needs),
            "max_tokens": task.max_tokens,
        }
    )


def load_task(text: str) -> Task:
    """A task from its stored form."""
    body = json.loads(text)
    load = Load(**body.pop("load")) if "load" in body else None
    return Task(**{**body, "needs": tuple(body["needs"])}, load=load)
