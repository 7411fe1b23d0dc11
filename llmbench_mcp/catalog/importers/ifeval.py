"""IFEval (Zhou et al. 2023, arXiv:2311.07911): instructions whose following a program can check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llmbench_mcp.catalog.importers.bundle import Bundle
from llmbench_mcp.catalog.importers.importer import Importer, Wish
from llmbench_mcp.catalog.importers.rows import Row, json_rows
from llmbench_mcp.catalog.item import Item
from llmbench_mcp.domain.text import one_line

KNOWN_BAD = {
    "30": "it demands the same instruction twice",
    "337": "the prompt demands 400 words and the check 336",
    "2078": "it demands exactly one bullet point and a few of them",
}
"""From google-research pull request 3361, looked at in the data itself."""


def read(bundle: Bundle, wish: Wish) -> Iterator[Item]:
    """The items of ``input_data.jsonl``."""
    name = bundle.one(r"(^|/)[^/]*input_data\.jsonl(\.gz)?$", "input_data.jsonl")
    for row in json_rows(bundle, name):
        yield _item(row)


def _item(row: Row) -> Item:
    key = row.text("key").removeprefix("en:")
    ids = [name.removeprefix("en:") for name in row.texts("instruction_id_list")]
    arguments = row.items("kwargs")
    if len(ids) != len(arguments) or not all(isinstance(one, dict | None) for one in arguments) or not ids:
        raise row.error("kwargs must hold one object for each instruction.", "As IFEval's own file does.")
    pairs = zip(ids, arguments, strict=True)
    return Item(
        name=key,
        title=one_line(row.text("prompt"), 60),
        prompt=row.text("prompt"),
        validation={"type": "instructions", "instructions": [_instruction(name, given) for name, given in pairs]},
        where=row.where,
        tags=tuple(dict.fromkeys(name.partition(":")[0] for name in ids)),
        marked=KNOWN_BAD.get(key),
    )


def _instruction(name: str, given: dict[str, Any] | None) -> dict[str, Any]:
    return {"id": name, **{key: value for key, value in (given or {}).items() if value is not None}}


IMPORTER = Importer(
    title="IFEval",
    description="Prompts with instructions on form and wording that can be checked; strict and loose are both told.",
    licence="Apache-2.0",
    read=read,
)
