"""What a model can do, how that is known, and how sure it is: by hand beats probe beats server beats name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from llmbench_mcp.domain.endpoint import OfferedModel

Source = Literal["name", "server", "probe", "hand"]
Kind = Literal["chat", "embedding", "rerank"]

KNOWN = (
    *("chat", "tools", "vision", "embedding", "rerank", "reasoning"),
    *("safety", "translation", "parser", "special", "audio", "insert"),
)
"""The words this program uses, whatever a server calls them."""

_SURENESS: dict[str, int] = {"name": 0, "server": 1, "probe": 2, "hand": 3}
_SYNONYMS = {
    "completion": "chat",
    "llm": "chat",
    "text-generation": "chat",
    "tool_use": "tools",
    "tool-calling": "tools",
    "function_calling": "tools",
    "image": "vision",
    "multimodal": "vision",
    "vlm": "vision",
    "embeddings": "embedding",
    "embed": "embedding",
    "reranking": "rerank",
    "reranker": "rerank",
    "thinking": "reasoning",
}
_RERANK = re.compile(r"rerank", re.I)
_EMBEDDING = re.compile(
    r"embed|(?:^|[^a-z])(?:all-minilm|bge-(?:m3|small|base|large|en|zh)|e5-(?:small|base|large|mistral)"
    r"|gte-(?:small|base|large|qwen))",
    re.I,
)
_VISION = re.compile(
    r"(?:^|[^a-z])(?:vl|vision|(?:bak)?llava|moondream|pixtral|internvl|minicpm-v|smolvlm|paligemma)(?:[^a-z]|$)"
    r"|qwen[\d.]*-?vl(?:[^a-z]|$)",
    re.I,
)
_CHAT = re.compile(r"(?:^|[^a-z])(?:instruct|chat)(?:[^a-z]|$)", re.I)
_REFUSALS: dict[str, re.Pattern[str]] = {
    "vision": re.compile(r"\b(?:images?|vision|multi-?modal|mmproj|image_url)\b", re.I),
    "tools": re.compile(r"\b(?:tools?|function[ _-]call\w*|tool_choice)\b", re.I),
    "embedding": re.compile(r"\bembeddings?\b", re.I),
    "rerank": re.compile(r"\bre-?rank\w*", re.I),
    "chat": re.compile(r"\b(?:chat|generate|generation|completions?)\b", re.I),
}


@dataclass(frozen=True, slots=True)
class Capability:
    """One thing a model can (``present``) or cannot do, and who says so."""

    name: str
    present: bool
    source: Source


def normal(word: str) -> str:
    """A server's word for a capability in ours; unknown words in lower case."""
    plain = word.strip().lower()
    return _SYNONYMS.get(plain, plain)


def offered_capabilities(offered: OfferedModel) -> tuple[Capability, ...]:
    """What the server says of a model; where it is silent, what the name gives away; nothing when neither does."""
    words = dict.fromkeys(normal(word) for word in offered.capabilities)
    said = [word for word in words if word in KNOWN]
    if said:
        source: Source = "name" if "capabilities" in offered.guessed else "server"
        return tuple(Capability(word, True, source) for word in said)
    return tuple(Capability(word, True, "name") for word in in_name(offered.served_name))


def in_name(name: str) -> tuple[str, ...]:
    """Capabilities that a model's name gives away; conservative, so mostly none."""
    if _RERANK.search(name):
        return ("rerank",)
    if _EMBEDDING.search(name):
        return ("embedding",)
    if _VISION.search(name):
        return ("chat", "vision")
    return ("chat",) if _CHAT.search(name) else ()


def renewed(known: Iterable[Capability], found: Iterable[Capability], alone: bool) -> tuple[Capability, ...]:
    """What is known after a look at a server.

    Args:
        known: what was known before.
        found: what this server or the name says now.
        alone: whether no other server offers the model; then older words of servers are forgotten.

    Probes and hands outlast any look; a name never replaces what a server said.
    """
    fresh = tuple(found)
    said = any(fact.source == "server" for fact in fresh)
    kept = [
        fact for fact in known if fact.source in ("probe", "hand") or (fact.source == "server" and not (said and alone))
    ]
    return _surest([*kept, *fresh])


def with_fact(known: Iterable[Capability], fact: Capability) -> tuple[Capability, ...]:
    """``known`` with one more fact, unless a surer one is there."""
    return _surest([*(old for old in known if not (old.name == fact.name and old.source == fact.source)), fact])


def without_hand(known: Iterable[Capability], name: str) -> tuple[Capability, ...]:
    """``known`` without what was set by hand about ``name``."""
    return tuple(fact for fact in known if not (fact.name == name and fact.source == "hand"))


def _surest(facts: Iterable[Capability]) -> tuple[Capability, ...]:
    best: dict[str, Capability] = {}
    for fact in facts:
        held = best.get(fact.name)
        if held is None or _SURENESS[fact.source] >= _SURENESS[held.source]:
            best[fact.name] = fact
    return tuple(sorted(best.values(), key=lambda fact: (_order(fact.name), fact.name)))


def _order(name: str) -> int:
    return KNOWN.index(name) if name in KNOWN else len(KNOWN)


def present(known: Iterable[Capability]) -> tuple[str, ...]:
    """The names of what the model can do."""
    return tuple(fact.name for fact in known if fact.present)


def lacking(known: Sequence[Capability], needs: Iterable[str]) -> tuple[str, ...]:
    """Those of ``needs`` that the model is known not to have.

    A need nobody speaks of counts as lacking only where a server gave a list: only servers give whole ones.
    """
    facts = {fact.name: fact.present for fact in known}
    whole = any(fact.source == "server" for fact in known)
    unsaid = {need: not whole or need == "chat" for need in needs}
    return tuple(need for need in unsaid if not facts.get(need, unsaid[need]))


def kind_of(known: Iterable[Capability]) -> Kind:
    """What the model mainly is; chat where nothing else is known."""
    can = present(known)
    if "chat" in can:
        return "chat"
    return "rerank" if "rerank" in can else "embedding" if "embedding" in can else "chat"


def refused_capability(message: str, asked: str) -> bool:
    """Whether a server's refusal names the capability that was asked for, and not merely the request."""
    pattern = _REFUSALS.get(asked)
    return bool(pattern and pattern.search(message))
