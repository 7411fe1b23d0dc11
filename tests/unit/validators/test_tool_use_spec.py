from __future__ import annotations

from typing import Any

import pytest
from llmbench_validators.tool_use import validate
from llmbench_validators.types import Completion, ValidationSpecError

from tests.unit.validators.tool_support import BOOK, TOOLS, block, wanted


def refused(spec: dict[str, Any]) -> str:
    with pytest.raises(ValidationSpecError) as caught:
        validate(spec, Completion(""))
    return str(caught.value)


def test_an_unknown_key_is_named_with_the_valid_ones() -> None:
    message = refused(block(BOOK, tool=[]))
    assert message == (
        "tool_use: unknown key 'tool'; allowed: type, tools, available_functions, expected_calls, turns, order, match, "
        "calls"
    )
    told = refused(block({"name": "x"}))
    assert "expected_calls[0]: unknown key 'name'; allowed: function, arguments, result" in told


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ({"type": "tool_use", "expected_calls": []}, "tools: give"),
        ({"tools": TOOLS, "available_functions": TOOLS, "expected_calls": []}, "tools: give"),
        ({"tools": "f", "expected_calls": []}, "tools: must be a list"),
        ({"tools": [{}], "expected_calls": []}, "tools[0]: must be a function schema with a name"),
        ({"tools": ["f", "f"], "expected_calls": []}, "tools[1]: a second function called 'f'"),
        ({"tools": [{"name": "f", "parameters": []}], "expected_calls": []}, "parameters must be"),
        ({"tools": [{"name": "f", "parameters": {"required": "a"}}], "expected_calls": []}, "required a list"),
        ({"tools": TOOLS}, "expected_calls: must be a list"),
        ({"tools": TOOLS, "expected_calls": ["f"]}, "expected_calls[0]: must be a mapping"),
        (block(wanted("fly")), "expected_calls[0].function: 'fly' is none of book_train, notes.add"),
        (block({"function": "book_train", "arguments": [1]}), "arguments: must be a mapping"),
        (block(wanted("book_train", speed=1)), "book_train has no such parameter; it has start, seats"),
        (block(BOOK, order="some"), "order: 'some' is unknown; allowed: any, strict"),
        (block(BOOK, match="loose"), "match: 'loose' is unknown; allowed: strict, bfcl"),
        (block(BOOK, calls="text"), "calls: 'text' is unknown; allowed: any, native"),
        (block(wanted("book_train", start={"any_of": ["a"], "default": 1})), "unknown key 'default'"),
        (block(wanted("book_train", start={"optional": True})), "any_of is missing"),
        (block(wanted("book_train", start={"any_of": "a"})), "any_of must be a list"),
        (block(wanted("book_train", start={"any_of": ["a"], "optional": 1})), "optional true or false"),
        (block(wanted("book_train", start={"any_of": []})), "any_of is empty"),
        (block(wanted("book_train", stops={"items": ["a"]})), "stops: the schema wants array"),
        (block(wanted("book_train", rider=["a"])), "rider: the schema wants object"),
        (
            block(wanted("book_train", rider={"any_of": [{"fields": {"name": {"any_of": []}}}]})),
            "fields.name: any_of is",
        ),
    ],
)
def test_a_wrong_block_says_where_and_what(spec: dict[str, Any], part: str) -> None:
    assert part in refused(spec)


@pytest.mark.parametrize(
    "tools",
    [
        [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "float"}}}}}],
        [{"name": "f", "parameters": {"type": "dict", "properties": {"a": {}}, "required": ["a"]}}],
        [{"name": "f", "parameters": {"type": "object"}}],
        ["f"],
    ],
)
def test_functions_are_given_as_tools_as_bare_schemas_or_by_name(tools: list[Any]) -> None:
    for key in ("tools", "available_functions"):
        spec = {key: tools, "expected_calls": [wanted("f", a=1)]}
        assert validate(spec, Completion("", ({"name": "f", "arguments": {"a": 1}},))).passed


def test_an_object_that_only_looks_like_a_choice_is_a_literal() -> None:
    rider = {"name": "Eva", "optional": True}
    spec = block(wanted("book_train", start="a", rider=rider))
    assert validate(spec, Completion("", ({"name": "book_train", "arguments": {"start": "a", "rider": rider}},))).passed
