"""BFCL (Patil et al., Berkeley Function Calling Leaderboard): which tools to call, with which arguments.

Read are the categories whose answers are calls of one turn in Python's types, and those in which no call is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llmbench_mcp.catalog.importers.bfcl_schema import calls, tool
from llmbench_mcp.catalog.importers.bundle import Bundle
from llmbench_mcp.catalog.importers.importer import Importer, Wish
from llmbench_mcp.catalog.importers.rows import Row, json_rows
from llmbench_mcp.catalog.importers.wording import slug
from llmbench_mcp.catalog.item import Answer, Item
from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.text import one_line

CATEGORIES = (
    "simple",
    "multiple",
    "parallel",
    "parallel_multiple",
    "irrelevance",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "live_irrelevance",
)
KNOWN_BAD = {
    "live_simple_106-63-0": "the ground truth allows no value for a required argument",
    "live_simple_112-68-0": "the ground truth allows no value for a required argument",
    "parallel_multiple_12": "the ground truth names a parameter that the function does not have",
    "parallel_multiple_26": "the ground truth names a parameter that the function does not have",
    "parallel_multiple_83": "the ground truth writes the same function in two ways and takes only one for each call",
    "live_multiple_862-181-3": "the ground truth names a parameter that the function does not have",
    "live_multiple_964-207-0": "the ground truth names a parameter that the function does not have",
    "live_multiple_17-4-9": "the ground truth takes a Korean dish for Italian (gorilla issue 1169)",
}
_NO_CALL = "None of the tools fits this request."


def read(bundle: Bundle, wish: Wish) -> Iterator[Item]:
    """The items of every category there is, or of those asked for."""
    unknown = [part for part in wish.parts if part not in CATEGORIES]
    if unknown:
        raise InputError(
            f"BFCL has no category '{unknown[0]}' that can be imported.", f"These: {', '.join(CATEGORIES)}."
        )
    found = False
    for category in wish.parts or CATEGORIES:
        questions = _file(bundle, category)
        if questions is None and category in wish.parts:
            raise InputError(f"{bundle.origin} has no questions of {category}.", "Name the folder bfcl_eval/data.")
        if questions is not None:
            found = True
            yield from _category(bundle, category, questions)
    if not found:
        raise InputError(f"{bundle.origin} holds no BFCL_…json.", "Name the folder bfcl_eval/data, or the package.")


def _file(bundle: Bundle, category: str, folder: str = "") -> str | None:
    """The file of a category; ``simple`` was renamed to ``simple_python``."""
    ending = "simple(_python)?" if category == "simple" else category
    found = bundle.names(rf"(^|/){folder}BFCL_v\d+_{ending}\.json$")
    wanted = [name for name in found if folder or "/possible_answer/" not in f"/{name}"]
    return next((name for name in wanted if "unused" not in name), None)


def _category(bundle: Bundle, category: str, questions: str) -> Iterator[Item]:
    if category.endswith("irrelevance"):
        for row in json_rows(bundle, questions):
            yield _item(row, [], Answer(_NO_CALL))
        return
    answers = _file(bundle, category, "possible_answer/")
    if answers is None:
        raise InputError(
            f"{bundle.origin} has no answers for {category}.", "Keep possible_answer beside the questions."
        )
    truths = {row.text("id"): row for row in json_rows(bundle, answers)}
    for row in json_rows(bundle, questions):
        truth = truths.get(row.text("id"))
        if truth is None:
            raise row.error(f"{answers} has no answer to it.", "Fetch both files from the same release.")
        wanted, given = calls(truth, truth.any("ground_truth"))
        yield _item(row, wanted, Answer("", tuple(given)))


def _item(row: Row, wanted: list[dict[str, Any]], answer: Answer) -> Item:
    name = row.text("id")
    tools = [tool(row, function) for function in row.items("function")]
    system, prompt = _messages(row)
    marked = KNOWN_BAD.get(name) or (None if tools else "it offers no tool at all")
    return Item(
        name=slug(name),
        title=one_line(prompt, 60),
        prompt=prompt,
        system=system or None,
        validation={"type": "tool_use", "tools": tools, "expected_calls": wanted, "match": "bfcl"},
        where=row.where,
        needs=("tools",),
        answer=answer,
        marked=marked,
    )


def _messages(row: Row) -> tuple[str, str]:
    """System text and prompt. What was said before is written out, since a task is one turn."""
    turns = row.items("question")
    turn = turns[0] if len(turns) == 1 else None
    if not isinstance(turn, list) or not all(map(_is_message, turn)):
        raise row.error("question must hold one turn of messages.", "Categories of several turns are not read.")
    system = "\n\n".join(one["content"] for one in turn if one.get("role") == "system")
    said = [one for one in turn if one.get("role") != "system"]
    if not any(one["content"].strip() for one in said):
        raise row.error("question holds no text.", "Leave the row out.")
    if all(one.get("role") == "user" for one in said):
        return system, "\n\n".join(one["content"] for one in said)
    return system, "\n\n".join(f"{str(one.get('role')).capitalize()}: {one['content']}" for one in said)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("content"), str)


IMPORTER = Importer(
    title="BFCL",
    description="Which of the offered tools to call, with which arguments, or none at all.",
    licence="Apache-2.0",
    read=read,
    parts=", ".join(CATEGORIES),
)
