"""HumanEval (Chen et al. 2021, arXiv:2107.03374): complete a function; its ``check(candidate)`` decides."""

from __future__ import annotations

from collections.abc import Iterator

from llmbench_mcp.catalog.importers.bundle import Bundle
from llmbench_mcp.catalog.importers.importer import Importer, Wish
from llmbench_mcp.catalog.importers.rows import Row, json_rows
from llmbench_mcp.catalog.importers.wording import CODE, fenced
from llmbench_mcp.catalog.item import Answer, Item

KNOWN_BAD = {
    "47": "an example in the prompt is wrong: the median it shows is not the one the tests want",
    "75": "the prompt bounds the number, the tests bound the three primes",
    "116": "examples in the prompt contradict the tests, which also use negative numbers that it rules out",
}
"""By number; from openai/human-eval pull request 23 and evalplus issue 12, looked at in the data itself."""


def read(bundle: Bundle, wish: Wish) -> Iterator[Item]:
    """The items of ``HumanEval.jsonl``, packed or not."""
    name = bundle.one(r"(^|/)HumanEval[^/]*\.jsonl(\.gz)?$", "HumanEval.jsonl")
    for row in json_rows(bundle, name):
        yield _item(row)


def number(row: Row) -> str:
    """The number at the end of ``HumanEval/12``."""
    found = row.text("task_id").rpartition("/")[2]
    if not found.isdecimal():
        raise row.error("task_id must end in a number.", "As in HumanEval/0.")
    return found


def prompt_of(stub: str) -> str:
    """What is asked about the beginning of a function."""
    return f"Complete this Python function.\n\n{fenced(stub)}\n\n{CODE}"


def _item(row: Row) -> Item:
    stub, code = row.text("prompt"), row.text("canonical_solution", empty=True)
    whole = stub + code
    block = {
        "type": "coding",
        "function_name": row.text("entry_point"),
        "test_code": row.text("test"),
        "setup_code": stub,
        "reference_solution": whole,
    }
    return Item(
        name=number(row),
        title=row.text("entry_point").replace("_", " "),
        prompt=prompt_of(stub),
        validation=block,
        where=row.where,
        answer=Answer(fenced(whole)),
        marked=KNOWN_BAD.get(number(row)),
    )


IMPORTER = Importer(
    title="HumanEval",
    description="Complete Python functions from their documentation; hidden unit tests decide.",
    licence="MIT",
    read=read,
)
