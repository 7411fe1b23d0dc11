"""The quick ways through a stream give exactly what the slow ones give."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmbench_mcp.backends.chunk_template import Template, TemplateMaker
from llmbench_mcp.backends.openai_stream import ChatStream
from llmbench_mcp.backends.sse import EVENT_BYTES, SseParser
from llmbench_mcp.domain.errors import ProtocolError

HEAD = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
texts = st.text(max_size=8) | st.sampled_from(
    ['"', "\\", '\\"', "\n", "\x7f", "\ud83e", "\udd99", "é 日本 🦙\u2028", ""]
)
fields = st.sampled_from(["content", "reasoning_content", "reasoning", "thinking", "refusal"])
odd_values = st.sampled_from([None, "", {}, [], {"a": 1}, [{"type": "text", "text": "part"}], 7, "x"])


class _Never(TemplateMaker):
    def make(self, data: bytes, chunk: Mapping[str, Any]) -> Template | None:
        return None


def slow() -> ChatStream:
    chat = ChatStream()
    chat._maker = _Never()
    return chat


@st.composite
def chunks(draw: st.DrawFn) -> bytes:
    """Chunks of a few shapes, so that neighbours are often alike, written in several styles, some of them broken."""
    delta: dict[str, Any] = {draw(fields): draw(texts)}
    delta |= draw(st.dictionaries(st.sampled_from(["role", "content", "tool_calls"]), odd_values, max_size=1))
    choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": None}
    choice |= draw(st.dictionaries(st.sampled_from(["finish_reason", "logprobs"]), odd_values, max_size=1))
    names = st.sampled_from(["usage", "timings", "stats", "error", "model", "object", "detail", "choices"])
    payload = HEAD | {"choices": [choice]} | draw(st.dictionaries(names, odd_values, max_size=1))
    spaced = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,", " : ")]))
    data = json.dumps(payload, ensure_ascii=draw(st.booleans()), separators=spaced).encode("utf-8", "surrogatepass")
    return draw(st.sampled_from([data] * 8 + [data[:-1], b"[DONE]", data.replace(b'"delta"', b'"delta":{},"delta"')]))


@st.composite
def likes(draw: st.DrawFn) -> list[bytes]:
    """One chunk's bytes with other bytes, JSON or not, where its text stands: what templates are tempted by."""
    base = json.dumps(HEAD | {"choices": [{"delta": {draw(fields): "TEXT"}, "finish_reason": None}]}).encode()
    inside = st.binary(max_size=6) | st.sampled_from(
        [b'","x":"', b'"}},{"delta":{"content":"', b"\\", b"\\u00e9", b"a\\n", b'\\"', b"\xff", b"\x00", b'" ', b""]
    )
    return [base.replace(b"TEXT", piece) for piece in draw(st.lists(inside, max_size=4))]


@given(st.lists(st.one_of(chunks().map(lambda one: [one]), likes(), chunks().map(lambda one: [one] * 3)), max_size=12))
def test_chunks_read_by_their_likeness_give_what_parsing_them_gives(groups: list[list[bytes]]) -> None:
    fast, reference = ChatStream(), slow()
    for stamp, group in enumerate(groups):
        fast.feed(group, float(stamp))
        reference.feed(group, float(stamp))
    for chat in (fast, reference):
        chat.timer.origin = -1.0
    assert fast.finish() == reference.finish()
    assert (fast.done, fast.error, fast.saw_choice) == (reference.done, reference.error, reference.saw_choice)
    assert (fast.has_text, fast.ended) == (reference.has_text, reference.ended)


def of_several_lines() -> list[bytes]:
    """A chunk over several lines of data, and the same lines of which only the first is data."""
    chunk = HEAD | {"choices": [{"delta": {"content": "x"}, "finish_reason": None}]}
    lines = json.dumps(chunk, indent=1).encode()
    return [b"x\ndata: y", lines.replace(b"\n", b"\ndata: "), lines]


