"""Answers are stored so that they can be graded again: calls, and of a task in turns every answer."""

from __future__ import annotations

from llmbench_mcp.domain.chat import Completion, Timing, ToolCall, ToolResult, Turn, Usage
from llmbench_mcp.store.answers import answer_of, texts_of_answer

CALL = ToolCall("weigh", {"box": "a"})


def test_an_answer_comes_back_with_its_calls() -> None:
    answer = Completion("text", "thought", (CALL, ToolCall("lift", "{")), "stop")
    texts = texts_of_answer(answer)
    assert answer_of(texts, "stop") == answer
    assert texts[2].startswith("[")


def test_a_conversation_comes_back_turn_by_turn() -> None:
    first = Completion("", "hm", (CALL,), "tool_calls", Usage(7, 5, 2), Timing(ttfat_s=0.1, e2e_s=0.5, decode_tps=9.0))
    last = Completion("Done.", "", (), "stop", Usage(9, 2, None), Timing(ttft_s=0.2, e2e_s=0.3))
    turns = (Turn(first, (ToolResult("weigh", '{"kg": 3}'),)), Turn(last))
    whole = Completion("Done.", "", (), "stop", turns=turns)
    assert answer_of(texts_of_answer(whole), "stop") == whole


def test_calls_that_were_stored_before_there_were_turns_are_read() -> None:
    stored = ("text", "", '[{"arguments":{"box":"a"},"name":"weigh"}]')
    assert answer_of(stored, None) == Completion("text", "", (CALL,), None)
