"""What llama.cpp's server says about its models: ``/v1/models`` entries and ``/props``, read defensively."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from llmbench_mcp.backends.names import completed
from llmbench_mcp.domain.endpoint import OfferedModel, Resident

_QUANT = re.compile(r"(?<![A-Z0-9])((?:I?Q\d|TQ\d|MXFP\d|NVFP\d)(?:_[A-Z0-9]+)*|BF16|F16|F32)(?![A-Z0-9])")
_FTYPE_SIZE = re.compile(r" - ([SML])(?:MALL|EDIUM|ARGE)\b")
_HOLDING = frozenset({"loaded", "loading"})


def status_of(entry: Mapping[str, Any]) -> str | None:
    """Router mode's status word of a model; None in single mode. ``failed`` when its last start failed."""
    status = entry.get("status")
    if not isinstance(status, Mapping):
        return None
    value = str(status.get("value") or "unknown")
    return "failed" if status.get("failed") is True and value == "unloaded" else value


def holds_memory(entry: Mapping[str, Any]) -> bool:
    """Whether the model is in memory, or on its way there; in single mode always.

    A ``sleeping`` one has a process and no memory until the next request.
    """
    status = status_of(entry)
    return status is None or status in _HOLDING


def names_of(entry: Mapping[str, Any]) -> frozenset[str]:
    """The id and all aliases."""
    aliases = entry.get("aliases")
    listed = aliases if isinstance(aliases, list) else []
    return frozenset({entry["id"], *(name for name in listed if isinstance(name, str))})


def is_llamacpp(entries: list[Mapping[str, Any]]) -> bool:
    """Whether the model list bears llama.cpp's mark."""
    return any(entry.get("owned_by") == "llamacpp" for entry in entries)


def resident(entry: Mapping[str, Any]) -> Resident:
    """The model as something in memory; the server never tells how much of it."""
    return Resident(entry["id"], context_length=_positive(_mapping(entry.get("meta")).get("n_ctx")))


def failure_of(entry: Mapping[str, Any]) -> str:
    """How the model's last start ended, e.g. ``exit code 1``; empty where the router does not say."""
    code = _mapping(entry.get("status")).get("exit_code")
    return f"exit code {code}" if isinstance(code, int) and not isinstance(code, bool) else ""


def offered(entry: Mapping[str, Any], props: Mapping[str, Any], listed_capabilities: tuple[str, ...]) -> OfferedModel:
    """The model as this program knows it; ``props`` is ``/props`` for it, empty where it is not loaded."""
    meta = _mapping(entry.get("meta"))
    model = OfferedModel(
        served_name=entry["id"],
        parameter_count=_positive(meta.get("n_params")),
        quantisation=quantisation_in(meta.get("ftype")) or quantisation_in(props.get("model_ftype")),
        size_bytes=_positive(meta.get("size")),
        context_length=_positive(meta.get("n_ctx")) or _positive(_mapping(props.get(_SETTINGS)).get("n_ctx")),
        capabilities=_capabilities(entry, props, listed_capabilities),
        warnings=_warnings(entry),
    )
    files = (_file_name(props.get("model_path")), _file_name(_model_argument(entry)))
    return completed(model, *(name for name in files if name), entry["id"])


def _warnings(entry: Mapping[str, Any]) -> tuple[str, ...]:
    if status_of(entry) != "failed":
        return ()
    ending = failure_of(entry)
    return (f"Its last start failed ({ending})." if ending else "Its last start failed.",)


_SETTINGS = "default_generation_settings"


def capabilities_listed(payload: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Capability words by model name from the second list, ``models``, in a single server's answer."""
    found: dict[str, tuple[str, ...]] = {}
    models = payload.get("models")
    for model in models if isinstance(models, list) else []:
        words = model.get("capabilities") if isinstance(model, Mapping) else None
        if isinstance(words, list) and isinstance(model.get("name"), str):
            found[model["name"]] = tuple(word for word in words if isinstance(word, str))
    return found


def _capabilities(entry: Mapping[str, Any], props: Mapping[str, Any], listed: tuple[str, ...]) -> tuple[str, ...]:
    shape = _mapping(entry.get("architecture"))
    inputs, outputs = _words(shape.get("input_modalities")), _words(shape.get("output_modalities"))
    chat = "completion" in listed or (not listed and "text" in outputs)
    tools = _mapping(props.get("chat_template_caps")).get("supports_tool_calls") is True
    seen = _mapping(props.get("modalities")).get("vision") is True or "image" in inputs
    marks = (("chat", chat), ("tools", tools), ("vision", seen), ("embedding", "embedding" in listed))
    return tuple(name for name, present in marks if present)


def quantisation_in(text: Any) -> str | None:
    """``Q4_K_M`` from ``Q4_K - Medium`` or from a file name holding it; None where there is none."""
    if not isinstance(text, str):
        return None
    upper = _FTYPE_SIZE.sub(r"_\1", text[:512].upper())
    found = _QUANT.search(upper)
    return found[1] if found else None


def _model_argument(entry: Mapping[str, Any]) -> Any:
    args = _mapping(entry.get("status")).get("args")
    if not isinstance(args, list) or "--model" not in args[:-1]:
        return None
    return args[args.index("--model") + 1]


def _file_name(path: Any) -> str | None:
    return re.split(r"[/\\]", path)[-1] if isinstance(path, str) else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _words(value: Any) -> list[str]:
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


def _positive(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