@given(
    st.lists(st.one_of(chunks(), likes().map(b"\n\ndata: ".join), st.sampled_from(of_several_lines())), max_size=8),
    st.lists(st.integers(0, 300), max_size=4),
)
def test_reads_that_are_one_event_like_the_last_give_what_the_parser_gives(
    payloads: list[bytes], sizes: list[int]
) -> None:
    events = [b"data: " + payload + b"\n\n" for payload in payloads for _ in range(2)]
    reads = [piece for event in events for piece in (cut(event, sizes) if sizes else [event])]
    fast, fast_sse, reference, sse = ChatStream(), SseParser(), slow(), SseParser()
    for stamp, read in enumerate(reads):
        if not (fast_sse.between and fast.feed_read(read, float(stamp))):
            fast.feed(fast_sse.feed(read), float(stamp))
        reference.feed(sse.feed(read), float(stamp))
    assert fast.finish() == reference.finish()
    assert fast.done == reference.done


@given(likes(), texts)
def test_a_template_takes_nothing_that_it_would_misread(others: list[bytes], text: str) -> None:
    chunk = HEAD | {"choices": [{"delta": {"content": text or "x"}, "finish_reason": None}]}
    template = TemplateMaker().make(json.dumps(chunk).encode(), chunk)
    assert template is not None
    for data in others:
        found = template.text(data)
        if found is not None:
            parsed = json.loads(data)
            assert parsed["choices"][0]["delta"].pop("content") == found
            assert parsed == HEAD | {"choices": [{"delta": {}, "finish_reason": None}]}


def test_templates_that_never_fit_are_made_ever_more_rarely() -> None:
    maker, made = TemplateMaker(), 0
    for number in range(1000):
        chunk = HEAD | {"created": number, "choices": [{"delta": {"content": "x"}, "finish_reason": None}]}
        made += maker.make(json.dumps(chunk).encode(), chunk) is not None
    assert 1 < made < 20


def cut(raw: bytes, sizes: Sequence[int]) -> list[bytes]:
    pieces, begin = [], 0
    for size in sizes:
        pieces.append(raw[begin : begin + size])
        begin += size
    return [*pieces, raw[begin:]]


lines = st.sampled_from(
    [b"data: a", b"data:b", b"data: ", b"data", b": ping", b"event: x", b"", b"", b"", b"data: \xc3\xa9"]
)


@given(
    st.lists(lines, max_size=30),
    st.sampled_from([[b"\n"], [b"\r\n"], [b"\r"], [b"\n", b"\r\n", b"\r"]]),
    st.lists(st.integers(0, 12), max_size=30),
)
def test_events_do_not_depend_on_where_the_network_cut(
    parts: list[bytes], endings: list[bytes], sizes: list[int]
) -> None:
    raw = b"".join(part + endings[index % len(endings)] for index, part in enumerate(parts))
    expected: list[bytes] = []
    one_by_one = SseParser()
    for index in range(len(raw)):
        expected += one_by_one.feed(raw[index : index + 1])
    expected += one_by_one.close()
    parser = SseParser()
    found = [event for piece in cut(raw, sizes) for event in parser.feed(piece)] + parser.close()
    assert found == expected


@pytest.mark.parametrize("piece", [EVENT_BYTES + 20, 300_000])
def test_an_event_may_have_a_mebibyte_however_it_comes(piece: int) -> None:
    def events(size: int) -> list[bytes]:
        raw, parser = b": ping\n\ndata: " + b"x" * size + b"\n\ndata: y\n\n", SseParser()
        return [event for at in range(0, len(raw), piece) for event in parser.feed(raw[at : at + piece])]

    assert [len(event) for event in events(EVENT_BYTES - 20)] == [EVENT_BYTES - 20, 1]
    with pytest.raises(ProtocolError, match="more than"):
        events(EVENT_BYTES + 1)
