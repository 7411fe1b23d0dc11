from __future__ import annotations

import io

import pytest

from llmbench_mcp.cli.grid import Column, Grid, Paragraph
from llmbench_mcp.cli.output import console

_URL = "http://a-rather-long-host-name.example:8080/some/path"
_COLUMNS = (
    Column("Name"),
    Column("Context", right=True, drop=1),
    Column("Size", right=True, drop=2),
    Column("Where", wraps=True),
    Column("Why", note=True),
)
_ROWS = [("model-one", "4,096", "900 MB", f"box {_URL}", "wrong_answer: not 4"), ("m2", "-", "-", "box", "")]


def _shown(part: Grid | Paragraph, width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    out = io.StringIO()
    console(out).print(part, crop=False)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [20, 40, 60, 70, 80, 100, 140])
def test_no_width_breaks_a_name_or_an_address(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(_shown(Grid(_COLUMNS, _ROWS), width, monkeypatch))
    for whole in ("model-one", _URL, "wrong_answer:"):
        assert whole in text


def test_the_least_important_column_is_left_out_first(monkeypatch: pytest.MonkeyPatch) -> None:
    head = _shown(Grid(_COLUMNS, _ROWS), 75, monkeypatch)[0]
    assert "Context" not in head
    assert "Size" in head
    assert "Size" not in _shown(Grid(_COLUMNS, _ROWS), 66, monkeypatch)[0]


def test_a_reason_stands_beside_when_there_is_room_and_below_when_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Why" in _shown(Grid(_COLUMNS, _ROWS), 140, monkeypatch)[0]
    narrow = _shown(Grid(_COLUMNS, _ROWS), 80, monkeypatch)
    assert "Why" not in narrow[0]
    assert "    wrong_answer: not 4" in narrow


def test_a_column_that_may_be_cut_ends_with_an_ellipsis(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = Grid((Column("Task"), Column("Prompt", cut=True)), [("a/b", "word " * 30)])
    line = _shown(grid, 50, monkeypatch)[2]
    assert len(line) <= 50
    assert line.endswith("…")


def test_wide_characters_count_as_two(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = _shown(Grid((Column("Name"), Column("N", right=True)), [("日本", "1"), ("abcd", "2")]), 40, monkeypatch)
    assert lines[2:4] == ["日本  1", "abcd  2"]


def test_a_paragraph_goes_on_below_its_first_word(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _shown(Paragraph("one two three", label="ok: "), 12, monkeypatch) == ["ok: one two", "    three"]


@pytest.mark.parametrize("columns", ["", "many", None])
def test_a_pipe_without_a_usable_width_is_120_wide(columns: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert console(io.StringIO()).width == 120
