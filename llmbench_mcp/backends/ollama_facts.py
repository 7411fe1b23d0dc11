"""What Ollama says about its models: ``/api/tags``, ``/api/show`` and ``/api/ps``, read defensively.

Formats: Ollama's ``docs/api.md`` and ``api/types.go``. Anything may be missing, blank or null.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from llmbench_mcp.backends.names import parse_count
from llmbench_mcp.domain.endpoint import OfferedModel, Resident
from llmbench_mcp.domain.text import is_text, one_line

MAX_MODELS = 10_000
_MAX_NAME = 512
_WORDS = {"completion": "chat"}
_UNKNOWN = frozenset({"", "unknown", "none", "n/a"})


def entries_in(payload: Any) -> list[Mapping[str, Any]] | None:
    """The usable entries of a tags or ps answer; None when it is no such answer.

    Of one name the first: after a pull the weights loaded before stay listed for a while, behind those used now.
    """
    listed = payload.get("models") if isinstance(payload, Mapping) else None
    if listed is None and isinstance(payload, Mapping) and "models" in payload:
        return []  # a nil list of Go
    if not isinstance(listed, list):
        return None
    found: dict[str, Mapping[str, Any]] = {}
    for entry in listed[:MAX_MODELS]:
        if name := name_of(entry):
            found.setdefault(name, entry)
    return list(found.values())


def left_out(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """What ``entries_in`` passes over, a sentence each."""
    listed = payload.get("models") or []
    bad = sum(not name_of(entry) for entry in listed[:MAX_MODELS])
    told = []
    if bad:
        told.append(f"The server lists {bad} without a usable name (blank, too long or no text); left out.")
    if len(listed) > MAX_MODELS:
        told.append(f"The server lists {len(listed)} models; only the first {MAX_MODELS} were taken.")
    return tuple(told)


def name_of(entry: Any) -> str:
    """The name to ask by; empty when the entry has none that is usable."""
    found = (entry.get("name"), entry.get("model")) if isinstance(entry, Mapping) else ()
    return next((name for name in found if isinstance(name, str) and _usable(name)), "")


def _usable(name: str) -> bool:
    return 0 < len(name) <= _MAX_NAME and bool(name.strip()) and is_text(name)


def looks_like_ollama(entries: list[Mapping[str, Any]]) -> bool:
    """Whether a list has Ollama's own marks. llama.cpp's look-alike has the same keys with nothing in them."""
    return any(_digest(entry.get("digest")) or entry.get("remote_host") for entry in entries)


def is_remote(*sources: Mapping[str, Any]) -> bool:
    """Whether any of a model's descriptions says that it runs elsewhere."""
    return any(_word(source.get(key)) for source in sources for key in ("remote_host", "remote_model"))


def offered(entry: Mapping[str, Any], shown: Mapping[str, Any]) -> OfferedModel:
    """The model as this program knows it; ``shown`` is its ``/api/show`` answer, empty where there is none."""
    details = {**mapping(shown.get("details")), **_filled(mapping(entry.get("details")))}
    info = mapping(shown.get("model_info"))
    architecture = _word(info.get("general.architecture"))
    remote = is_remote(entry, shown)
    return OfferedModel(
        served_name=name_of(entry),
        digest=_digest(entry.get("digest")),
        family=_word(details.get("family")) or architecture,
        parameter_count=positive(info.get("general.parameter_count")) or parse_count(details.get("parameter_size")),
        quantisation=_word(details.get("quantization_level")),
        size_bytes=None if remote else positive(entry.get("size")),  # a remote model's is that of its stub
        context_length=positive(info.get(f"{architecture}.context_length")),
        capabilities=capabilities(shown) or capabilities(entry),
        remote=remote,
        warnings=_bad_date(entry),
    )


def capabilities(described: Mapping[str, Any]) -> tuple[str, ...]:
    """The capability words, ``completion`` called ``chat``."""
    words = described.get("capabilities")
    listed = [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
    return tuple(dict.fromkeys(_WORDS.get(word, one_line(word, 40)) for word in listed[:32] if word.strip()))


def resident(entry: Mapping[str, Any]) -> Resident:
    """A model in memory; Ollama holds each at most once, so that its name is the instance's too."""
    name, total, on_device = name_of(entry), positive(entry.get("size")), _count(entry.get("size_vram"))
    return Resident(
        served_name=name,
        instance_id=name,
        memory_bytes=total or on_device or None,
        device_bytes=on_device,
        digest=_digest(entry.get("digest")),
        context_length=positive(entry.get("context_length")),
        expires_at=_utc(entry.get("expires_at")),
    )


def mapping(value: Any) -> Mapping[str, Any]:
    """``value`` if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def positive(value: Any) -> int | None:
    """A number above 0; Ollama's 0 means that it does not know."""
    return _count(value) or None


def _count(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def _word(value: Any) -> str | None:
    if not isinstance(value, str) or value.strip().lower() in _UNKNOWN:
        return None
    return one_line(value, 100)


def _filled(details: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in details.items() if value not in ("", None)}


def _digest(value: Any) -> str | None:
    """The digest without its algorithm's name, which some answers have and some have not."""
    word = _word(value)
    return word.lower().removeprefix("sha256:") if word else None


def _bad_date(entry: Mapping[str, Any]) -> tuple[str, ...]:
    stamp = entry.get("modified_at")
    if stamp is None or stamp == "" or _utc(stamp):
        return ()
    said = one_line(str(stamp), 60)
    return (f"{one_line(name_of(entry), 80)}: its modified_at '{said}' is no date.",)


def _utc(stamp: Any) -> str | None:
    """An RFC 3339 time as ISO 8601 UTC; None for anything else."""
    if not isinstance(stamp, str):
        return None
    try:
        moment = datetime.fromisoformat(stamp).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
