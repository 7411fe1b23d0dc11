"""Whatever stands in a row, it is read, or refused with a message of one line: no importer falls over."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llmbench_mcp.catalog.importers import registry
from llmbench_mcp.catalog.importers.bundle import Bundle
from llmbench_mcp.catalog.importers.importer import Wish
from llmbench_mcp.catalog.item import Item
from llmbench_mcp.domain.errors import BenchError
from tests.unit.imports.support import APPLES, DOUBLE, HALF_PLUS, LETTERS, PAIR_PLUS, ROOT, TOTAL, asked

CHOICES = {"id": "a", "question": "Hot?", "choices": {"text": ["ice", "fire"], "label": ["A", "B"]}, "answerKey": "B"}
TRUTH = {"id": "simple_python_0", "ground_truth": [{"weather.today": {"place": ["Lima"], "days": ["", 2.0]}}]}
IFEVAL = {"key": 1, "prompt": "Hi", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
CONFIG = {"files": {"solution": ["a.py"], "test": ["a_test.py"], "example": [".meta/example.py"]}}
ROWS: list[tuple[str, str, dict[str, Any]]] = [
    ("humaneval", "HumanEval.jsonl", DOUBLE),
    ("humaneval_plus", "HumanEvalPlus.jsonl", HALF_PLUS),
    ("mbpp", "mbpp.jsonl", TOTAL),
    ("mbpp_sanitized", "sanitized.jsonl", LETTERS),
    ("mbpp_plus", "MbppPlus.jsonl", PAIR_PLUS),
    ("gsm8k", "test.jsonl", APPLES),
    ("math", "a.jsonl", ROOT),
    ("bfcl", "BFCL_v4_simple_python.json", asked("simple_python_0", "The weather in Lima?")),
    ("bfcl", "possible_answer/BFCL_v4_simple_python.json", TRUTH),
    ("ifeval", "input_data.jsonl", IFEVAL),
    ("arc", "a-challenge-test.jsonl", CHOICES),
    ("mmlu", "a.jsonl", {"question": "?", "choices": ["x", "y"], "answer": 1, "subject": "s"}),
    ("bbh", "a.json", {"examples": [{"input": "x", "target": "(A)"}]}),
    ("cruxeval", "cruxeval.jsonl", {"code": "def f(a): return a", "input": "1", "output": "1", "id": "a"}),
    ("polyglot", "a/.meta/config.json", CONFIG),
    ("table", "a.jsonl", {"prompt": "?", "expected": 1, "tags": ["a"], "difficulty": "easy", "max_tokens": 5}),
    ("table", "a.jsonl", {"prompt": "?", "validation": {"type": "exact", "expected": "x"}, "id": 1, "system": ""}),
    ("table", "a.jsonl", {"prompt": "?", "criteria": ["a"], "title": "t"}),
]
BESIDE = {
    "BFCL_v4_simple_python.json": asked("simple_python_0", "The weather in Lima?"),
    "possible_answer/BFCL_v4_simple_python.json": TRUTH,
}
TEXTS = {"a/a.py": "x", "a/a_test.py": "x", "a/.meta/example.py": "x"}

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to every value inside a row."""
    found = [path] if path else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return found + [place for key, one in inner for place in places(one, (*path, key))]


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with the value at ``path`` replaced."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize(("importer", "name", "row"), ROWS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_row_with_anything_in_it_is_read_or_refused(
    importer: str, name: str, row: dict[str, Any], data: st.DataObject
) -> None:
    bad = changed(row, data.draw(st.sampled_from(places(row))), data.draw(values))
    rows = {**BESIDE, name: bad} if importer == "bfcl" else {name: bad}
    texts = {path: json.dumps(one) for path, one in rows.items()} | (TEXTS if importer == "polyglot" else {})
    files = {path: partial(cut, text.encode()) for path, text in texts.items()}
    items, said = read(importer, Bundle("set", files))

    assert "\n" not in said
    assert len(said) < 700
    assert all(item.prompt and "type" in item.validation and item.where for item in items)


def cut(content: bytes, most: int) -> bytes:
    return content[:most]


def read(importer: str, bundle: Bundle) -> tuple[list[Item], str]:
    """The items, or what is wrong with them; any other error is the test's failure."""
    try:
        return list(registry.importer(importer).read(bundle, Wish())), ""
    except BenchError as error:
        return [], str(error)
