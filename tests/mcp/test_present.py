"""Rounding, escaping, cutting and paging."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel

from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.server.present import ROWS_BUDGET, Cut, decode_cursor, encode_cursor, gib, ms, reply, shown
from tests.mcp.bench import text_of


class Row(BaseModel):
    text: str = ""
    number: float | None = None
    facts: dict[str, list[float]] = {}


def test_numbers_have_four_significant_digits_at_every_depth() -> None:
    result = reply(Row(number=0.123456789, facts={"a": [12345.678, 1e-9 / 3]}))
    assert result.structured_content == {"text": "", "number": 0.1235, "facts": {"a": [12350.0, 3.333e-10]}}


def test_text_and_structured_content_say_the_same_compactly() -> None:
    result = reply(Row(text="é", number=None))
    assert text_of(result) == '{"text":"é","facts":{}}'
    assert json.loads(text_of(result)) == result.structured_content


def test_what_is_not_known_is_left_out_at_every_depth() -> None:
    class Loose(BaseModel):
        facts: dict[str, float | None]
        number: float | None = None

    assert reply(Loose(facts={"a": None, "b": 1.0})).structured_content == {"facts": {"b": 1.0}}


def test_no_control_bidi_or_zero_width_character_leaves_in_any_string_or_key() -> None:
    result = reply(Row(text="a\x1b[31m\u202e\u200b", facts={"\x07": []}))
    assert result.structured_content == {"text": "a\\x1b[31m\\u202e\\u200b", "facts": {"\\x07": []}}


def test_long_outside_text_is_cut_and_its_full_length_told() -> None:
    assert shown("x" * 200, 10) == "xxxxxxxxxx… [cut, 200 characters]"
    assert shown("x" * 10, 10) == "x" * 10
    assert shown("\x1b" * 10, 10) == "\\x1b\\x1b\\x… [cut, 10 characters]"


def test_units_are_converted() -> None:
    assert ms(0.25) == 250
    assert gib(3 * 2**29) == 1.5
    assert ms(None) is gib(None) is None


def test_a_cursor_leads_back_to_its_place() -> None:
    cursor = encode_cursor(20, ("models", "llama"))
    assert decode_cursor(cursor, ("models", "llama")) == 20
    assert decode_cursor("", ("models", "llama")) == 0


@pytest.mark.parametrize("cursor", ["20", "!!!", "é", "AAAA", encode_cursor(20, ("models", "qwen")), "=" * 99])
def test_a_cursor_of_another_list_is_refused(cursor: str) -> None:
    with pytest.raises(InputError, match="cursor"):
        decode_cursor(cursor, ("models", "llama"))


def test_rows_beyond_the_budget_are_cut_and_the_cursor_goes_on_there() -> None:
    rows = [Row(text="x" * 2_000) for _ in range(50)]
    cut = Cut(rows, 80, 0, "q")
    assert 0 < cut.kept < 50
    assert sum(len(row.model_dump_json()) for row in rows[: cut.kept]) <= ROWS_BUDGET
    assert cut.facts["truncated"] is True
    assert decode_cursor(cut.facts["next_cursor"], "q") == cut.kept


def test_the_last_page_has_no_cursor() -> None:
    assert Cut([Row()], 11, 10, "q").facts == {"total": 11, "next_cursor": None, "truncated": None}


def test_one_row_is_shown_however_long_it_is() -> None:
    assert Cut([Row(text="x" * 100_000)], 1, 0, "q").kept == 1
