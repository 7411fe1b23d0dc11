"""A user's own table, CSV or JSON lines: columns become the fields of tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from llmbench_mcp.catalog.importers.bundle import Bundle, open_bundle
from llmbench_mcp.catalog.importers.importer import Importer, Wish
from llmbench_mcp.catalog.importers.rows import Row, csv_rows, is_csv, json_rows
from llmbench_mcp.catalog.importers.wording import slug
from llmbench_mcp.catalog.item import Answer, Item
from llmbench_mcp.catalog.source import quoted
from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.task import Difficulty
from llmbench_mcp.domain.text import one_line

FIELDS = (
    "prompt",
    "expected",
    "criteria",
    "validation",
    "answer_type",
    "tolerance",
    "id",
    "system",
    "title",
    "difficulty",
    "tags",
    "max_tokens",
)
_GRADED = ("expected", "criteria", "validation")


@dataclass(frozen=True, slots=True)
class _Cells:
    """A row's values by the fields of a task."""

    row: Row
    columns: Mapping[str, str]

    def text(self, field: str) -> str:
        return self.row.optional(self.columns[field]).strip() if field in self.columns else ""

    def value(self, field: str) -> Any:
        return self.row.values.get(self.columns[field]) if field in self.columns else None


def read(bundle: Bundle, wish: Wish) -> Iterator[Item]:
    """One item a row. Raises InputError for columns that do not fit together."""
    if wish.parts:
        raise InputError("A table of one's own has no parts to choose from.", "Leave out --split, or split the table.")
    name = bundle.one(r"(?i)\.(csv|tsv|jsonl?)(\.gz)?$", "table")
    columns = dict(wish.columns)
    for number, row in enumerate(_rows(bundle, name), 1):
        if not columns:
            columns = {field: field for field in FIELDS if field in row.values}
        if number == 1:
            _check(row, columns)
        yield _item(_Cells(row, columns), number)


def is_table(source: str) -> bool:
    """Whether a source is one file whose columns are called as a task's prompt and what grades it. Raises nothing."""
    try:
        if not Path(source).expanduser().is_file():
            return False
        bundle = open_bundle(source)
        (name,) = bundle.names()
        first = next(_rows(bundle, name))
    except (InputError, OSError, StopIteration, ValueError):
        return False
    return "prompt" in first.values and any(field in first.values for field in _GRADED)


def _rows(bundle: Bundle, name: str) -> Iterator[Row]:
    return csv_rows(bundle, name) if is_csv(name) else json_rows(bundle, name)


def _check(row: Row, columns: Mapping[str, str]) -> None:
    unknown = next((field for field in columns if field not in FIELDS), None)
    if unknown is not None:
        raise InputError(f"There is no field {quoted(unknown)} to map to.", f"Fields: {', '.join(FIELDS)}.")
    missing = next((column for column in columns.values() if column not in row.values), None)
    if missing is not None:
        raise InputError(f"The table has no column {quoted(missing)}.", f"It has: {', '.join(list(row.values)[:20])}.")
    graded = [field for field in _GRADED if field in columns]
    if "prompt" not in columns or len(graded) != 1:
        raise InputError(
            "The columns must give prompt and one of expected, criteria and validation.",
            "Map them: --map prompt=question,expected=answer.",
        )


def _item(cells: _Cells, number: int) -> Item:
    row = cells.row
    name = slug(cells.text("id")) if "id" in cells.columns else f"row_{number:04d}"
    if not name:
        raise row.error("its id cannot be part of a task's name.", "Use letters and digits.")
    prompt = row.text(cells.columns["prompt"])
    difficulty = cells.text("difficulty") or "medium"
    if difficulty not in get_args(Difficulty):
        raise row.error(f"difficulty is {quoted(difficulty)}.", f"Use: {', '.join(get_args(Difficulty))}.")
    expected = cells.text("expected")
    return Item(
        name=name,
        title=cells.text("title") or one_line(prompt, 60),
        prompt=prompt,
        system=cells.text("system") or None,
        validation=_validation(cells),
        where=row.where,
        difficulty=cast(Difficulty, difficulty),
        tags=_tags(cells),
        max_tokens=_budget(cells),
        answer=Answer(f"Answer: {expected}") if expected else None,
    )


def _validation(cells: _Cells) -> Mapping[str, Any]:
    if "validation" in cells.columns:
        return _block(cells)
    if "criteria" in cells.columns:
        given = cells.value("criteria")
        lines = given if isinstance(given, list) else cells.text("criteria").split("|")
        if not all(isinstance(line, str) for line in lines) or not "".join(lines).strip():
            raise cells.row.error("criteria must be text, phrases separated by |.", "Each must be mentioned to pass.")
        return {"type": "keyword", "expected": "\n".join(line.strip() for line in lines if line.strip())}
    expected = cells.text("expected")
    if not expected:
        raise cells.row.error("has no expected answer.", "Fill the cell or leave the row out.")
    block: dict[str, Any] = {"type": "reasoning", "expected_answer": expected}
    if kind := cells.text("answer_type"):
        block["answer_type"] = kind
    if tolerance := cells.text("tolerance"):
        block["tolerance"] = _number(cells.row, tolerance)
    return block


def _number(row: Row, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise row.error(f"tolerance is {quoted(text)}.", "Write a number.") from error


def _block(cells: _Cells) -> Mapping[str, Any]:
    given = cells.value("validation")
    try:
        block = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError) as error:
        raise cells.row.error("validation is no JSON.", 'Write {"type": "…", …}.') from error
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise cells.row.error("validation must be an object with a type.", "See docs/grading.md for the types.")
    return block


def _tags(cells: _Cells) -> tuple[str, ...]:
    given = cells.value("tags")
    words = given if isinstance(given, list) else cells.text("tags").replace(",", " ").split()
    return tuple(dict.fromkeys(filter(None, (slug(str(word))[:40] for word in words))))


def _budget(cells: _Cells) -> int | None:
    text = cells.text("max_tokens")
    if not text:
        return None
    if not text.isdecimal() or not 1 <= int(text) <= 1_000_000:
        raise cells.row.error(f"max_tokens is {quoted(text)}.", "Use 1 to 1000000.")
    return int(text)


IMPORTER = Importer(
    title="Own table",
    description="Tasks from a table of one's own.",
    licence="unknown",
    read=read,
    forgiving=False,
)
