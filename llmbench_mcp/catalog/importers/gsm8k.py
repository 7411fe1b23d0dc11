"""GSM8K (Cobbe et al. 2021, arXiv:2110.14168): word problems of arithmetic; the gold number stands after ``####``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llmbench_mcp.catalog.importers.bundle import Bundle
from llmbench_mcp.catalog.importers.importer import Importer, Wish
from llmbench_mcp.catalog.importers.rows import Row, json_rows
from llmbench_mcp.catalog.importers.wording import FINAL_NUMBER
from llmbench_mcp.catalog.item import Answer, Item
from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.text import one_line

_GOLD = re.compile(r"####\s*(-?[0-9][0-9,]*(?:\.[0-9]+)?)\s*\Z")
_CALCULATOR = re.compile(r"<<[^<>]*>>")


def read(bundle: Bundle, wish: Wish) -> Iterator[Item]:
    """The items of ``test.jsonl``, or of ``train.jsonl`` where that split is asked for."""
    unknown = [part for part in wish.parts if part not in ("test", "train")]
    if unknown:
        raise InputError(f"GSM8K has no split '{unknown[0]}'.", "It has: test, train.")
    for part in wish.parts or ("test",):
        name = bundle.one(rf"(^|/){part}\.jsonl(\.gz)?$", f"{part}.jsonl")
        prefix = "train_" if part == "train" else ""
        for number, row in enumerate(json_rows(bundle, name)):
            yield _item(row, f"{prefix}{number:04d}")


def _item(row: Row, name: str) -> Item:
    solution = row.text("answer")
    gold = _GOLD.search(solution)
    if gold is None:
        raise row.error("answer does not end in #### and a number.", "As in: 3 + 4 = 7 ⏎ #### 7")
    question = row.text("question").strip()
    return Item(
        name=name,
        title=one_line(question, 60),
        prompt=f"{question}\n\n{FINAL_NUMBER}",
        validation={"type": "reasoning", "expected_answer": gold[1].replace(",", ""), "answer_type": "number"},
        where=row.where,
        answer=Answer(_CALCULATOR.sub("", solution)),
    )


IMPORTER = Importer(
    title="GSM8K",
    description="Word problems of grade-school arithmetic with a number as the answer.",
    licence="MIT",
    read=read,
    parts="test (when not given), train",
)
