"""The model store of a simulated Ollama, which several servers may share, and how it is shown."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from llmbench_mcp.testing.simulated_gpu import GB

MODIFIED = "2026-01-02T03:04:05.123456789+01:00"


@dataclass(frozen=True, slots=True)
class StoredModel:
    """One model on disk.

    ``context_bytes`` is the memory one token of context takes beside the weights. ``load_s`` overrides the
    server's loading time. ``entry`` and ``shown``, when set, are sent instead of the usual ``/api/tags`` entry
    and ``/api/show`` answer.
    """

    name: str
    size: int = GB
    family: str = "llama"
    parameter_size: str = "1.0B"
    parameter_count: int | None = 1_000_000_000
    quantisation: str = "Q4_K_M"
    context_length: int = 131_072
    capabilities: tuple[str, ...] = ("completion",)
    context_bytes: int = 0
    load_s: float | None = None
    remote_host: str | None = None
    entry: Mapping[str, Any] | None = None
    shown: Mapping[str, Any] | None = None
    content: str = ""
    """What the digest is taken of, the name where empty: change it to push a new version."""

    @property
    def digest(self) -> str:
        """SHA-256 in hex, as in ``/api/tags``."""
        return hashlib.sha256((self.content or self.name).encode()).hexdigest()

    def memory(self, context_length: int) -> int:
        """Bytes it takes when loaded with that context."""
        return self.size + context_length * self.context_bytes

    def details(self) -> dict[str, Any]:
        """``details`` as in tags, ps and show."""
        return {
            "parent_model": "",
            "format": "gguf",
            "family": self.family,
            "families": [self.family],
            "parameter_size": self.parameter_size,
            "quantization_level": self.quantisation,
        }

    def as_entry(self) -> Mapping[str, Any]:
        """An element of ``/api/tags``' list."""
        if self.entry is not None:
            return self.entry
        remote = {"remote_host": self.remote_host, "remote_model": self.name} if self.remote_host else {}
        return {
            "name": self.name,
            "model": self.name,
            **remote,
            "modified_at": MODIFIED,
            "size": self.size,
            "digest": self.digest,
            "details": self.details(),
        }

    def as_shown(self) -> Mapping[str, Any]:
        """The answer of ``/api/show``."""
        if self.shown is not None:
            return self.shown
        info = {
            "general.architecture": self.family,
            "general.parameter_count": self.parameter_count,
            f"{self.family}.context_length": self.context_length,
        }
        return {
            "modelfile": "# simulated",
            "template": "{{ .Prompt }}",
            "details": self.details(),
            "model_info": info,
            "capabilities": list(self.capabilities),
            "modified_at": MODIFIED,
        }


class OllamaStore:
    """Models by name; a name without a tag means ``:latest``. Give the same store to two servers to share it."""

    def __init__(self, models: Iterable[StoredModel | str] = ()) -> None:
        self._models: dict[str, StoredModel] = {}
        for model in models:
            self.add(model)

    def __iter__(self) -> Iterator[StoredModel]:
        return iter(self._models.values())

    def add(self, model: StoredModel | str) -> None:
        """Add a model, or replace the one of that name."""
        stored = StoredModel(model) if isinstance(model, str) else model
        self._models[stored.name] = stored

    def remove(self, name: str) -> None:
        """Delete a model."""
        del self._models[name]

    def find(self, name: str) -> StoredModel | None:
        """The model of that name, tagged or not."""
        return self._models.get(name) or self._models.get(f"{name}:latest")
