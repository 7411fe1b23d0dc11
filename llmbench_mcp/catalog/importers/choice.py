"""A question with lettered choices as an item; shared by the sets that ask in this way."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

from llmbench_mcp.catalog.importers.rows import Row
from llmbench_mcp.catalog.importers.wording import LETTER
from llmbench_mcp.catalog.item import Answer, Item
from llmbench_mcp.domain.text import one_line

_MOST = 10


def choice_item(row: Row, name: str, question: str, choices: Sequence[str], right: int) -> Item:
    """The item; ``right`` counts from 0. Raises TaskFormatError."""
    if not 2 <= len(choices) <= _MOST or not all(choice.strip() for choice in choices):
        raise row.error(f"has {len(choices)} choices.", f"There must be 2 to {_MOST}, none of them blank.")
    if not 0 <= right < len(choices):
        raise row.error("its answer is none of its choices.", "Leave the row out.")
    letter = ascii_uppercase[right]
    listed = "\n".join(f"{one}) {choice.strip()}" for one, choice in zip(ascii_uppercase, choices, strict=False))
    return Item(
        name=name,
        title=one_line(question, 60),
        prompt=f"{question.strip()}\n\n{listed}\n\n{LETTER}",
        validation={"type": "reasoning", "expected_answer": letter, "answer_type": "choice"},
        where=row.where,
        answer=Answer(f"Answer: {letter}"),
    )
