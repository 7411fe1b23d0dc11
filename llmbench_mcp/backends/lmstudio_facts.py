"""What LM Studio says about its models: the lists of ``/api/v1/models`` and ``/api/v0/models``, read defensively.

Formats: LM Studio's documentation of its REST APIs v1 (since 0.4.0) and v0 (since 0.3.6).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from llmbench_mcp.backends.names import completed, parse_count
from llmbench_mcp.domain.endpoint import OfferedModel, Resident
from llmbench_mcp.domain.text import is_text

_MAX_MODELS = 10_000
_MAX_NAME = 512
_MAX_INSTANCES = 1_000
_COUNTED = re.compile(r"(.+):(\d{1,6})")
_EMBEDDING = ("embedding", "embeddings")


@dataclass(frozen=True, slots=True)
class Instance:
    """One copy of a model in memory; ``context_length`` is the context in force, in tokens."""

    id: str
    context_length: int | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A model on the server's disk, its instances in memory, and all names it may be asked by."""

    model: OfferedModel
    instances: tuple[Instance, ...] = ()
    names: frozenset[str] = frozenset()
    embeds: bool = False

    def answers_to(self, name: str) -> bool:
        """Whether an answer under that name is this model's: its key, a variant, or an instance, here or gone."""
        counted = _COUNTED.fullmatch(name)
        bare = counted[1] if counted else name
        return bare in self.names or any(instance.id == name for instance in self.instances)

    def residents(self) -> list[Resident]:
        """Its instances; LM Studio never tells how much memory one takes."""
        key = self.model.served_name
        return [Resident(key, instance.id, context_length=instance.context_length) for instance in self.instances]


@dataclass(frozen=True, slots=True)
class Shelf:
    """A whole list. ``native`` is True for v1, the API that loads and unloads; ``skipped`` counts unusable entries."""

    native: bool
    listed: tuple[Listed, ...]
    skipped: int = 0

    def find(self, name: str) -> Listed | None:
        """The model of that name, instance id or variant."""
        exact = (listed for listed in self.listed if listed.model.served_name == name)
        return next(exact, None) or next((listed for listed in self.listed if listed.answers_to(name)), None)


def shelf_v1(payload: Any) -> Shelf | None:
    """The list of ``/api/v1/models``; None when the answer is something else."""
    models = payload.get("models") if isinstance(payload, Mapping) else None
    if not isinstance(models, list):
        return None
    usable = [entry for entry in models[:_MAX_MODELS] if _named(entry, "key")]
    if models and not any(isinstance(entry.get("loaded_instances"), list) for entry in usable):
        return None
    return Shelf(True, _unique([_from_v1(entry) for entry in usable]), len(models) - len(usable))


def shelf_v0(payload: Any) -> Shelf | None:
    """The list of ``/api/v0/models``; None when the answer is something else."""
    data = payload.get("data") if isinstance(payload, Mapping) else None
    if not isinstance(data, list):
        return None
    usable = [entry for entry in data[:_MAX_MODELS] if _named(entry, "id")]
    if data and not any(entry.get("state") in ("loaded", "not-loaded") for entry in usable):
        return None
    return Shelf(False, _grouped(usable), len(data) - len(usable))


def _unique(listed: list[Listed]) -> tuple[Listed, ...]:
    return tuple({one.model.served_name: one for one in listed}.values())


def _grouped(entries: list[Mapping[str, Any]]) -> tuple[Listed, ...]:
    """v0 lists a second instance as a model of its own, ``key:2``: it goes with its key where that is listed."""
    keys = {entry["id"] for entry in entries}
    found: dict[str, Listed] = {}
    extra: list[tuple[str, Instance]] = []
    for entry in entries:
        counted = _COUNTED.fullmatch(entry["id"])
        if counted and counted[1] in keys:
            extra += [(counted[1], instance) for instance in _instances_v0(entry)]
        else:
            found[entry["id"]] = _from_v0(entry)
    for key, instance in extra:
        if key in found:
            found[key] = replace(found[key], instances=(*found[key].instances, instance))
    return tuple(found.values())


def _from_v1(entry: Mapping[str, Any]) -> Listed:
    quantisation = _word(_mapping(entry.get("quantization")).get("name"))
    model = OfferedModel(
        served_name=entry["key"],
        family=_word(entry.get("architecture")),
        parameter_count=parse_count(entry.get("params_string")),
        quantisation=quantisation,
        size_bytes=_positive(entry.get("size_bytes")),
        context_length=_positive(entry.get("max_context_length")),
        capabilities=_capabilities_v1(entry),
    )
    variants = entry.get("variants")
    others = [name for name in variants[:_MAX_INSTANCES] if _is_name(name)] if isinstance(variants, list) else []
    embeds = entry.get("type") in _EMBEDDING
    return Listed(completed(model), _instances_v1(entry), _names(entry["key"], quantisation, others), embeds)


def _from_v0(entry: Mapping[str, Any]) -> Listed:
    quantisation = _word(entry.get("quantization"))
    model = OfferedModel(
        served_name=entry["id"],
        family=_word(entry.get("arch")),
        quantisation=quantisation,
        context_length=_positive(entry.get("max_context_length")),
        capabilities=_capabilities_v0(entry),
    )
    embeds = entry.get("type") in _EMBEDDING
    return Listed(completed(model), tuple(_instances_v0(entry)), _names(entry["id"], quantisation, []), embeds)


def _names(key: str, quantisation: str | None, variants: list[str]) -> frozenset[str]:
    """A model may be asked, and may answer, as ``key@quantisation``."""
    own = {f"{key}@{quantisation.lower()}"} if quantisation else set()
    return frozenset({key, *own, *variants})


def _instances_v1(entry: Mapping[str, Any]) -> tuple[Instance, ...]:
    loaded = entry.get("loaded_instances")
    found = [one for one in loaded[:_MAX_INSTANCES] if _named(one, "id")] if isinstance(loaded, list) else []
    return tuple(Instance(one["id"], _positive(_mapping(one.get("config")).get("context_length"))) for one in found)


def _instances_v0(entry: Mapping[str, Any]) -> list[Instance]:
    if entry.get("state") != "loaded":
        return []
    return [Instance(entry["id"], _positive(entry.get("loaded_context_length")))]


def _capabilities_v1(entry: Mapping[str, Any]) -> tuple[str, ...]:
    can = _mapping(entry.get("capabilities"))
    return _capabilities(
        entry.get("type"),
        tools=can.get("trained_for_tool_use") is True,
        vision=can.get("vision") is True,
        thinks=bool(can.get("reasoning")),
    )


def _capabilities_v0(entry: Mapping[str, Any]) -> tuple[str, ...]:
    words = entry.get("capabilities")
    tools = isinstance(words, list) and "tool_use" in words
    return _capabilities(entry.get("type"), tools=tools, vision=entry.get("type") == "vlm", thinks=False)


def _capabilities(kind: Any, *, tools: bool, vision: bool, thinks: bool) -> tuple[str, ...]:
    marks = (
        ("chat", kind in ("llm", "vlm")),
        ("tools", tools),
        ("vision", vision),
        ("thinking", thinks),
        ("embedding", kind in _EMBEDDING),
    )
    return tuple(name for name, present in marks if present)


def _named(entry: Any, field: str) -> bool:
    return isinstance(entry, Mapping) and _is_name(entry.get(field))


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MAX_NAME and bool(value.strip()) and is_text(value)


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= 80 and is_text(value) else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _positive(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    good = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63
    return value if good else None
