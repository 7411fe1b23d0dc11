"""BIG-Bench Hard (Suzgun et al. 2022, arXiv:2210.09261): 27 kinds of puzzles with short answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from llmbench_mcp.catalog.importers.bundle import Bundle
from llmbench_mcp.catalog.importers.importer import Importer, Wish
from llmbench_mcp.catalog.importers.rows import Row, json_rows
from llmbench_mcp.catalog.importers.wording import FINAL_LINE, slug
from llmbench_mcp.catalog.item import Answer, Item
from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.text import one_line

_LETTER = re.compile(r"\(([A-Z])\)\Z")
_NUMBER = re.compile(r"-?[0-9]+\Z")


def read(bundle: Bundle, wish: Wish) -> Iterator[Item]:
    """The items of every task's file in ``bbh``, or of the tasks asked for."""
    names = bundle.names(r"(^|/)bbh/[^/]+\.json$") or bundle.some(r"\.json$", "folder bbh of JSON files")
    known = {slug(PurePosixPath(name).stem): name for name in names}
    missing = [part for part in wish.parts if part not in known]
    if missing:
        raise InputError(f"{bundle.origin} has no task '{missing[0]}'.", f"It has: {', '.join(list(known)[:30])}.")
    for task in wish.parts or known:
        for document in json_rows(bundle, known[task]):
            yield from _items(bundle, task, document)


def _items(bundle: Bundle, task: str, document: Row) -> Iterator[Item]:
    examples = document.items("examples")
    bundle.count_rows(document.file, len(examples))
    for number, example in enumerate(examples):
        if not isinstance(example, dict):
            raise document.error(f"example {number} must be an object.")
        yield _item(Row(f"{document.file}#{number}", document.line, example), task, number)


def _item(row: Row, task: str, number: int) -> Item:
    asked, target = row.text("input").strip(), row.text("target").strip()
    return Item(
        name=f"{task[:58]}_{number:03d}",
        title=one_line(asked, 60),
        prompt=f"{asked}\n\n{FINAL_LINE}",
        validation=_block(target),
        where=row.where,
        tags=(task[:40],),
        answer=Answer(f"Answer: {target}"),
    )


def _block(target: str) -> dict[str, Any]:
    letter, number = _LETTER.match(target), _NUMBER.match(target)
    if letter:
        return {"type": "reasoning", "expected_answer": letter[1], "answer_type": "choice"}
    if not any(char.isalnum() for char in target):  # brackets to be closed: their order is all there is
        signs = r"\s*".join(re.escape(sign) for sign in target.split())
        return {"type": "reasoning", "extract_patterns": [rf"answer:[\s*`]*{signs}[\s*`]*\Z"]}
    kind = "number" if number else "text"
    return {"type": "reasoning", "expected_answer": target, "answer_type": kind}


IMPORTER = Importer(
    title="BIG-Bench Hard",
    description="Puzzles of 27 kinds with short answers.",
    licence="MIT",
    read=read,
    parts="tasks, such as date_understanding",
)
