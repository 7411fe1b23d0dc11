from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmbench_mcp.domain.text import nearest, one_line, visible


def test_control_bidi_and_zero_width_characters_become_escapes() -> None:
    assert visible("a\x1b[31mred\x00\u202eb\u200b\ud800") == "a\\x1b[31mred\\x00\\u202eb\\u200b\\ud800"


def test_ordinary_text_of_any_language_stays() -> None:
    assert visible("naïve 日本 — ok\n\ttab") == "naïve 日本 — ok\n\ttab"


@given(st.text())
def test_shown_text_never_holds_a_control_character(text: str) -> None:
    assert all(char in "\n\t" or char.isprintable() for char in visible(text))


def test_long_text_is_cut_to_one_line() -> None:
    assert one_line("a\nb   c", 10) == "a b c"
    assert one_line("x" * 50, 10) == "x" * 9 + "…"


def test_the_nearest_names_come_first() -> None:
    assert nearest("lama3", ["qwen", "llama3:8b", "phi"])[0] == "llama3:8b"
    assert nearest("zzz", ["a", "b"]) == ["a", "b"]
