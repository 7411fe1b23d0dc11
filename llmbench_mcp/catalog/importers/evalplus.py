"""HumanEval+ and MBPP+ (Liu et al. 2023, arXiv:2305.01210): many more tests for the same functions.

Two forms are read: EvalPlus's own files, which hold inputs alone, so that the expected values come from the reference
code while an answer is graded; and rows with a finished ``test``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from llmbench_mcp.catalog.importers import mbpp
from llmbench_mcp.catalog.importers.bundle import Bundle
from llmbench_mcp.catalog.importers.evalplus_inputs import revive
from llmbench_mcp.catalog.importers.evalplus_tests import BY_INPUT, CLOSE, SETUP, as_set, numpy_free
from llmbench_mcp.catalog.importers.humaneval import KNOWN_BAD, prompt_of
from llmbench_mcp.catalog.importers.importer import Importer, Wish
from llmbench_mcp.catalog.importers.rows import Row, json_rows
from llmbench_mcp.catalog.importers.wording import CODE, fenced
from llmbench_mcp.catalog.item import Answer, Item
from llmbench_mcp.domain.errors import InputError

_FIXED = frozenset({"75", "116"})
"""Items of HumanEval that its EvalPlus edition has mended."""


def read_humaneval(bundle: Bundle, wish: Wish) -> Iterator[Item]:
    """The items of ``HumanEvalPlus.jsonl``."""
    name = bundle.one(r"(?i)(^|/)human_?eval_?plus[^/]*\.jsonl(\.gz)?$", "HumanEvalPlus.jsonl")
    for row in json_rows(bundle, name, constants=True):
        stub, code = row.text("prompt"), row.text("canonical_solution", empty=True)
        item = _item(row, row.text("entry_point"), stub + code, _which(wish))
        marked = None if item.name in _FIXED else KNOWN_BAD.get(item.name)
        yield Item(**item_fields(item), prompt=prompt_of(stub), marked=marked)


def read_mbpp(bundle: Bundle, wish: Wish) -> Iterator[Item]:
    """The items of ``MbppPlus.jsonl``."""
    name = bundle.one(r"(?i)(^|/)mbpp_?plus[^/]*\.jsonl(\.gz)?$", "MbppPlus.jsonl")
    for row in json_rows(bundle, name, constants=True):
        code = row.text("canonical_solution", "code")
        asked, tests = row.text("prompt"), row.optional("assertion")
        shown = row.texts("test_list") if "test_list" in row.values else [tests] if tests else []
        called = row.text("entry_point") if "entry_point" in row.values else mbpp.called(row, code, "\n".join(shown))
        text = asked if '"""' in asked and "assert" in asked else f"{asked.strip()}\n\n{fenced(chr(10).join(shown))}"
        prompt = f"Write the Python function `{called}` that this describes.\n\n{text.strip()}\n\n{CODE}"
        yield Item(**item_fields(_item(row, called, code, _which(wish))), prompt=prompt)


def item_fields(item: Item) -> dict[str, Any]:
    """An item's fields but for its prompt and mark."""
    return {name: getattr(item, name) for name in ("name", "title", "validation", "where", "answer")}


def _which(wish: Wish) -> Sequence[str]:
    unknown = [part for part in wish.parts if part not in ("base", "plus")]
    if unknown:
        raise InputError(f"EvalPlus has no tests '{unknown[0]}'.", "It has: base, plus.")
    return wish.parts or ("base", "plus")


def _item(row: Row, called: str, code: str, which: Sequence[str]) -> Item:
    number = row.text("task_id").rpartition("/")[2]
    block: dict[str, Any] = {"type": "coding", "function_name": called, "reference_solution": code}
    if "base_input" in row.values:
        block |= _by_inputs(row, (number, called, code), which)
    else:
        block |= {"test_code": numpy_free(row.text("test")), "setup_code": CLOSE}
    return Item(number, "", block, row.where, title=called.replace("_", " "), answer=Answer(fenced(code)))


def _by_inputs(row: Row, facts: tuple[str, str, str], which: Sequence[str]) -> dict[str, Any]:
    number, called, code = facts
    inputs = [one for part in which for one in _inputs(row, f"{part}_input")]
    if row.text("task_id").casefold().startswith("mbpp"):
        inputs = _revived(row, inputs, int(number) if number.isdecimal() else 0)
    tolerance = row.values.get("atol") or 0
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float):
        raise row.error("atol must be a number.", "As in 1e-6.")
    return {
        "setup_code": SETUP.format(code=code, name=called),
        "test_code": BY_INPUT.format(inputs=repr(inputs), tolerance=float(tolerance), same=as_set(called)),
        "trust": "strong",  # beside the answer it could find the reference code
        "timeout_s": 30,
    }


def _inputs(row: Row, key: str) -> Sequence[Any]:
    value = row.values.get(key)
    if value in (None, {}):
        return ()
    if not isinstance(value, list) or not all(isinstance(one, list) for one in value):
        raise row.error(f"{key} must be a list of lists of arguments.")
    return value


def _revived(row: Row, inputs: Sequence[Any], number: int) -> list[Any]:
    try:
        return [revive(number, one) for one in inputs]
    except (TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        raise row.error("its inputs are not of the form that this item has.", "Fetch the file again.") from error


def _importer(title: str, description: str, licence: str, read: Callable[[Bundle, Wish], Iterator[Item]]) -> Importer:
    parts = "base, plus: which tests; both when not given"
    return Importer(title=title, description=description, licence=licence, read=read, parts=parts)


HUMANEVAL = _importer("HumanEval+", "HumanEval with many more tests.", "Apache-2.0 (HumanEval: MIT)", read_humaneval)
MBPP = _importer("MBPP+", "MBPP with many more tests.", "Apache-2.0 (MBPP: CC-BY-4.0)", read_mbpp)
