"""Answers come back as they were stored, whatever is in them, and take less room."""

from __future__ import annotations

import zlib
from importlib import resources

from hypothesis import given
from hypothesis import strategies as st

from llmbench_mcp.store.packing import pack, texts_of, unpack

ADLER = 272_581_075

any_text = st.text(st.characters(exclude_categories=["Cs"]))


@given(any_text, any_text, any_text)
def test_an_answer_comes_back_as_it_was(text: str, reasoning: str, calls: str) -> None:
    assert unpack(pack((text, reasoning, calls))) == (text, reasoning, calls)


def test_half_a_character_pair_does_not_lose_the_answer() -> None:
    assert unpack(pack(("ab\ud83d", "", "[]"))) == ("ab?", "", "[]")


def test_what_answers_are_made_of_takes_less_room_than_without_a_dictionary() -> None:
    code = "def total(numbers):\n    return sum(numbers)\n"
    text = f"Here is the Python code that implements the function:\n\n```python\n{code}```"
    assert len(pack((text, "", "[]"))) < 0.75 * len(zlib.compress(text.encode()))


def test_the_dictionary_is_the_one_that_stored_answers_name() -> None:
    # To change it would make every stored answer unreadable: a new one needs a new file.
    data = (resources.files("llmbench_mcp.store") / "packing1.txt").read_bytes()
    assert zlib.adler32(data) == ADLER


def test_rows_of_before_are_read_as_they_are() -> None:
    row = {"packed": None, "text": "a", "reasoning": "b", "tool_calls": "[]"}
    assert texts_of(row) == ("a", "b", "[]")
    assert texts_of(dict.fromkeys(row)) is None
