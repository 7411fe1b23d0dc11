"""CRUXEval (Gu et al. 2024, arXiv:2401.03065): what a function returns, or what it was given."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from typing import Any

from llmbench_mcp.catalog.importers.bundle import Bundle
from llmbench_mcp.catalog.importers.importer import Importer, Wish
from llmbench_mcp.catalog.importers.rows import Row, json_rows
from llmbench_mcp.catalog.importers.wording import fenced, slug
from llmbench_mcp.catalog.item import Answer, Item
from llmbench_mcp.domain.errors import InputError

_OUTPUT = """What does this call return? Follow the code step by step.

{code}

End with a fenced JSON block of the form {{"returns": "…"}}: the value as a Python literal, written as a JSON text."""

_INPUT = """Find arguments with which this function returns the value shown.

{code}

It must hold that `f(...) == {output}`. Answer with a Python function `arguments()` in one fenced block. It returns \
the positional arguments for `f` as a tuple; it must not call or copy `f`."""


def read(bundle: Bundle, wish: Wish) -> Iterator[Item]:
    """The 800 items, asked for the output, the input, or both ways."""
    unknown = [part for part in wish.parts if part not in ("output", "input")]
    if unknown:
        raise InputError(f"CRUXEval has no direction '{unknown[0]}'.", "It has: output, input.")
    name = bundle.one(r"(^|/)cruxeval\.jsonl(\.gz)?$", "cruxeval.jsonl")
    for number, row in enumerate(json_rows(bundle, name)):
        for part in wish.parts or ("output",):
            yield (_output if part == "output" else _input)(row, _name(row, number))


def _name(row: Row, number: int) -> str:
    return slug(row.text("id")) if "id" in row.values else f"sample_{number}"


def _output(row: Row, name: str) -> Item:
    value = _literal(row, "output")
    call = f"{row.text('code').rstrip()}\n\nf({row.text('input', empty=True)})"
    schema = {
        "type": "object",
        "required": ["returns"],
        "additionalProperties": False,
        "properties": {"returns": {"enum": sorted(spellings(row.text("output"), value))}},
    }
    return Item(
        name=f"{name}_output",
        title=f"Output of {name}",
        prompt=_OUTPUT.format(code=fenced(call)),
        validation={"type": "json_schema", "schema": schema},
        where=row.where,
        answer=Answer(fenced(json.dumps({"returns": row.text("output")}), "json")),
    )


def _input(row: Row, name: str) -> Item:
    code, output = row.text("code"), repr(_literal(row, "output"))
    given = row.text("input", empty=True)
    right = f"def arguments():\n    return _tuple({given})\n\ndef _tuple(*given):\n    return given\n"
    block = {
        "type": "coding",
        "function_name": "arguments",
        "setup_code": code,
        "test_code": f"def check(candidate):\n    assert f(*candidate()) == {output}\n",
    }
    return Item(
        name=f"{name}_input",
        title=f"Input of {name}",
        prompt=_INPUT.format(code=fenced(code), output=output),
        validation=block,
        where=row.where,
        answer=Answer(fenced(right)),
    )


def spellings(given: str, value: Any) -> set[str]:
    """The ways to write a literal that count as the same."""
    plain = repr(value)
    found = {given.strip(), plain}
    if isinstance(value, str | list | dict | bool | int | float | None) and not _has_tuple(value):
        found |= _as_json(value)
    if isinstance(value, str):
        found |= {f'"{value}"'} if not any(char in value for char in '"\\\n') else set()
    return found


def _as_json(value: Any) -> set[str]:
    """JSON's spelling, where Python reads it as the same value."""
    try:
        found = {json.dumps(value), json.dumps(value, ensure_ascii=False)}
        return {text for text in found if ast.literal_eval(text) == value}
    except (ValueError, TypeError, SyntaxError):
        return set()


def _has_tuple(value: Any) -> bool:
    if isinstance(value, tuple):
        return True
    if isinstance(value, dict):
        return any(not isinstance(key, str) or _has_tuple(one) for key, one in value.items())
    return isinstance(value, list) and any(map(_has_tuple, value))


def _literal(row: Row, key: str) -> Any:
    try:
        return ast.literal_eval(row.text(key).strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError) as error:
        raise row.error(f"{key} is no Python literal.", "Leave the row out.") from error


IMPORTER = Importer(
    title="CRUXEval",
    description="Short Python functions to be followed in the head: what a call returns, or what was given.",
    licence="MIT",
    read=read,
    parts="output (when not given), input",
)
