"""MMLU (Hendrycks et al. 2021, arXiv:2009.03300): questions in 57 subjects with four choices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from llmbench_mcp.catalog.importers.bundle import Bundle
from llmbench_mcp.catalog.importers.choice import choice_item
from llmbench_mcp.catalog.importers.importer import Importer, Wish
from llmbench_mcp.catalog.importers.rows import Row, csv_rows, first_line, json_rows
from llmbench_mcp.catalog.importers.wording import slug
from llmbench_mcp.catalog.item import Item
from llmbench_mcp.domain.errors import InputError

_PLAIN = ("question", "A", "B", "C", "D", "answer")
_KINDS = ("test", "dev", "val")
_FILE = re.compile(r"(?:.*/)?(?P<subject>[^/]+?)(?:_(?P<kind>test|dev|val))?\.(?:csv|jsonl)(?:\.gz)?\Z")


def read(bundle: Bundle, wish: Wish) -> Iterator[Item]:
    """The questions of every subject's test file; ``--split`` takes subjects, or dev or val."""
    kind = next((part for part in wish.parts if part in _KINDS), "test")
    subjects = [part for part in wish.parts if part not in _KINDS]
    names = bundle.some(r"\.(csv|jsonl)(\.gz)?$", "CSV file")
    counts: dict[str, int] = {}
    for name in names:
        found = _FILE.fullmatch(name)
        if found is None or (len(names) > 1 and found["kind"] not in (None, kind)):
            continue
        for row in _rows(bundle, name):
            subject = slug(row.optional("subject") or found["subject"])
            if not subjects or subject in subjects:
                number = counts[subject] = counts.get(subject, -1) + 1
                yield _item(row, subject, number)
    if not counts:
        raise InputError(f"{bundle.origin} holds no question of {', '.join(subjects) or kind}.", "Name other subjects.")


def _rows(bundle: Bundle, name: str) -> Iterator[Row]:
    if ".jsonl" in name:
        return json_rows(bundle, name)
    head = [cell.strip().casefold() for cell in first_line(bundle, name)]
    return csv_rows(bundle, name) if "question" in head else csv_rows(bundle, name, _PLAIN)


def _item(row: Row, subject: str, number: int) -> Item:
    choices = _choices(row)
    item = choice_item(row, f"{subject[:50]}_{number:04d}", row.text("question"), choices, _right(row))
    return replace(item, tags=(subject[:40],) if subject else ())


def _choices(row: Row) -> list[str]:
    values = row.values
    if isinstance(values.get("choices"), list):
        return row.texts("choices")
    for names in (("A", "B", "C", "D"), ("choice0", "choice1", "choice2", "choice3")):
        if all(name in values for name in names):
            return [row.text(name) for name in names]
    raise row.error("has no choices.", "They stand in A to D, in choice0 to choice3 or in a list called choices.")


def _right(row: Row) -> int:
    """The place of the answer: a letter, or a number from 0."""
    value: Any = row.any("answer")
    text = str(value).strip().upper()
    if text in ("A", "B", "C", "D"):
        return "ABCD".index(text)
    if text in ("0", "1", "2", "3"):
        return int(text)
    raise row.error("answer must be A to D, or 0 to 3.", "Leave the row out.")


IMPORTER = Importer(
    title="MMLU",
    description="Questions of 57 subjects with four choices.",
    licence="MIT",
    read=read,
    parts="subjects, such as anatomy; dev or val instead of the test questions",
)
