"""The models on the disk of a simulated LM Studio, and how each of its three lists shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from llmbench_mcp.testing.simulated_gpu import GB


@dataclass(frozen=True, slots=True)
class StudioModel:
    """One model on disk.

    ``context_bytes`` is the memory one token of context takes beside the weights. ``load_s`` overrides the
    server's loading time. ``changes`` are laid over its entries in the native lists, for odd answers.
    """

    key: str
    size: int = GB
    kind: Literal["llm", "vlm", "embedding"] = "llm"
    architecture: str | None = "llama"
    quantisation: str | None = "Q4_K_M"
    bits: float | None = 4
    parameters: str | None = "1B"
    max_context: int = 131_072
    format: Literal["gguf", "mlx"] = "gguf"
    tools: bool = False
    variants: tuple[str, ...] = ()
    context_bytes: int = 0
    load_s: float | None = None
    changes: Mapping[str, Any] | None = None

    def memory(self, context_length: int) -> int:
        """Bytes it takes when loaded with that context."""
        return self.size + context_length * self.context_bytes

    def has_name(self, name: str) -> bool:
        """Whether that is its key or one of its variants."""
        return name == self.key or name in self.variants

    def in_v1(self, instances: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """An element of ``/api/v1/models``."""
        embeds = self.kind == "embedding"
        own: dict[str, Any] = {
            "type": "embedding" if embeds else "llm",
            "publisher": "someone",
            "key": self.key,
            "display_name": self.key.title(),
            "architecture": self.architecture,
            "quantization": {"name": self.quantisation, "bits_per_weight": self.bits} if self.quantisation else None,
            "size_bytes": self.size,
            "params_string": self.parameters,
            "loaded_instances": list(instances),
            "max_context_length": self.max_context,
            "format": self.format,
            "capabilities": {"vision": self.kind == "vlm", "trained_for_tool_use": self.tools},
            "description": None,
        }
        if self.variants:
            own |= {"variants": list(self.variants), "selected_variant": self.variants[0]}
        shown = {name: own[name] for name in own if not (embeds and name in _NOT_FOR_EMBEDDINGS)}
        return shown | dict(self.changes or {})

    def in_v0(self, name: str, context_length: int | None) -> dict[str, Any]:
        """An element of ``/api/v0/models``: the model, or one of its instances; ``context_length`` when loaded."""
        loaded = {} if context_length is None else {"loaded_context_length": context_length}
        words = {"capabilities": ["tool_use"]} if self.tools else {}
        own = {
            "id": name,
            "object": "model",
            "type": "embeddings" if self.kind == "embedding" else self.kind,
            "publisher": "someone",
            "arch": self.architecture,
            "compatibility_type": self.format,
            "quantization": self.quantisation,
            "state": "not-loaded" if context_length is None else "loaded",
            "max_context_length": self.max_context,
        }
        return own | loaded | words | dict(self.changes or {})


_NOT_FOR_EMBEDDINGS = ("architecture", "capabilities", "description")
