"""ARC (Clark et al. 2018, arXiv:1803.05457): science questions of school tests with choices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from llmbench_mcp.catalog.importers.bundle import Bundle
from llmbench_mcp.catalog.importers.choice import choice_item
from llmbench_mcp.catalog.importers.importer import Importer, Wish
from llmbench_mcp.catalog.importers.rows import Row, json_rows
from llmbench_mcp.catalog.importers.wording import slug
from llmbench_mcp.catalog.item import Item
from llmbench_mcp.domain.errors import InputError


def read(bundle: Bundle, wish: Wish) -> Iterator[Item]:
    """The items of the test file of the Challenge set, or of the sets asked for."""
    unknown = [part for part in wish.parts if part not in ("challenge", "easy")]
    if unknown:
        raise InputError(f"ARC has no set '{unknown[0]}'.", "It has: challenge, easy.")
    for part in wish.parts or ("challenge",):
        name = bundle.one(rf"(?i)(^|/)[^/]*{part}[-_]?test\.jsonl(\.gz)?$", f"ARC-{part.capitalize()}-Test.jsonl")
        for row in json_rows(bundle, name):
            yield replace(_item(row), tags=(part,))


def _item(row: Row) -> Item:
    stem, choices = _parts(row)
    labels = [str(label) for _, label in choices]
    key = row.text("answerKey").strip()
    if key not in labels:
        raise row.error("answerKey is none of its labels.", "Leave the row out.")
    texts = [text for text, _ in choices]
    return choice_item(row, slug(row.text("id")), stem, texts, labels.index(key))


def _parts(row: Row) -> tuple[str, list[tuple[str, str]]]:
    """The question and its choices with their labels, in the form of the first edition or of the later one."""
    question = row.any("question")
    if isinstance(question, dict):
        stem, choices = question.get("stem"), question.get("choices")
        pairs = [(_of(one, "text"), _of(one, "label")) for one in choices] if isinstance(choices, list) else []
    else:
        stem, listed = question, row.any("choices")
        texts, labels = _of(listed, "text"), _of(listed, "label")
        pairs = list(zip(texts, labels, strict=False)) if isinstance(texts, list) and isinstance(labels, list) else []
    if not isinstance(stem, str) or not pairs or not all(isinstance(text, str) for text, _ in pairs):
        raise row.error("question and choices must be text.", "As ARC's own files have them.")
    return stem, pairs


def _of(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


IMPORTER = Importer(
    title="ARC",
    description="Science questions of school tests with lettered choices.",
    licence="CC-BY-SA-4.0",
    read=read,
    parts="challenge (when not given), easy",
)
