"""A simulated Ollama's catalogue with everything missing that may be missing."""

from __future__ import annotations

from typing import Any

from llmbench_mcp.testing.fake_ollama_models import StoredModel


def entry(name: str, **fields: Any) -> StoredModel:
    """A model whose list entry has only these fields beside its name and digest, and no details of its own."""
    digest = StoredModel(name).digest
    return StoredModel(name, entry={"name": name, "model": name, "digest": digest} | fields, shown={}, capabilities=())


def with_holes() -> list[StoredModel]:
    date = "2026-01-02T03:04:05Z"
    details = {"family": "llama", "families": ["llama"], "quantization_level": "Q4_K_M", "parameter_size": "3.2B"}
    sizeless = details | {"parameter_size": None, "families": None}
    return [
        entry("a:latest", size=2_000_000_000, modified_at=date, details=details),
        entry("b:7b", size=4_000_000_000, modified_at=date, details=sizeless),
        entry("c:1b", size=0, modified_at=date, details={}),
        entry("d:cloud", size=400, modified_at=date, remote_host="https://ollama.com", remote_model="d", details={}),
        entry("e", size=1_000_000_000, modified_at="not a date", zeta=[1, 2]),
    ]
