from __future__ import annotations

import pytest

from llmbench_mcp.domain.capability import (
    Capability,
    Source,
    in_name,
    kind_of,
    lacking,
    offered_capabilities,
    present,
    refused_capability,
    renewed,
    with_fact,
    without_hand,
)
from llmbench_mcp.domain.endpoint import OfferedModel


def facts(source: Source, *names: str, present: bool = True) -> tuple[Capability, ...]:
    return tuple(Capability(name, present, source) for name in names)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nomic-embed-text:latest", ("embedding",)),
        ("BAAI/bge-m3", ("embedding",)),
        ("intfloat/multilingual-e5-large", ("embedding",)),
        ("Qwen3-Embedding-0.6B", ("embedding",)),
        ("bge-reranker-v2-m3", ("rerank",)),
        ("Qwen2.5-VL-7B-Instruct", ("chat", "vision")),
        ("qwen2.5vl:7b", ("chat", "vision")),
        ("llava:13b", ("chat", "vision")),
        ("llama3.2-vision", ("chat", "vision")),
        ("Mistral-7B-Instruct-v0.3", ("chat",)),
        ("llama3.1:8b", ()),
        ("gpt-oss-20b", ()),
        ("supervisor-7b", ()),
        ("revlon-4b", ()),
        ("", ()),
    ],
)
def test_a_name_tells_only_what_is_plainly_in_it(name: str, told: tuple[str, ...]) -> None:
    assert in_name(name) == told


def test_what_the_server_says_beats_what_the_name_tells() -> None:
    offered = OfferedModel("nomic-embed", capabilities=("completion", "tools", "reasoning", "odd"))
    assert offered_capabilities(offered) == facts("server", "chat", "tools", "reasoning")
    assert offered_capabilities(OfferedModel("nomic-embed", capabilities=("odd",))) == facts("name", "embedding")


def test_a_guess_of_the_backend_counts_as_one() -> None:
    offered = OfferedModel("m", capabilities=("vision",), guessed=("capabilities",))
    assert offered_capabilities(offered) == facts("name", "vision")


def test_hand_beats_probe_beats_server_beats_name() -> None:
    known: tuple[Capability, ...] = ()
    for source in ("hand", "server", "probe", "name"):
        known = with_fact(known, Capability("tools", source in ("hand", "server"), source))
    assert known == facts("hand", "tools")
    assert without_hand(known, "tools") == ()
    known = with_fact(facts("server", "tools"), Capability("tools", False, "probe"))
    assert known == facts("probe", "tools", present=False)


def test_a_look_replaces_what_the_only_server_said_and_keeps_probes_and_hands() -> None:
    known = (*facts("server", "chat", "tools"), *facts("probe", "vision"), *facts("hand", "reasoning"))
    assert present(renewed(known, facts("server", "chat"), alone=True)) == ("chat", "vision", "reasoning")
    assert present(renewed(known, facts("server", "chat"), alone=False)) == ("chat", "tools", "vision", "reasoning")


def test_a_silent_server_takes_nothing_back() -> None:
    known = facts("server", "chat", "tools")
    assert renewed(known, facts("name", "chat"), alone=True) == known
    assert renewed(known, (), alone=True) == known


def test_only_a_servers_list_is_complete() -> None:
    assert lacking(facts("server", "chat"), ["chat", "tools"]) == ("tools",)
    assert lacking((), ["tools"]) == ()
    assert lacking(facts("probe", "chat"), ["tools"]) == ()
    assert lacking(facts("hand", "tools", present=False), ["tools"]) == ("tools",)
    assert lacking((*facts("server", "chat"), *facts("hand", "tools")), ["tools"]) == ()
    assert lacking(facts("server", "tools"), ["chat"]) == ()


def test_what_a_model_mainly_is() -> None:
    assert kind_of(()) == "chat"
    assert kind_of(facts("server", "embedding")) == "embedding"
    assert kind_of(facts("name", "rerank", "embedding")) == "rerank"
    assert kind_of(facts("server", "embedding", "chat")) == "chat"
    assert kind_of((*facts("probe", "chat", present=False), *facts("probe", "embedding"))) == "embedding"


@pytest.mark.parametrize(
    ("message", "asked", "named"),
    [
        ("image input is not supported, provide the mmproj", "vision", True),
        ("registry/m does not support tools", "tools", True),
        ('"nomic" does not support chat', "chat", True),
        ("This server does not support embeddings", "embedding", True),
        ("out of memory", "vision", False),
        ("the stool is broken", "tools", False),
    ],
)
def test_a_refusal_counts_when_it_names_the_capability(message: str, asked: str, named: bool) -> None:
    assert refused_capability(message, asked) is named
