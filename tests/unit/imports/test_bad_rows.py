"""A bad row is named with its file and line, and nothing is imported of its file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from llmbench_mcp.domain.errors import BenchError, InputError, TaskFormatError
from tests.unit.imports.support import APPLES, DOUBLE, ROOT, TOTAL, WEATHER, asked, bfcl, lines, run, settings

CALL = {"id": "simple_python_0", "ground_truth": [{"weather.today": {"place": ["Lima"]}}]}
CASES: list[tuple[str, str, list[Any], str]] = [
    ("humaneval", "HumanEval.jsonl", [DOUBLE, {**DOUBLE, "task_id": "HumanEval/x"}], "2: task_id must end in a number"),
    ("humaneval", "HumanEval.jsonl", [{**DOUBLE, "test": None}], "1: test must be text"),
    ("humaneval", "HumanEval.jsonl", [DOUBLE, DOUBLE], "2: a second item '7', the first is at HumanEval.jsonl:1"),
    ("humaneval", "HumanEval.jsonl", [[1]], "1: must be an object"),
    ("mbpp", "mbpp.jsonl", [{**TOTAL, "code": "def ("}], "1: its code is no Python"),
    (
        "mbpp",
        "mbpp.jsonl",
        [{**TOTAL, "test_list": ["assert f(1)"], "challenge_test_list": []}],
        "1: its tests call no function of its code",
    ),
    ("mbpp", "mbpp.jsonl", [{**TOTAL, "test_list": "assert total([])"}], "1: test_list must be a list"),
    ("mbpp_plus", "MbppPlus.jsonl", [{"task_id": "Mbpp/2", "canonical_solution": "x"}], "1: has no prompt"),
    ("gsm8k", "test.jsonl", [APPLES, {"question": "?", "answer": "7"}], "2: answer does not end in ####"),
    ("gsm8k", "test.jsonl", [{"question": "  ", "answer": "#### 1"}], "1: question must be text"),
    ("gsm8k", "test.jsonl", [{"question": "\ud800", "answer": "#### 1"}], "1: question holds half a surrogate pair"),
    ("math", "a.jsonl", [{**ROOT, "solution": "It is 4."}], r"1: has no answer, and its solution no \\boxed"),
    ("math", "a.jsonl", [{**ROOT, "solution": r"\boxed{4"}], r"1: has no answer, and its solution no \\boxed"),
    (
        "ifeval",
        "input_data.jsonl",
        [{"key": 1, "prompt": "x", "instruction_id_list": ["a"], "kwargs": []}],
        "1: kwargs",
    ),
    ("arc", "a.jsonl", [{"id": "a", "question": "?", "choices": {}, "answerKey": "A"}], "1: question and choices"),
    (
        "arc",
        "a.jsonl",
        [{"id": "a", "question": "?", "choices": {"text": ["x", "y"], "label": ["A", "B"]}, "answerKey": "E"}],
        "1: answerKey is none of its labels",
    ),
    (
        "mmlu",
        "a.jsonl",
        [{"question": "?", "choices": ["x", "y"], "answer": 3}],
        "1: its answer is none of its choices",
    ),
    ("mmlu", "a.jsonl", [{"question": "?", "choices": ["x", "y"], "answer": "Z"}], "1: answer must be A to D"),
    ("bbh", "a.json", [{"examples": [{"input": "x", "target": "y"}, {"input": "x"}]}], r"1: has no target"),
    ("bbh", "a.json", [{"items": []}], "1: has no examples"),
    (
        "cruxeval",
        "cruxeval.jsonl",
        [{"code": "x", "input": "", "output": "open('x')"}],
        "1: output is no Python literal",
    ),
    (
        "table",
        "a.jsonl",
        [{"prompt": "?", "expected": 4}, {"prompt": "?", "expected": ""}],
        "2: has no expected answer",
    ),
    ("table", "a.jsonl", [{"prompt": "?", "expected": "x", "difficulty": "odd"}], "1: difficulty is 'odd'"),
    ("table", "a.jsonl", [{"prompt": "?", "validation": {"type": "nonsense"}}], "1: .*nonsense"),
    ("table", "a.jsonl", [{"prompt": "?", "validation": "{"}], "1: validation is no JSON"),
    ("table", "a.jsonl", [{"prompt": "?", "expected": "x", "max_tokens": "many"}], "1: max_tokens is 'many'"),
    ("table", "a.jsonl", [{"prompt": "?", "expected": "x", "answer_type": "number"}], "1: .*is no number"),
    ("table", "a.jsonl", [{"prompt": "?", "expected": "x", "id": "§§"}], "1: its id cannot be part"),
]


@pytest.mark.parametrize(("importer", "name", "rows", "message"), CASES)
def test_a_bad_row_is_named_and_nothing_is_imported(
    tmp_path: Path, importer: str, name: str, rows: list[Any], message: str
) -> None:
    file = lines(tmp_path / name, *rows)

    with pytest.raises(TaskFormatError, match=re.escape(name) + "(#1)?:" + message):
        run(tmp_path, importer, file, suite="mine")

    assert not list(settings(tmp_path).data_dir.glob("**/*"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"question": "a", "answer": "#### 1"}\n{"question": ', "2: is not valid JSON"),
        ('{"question": "a", "answer": "#### 1"}\n{"question": "b"\n\n', "2: is not valid JSON"),
        ('[\n{"question": "a", "answer": "#### 1"},\n{"question": }]', "3: is not valid JSON"),
        ('[{"question": "a", "answer": "#### 1"}] more', "1: something follows"),
        ('{"question": NaN, "answer": "#### 1"}', "1: holds a value that is not plain JSON"),
        ('{"question": ' + "[" * 100_000 + "1" + "]" * 100_000 + "}", "1: holds a value that is not plain JSON"),
        ('{"question": ' + "9" * 10_000 + "}", "1: holds a value that is not plain JSON"),
    ],
)
def test_broken_json_is_placed(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "test.jsonl").write_text(text, encoding="utf-8")

    with pytest.raises(TaskFormatError, match="test.jsonl:" + message):
        run(tmp_path, "gsm8k", tmp_path / "test.jsonl")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompt,expected\na,b\na,b,c\n", "3: has 3 cells where 2 are expected"),
        ('prompt,expected\na,"b\n', "2: is not valid CSV"),
        ("prompt,prompt\na,b\n", "1: the first line must name every column once"),
        ("prompt,\na,b\n", "1: the first line must name every column once"),
    ],
)
def test_broken_csv_is_placed(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")

    with pytest.raises(TaskFormatError, match="a.csv:" + message):
        run(tmp_path, "table", tmp_path / "a.csv")


def broken_bfcl(folder: Path, question: dict[str, Any], truth: Any) -> Path:
    bfcl(folder)
    lines(folder / "BFCL_v4_simple_python.json", question)
    lines(folder / "possible_answer" / "BFCL_v4_simple_python.json", truth)
    return folder


@pytest.mark.parametrize(
    ("question", "truth", "message"),
    [
        (asked("simple_python_0", "?"), {**CALL, "id": "simple_python_1"}, "has no answer to it"),
        (asked("simple_python_0", "?"), {**CALL, "ground_truth": [{"a": {}, "b": {}}]}, "ground_truth must be a list"),
        (asked("simple_python_0", "?"), {**CALL, "ground_truth": [{"a": {"b": 1}}]}, "list the values"),
        (asked("simple_python_0", "?") | {"question": [[], []]}, CALL, "must hold one turn"),
        (asked("simple_python_0", "  "), CALL, "holds no text"),
        (asked("simple_python_0", "?") | {"function": [{"title": "x"}]}, CALL, "function must hold objects"),
        (asked("simple_python_0", "?") | {"function": [{**WEATHER, "parameters": [1]}]}, CALL, "must be a schema"),
    ],
)
def test_a_bad_item_of_bfcl_is_named(
    tmp_path: Path, question: dict[str, Any], truth: dict[str, Any], message: str
) -> None:
    folder = broken_bfcl(tmp_path / "bfcl", question, truth)

    with pytest.raises(TaskFormatError, match=rf"BFCL_v4_simple_python\.json:1: .*{message}"):
        run(tmp_path, "bfcl", folder, parts=("simple",))


@pytest.mark.parametrize(
    ("importer", "parts", "message"),
    [
        ("bfcl", ("java",), "category 'java' of BFCL|no category 'java'"),
        ("bfcl", ("parallel",), "has no questions of parallel"),
        ("mbpp", ("half",), "no split 'half'"),
        ("gsm8k", ("dev",), "no split 'dev'"),
        ("arc", ("hard",), "no set 'hard'"),
        ("cruxeval", ("both",), "no direction 'both'"),
        ("humaneval_plus", ("extra",), "no tests 'extra'"),
        ("mmlu", ("anatomy",), "holds no"),
        ("bbh", ("nothing",), "has no task 'nothing'"),
    ],
)
def test_a_part_that_is_not_there_is_said(tmp_path: Path, importer: str, parts: tuple[str, ...], message: str) -> None:
    folder = bfcl(tmp_path / "bfcl")
    lines(folder / "HumanEvalPlus.jsonl", DOUBLE)

    with pytest.raises(InputError, match=message):
        run(tmp_path, importer, folder, parts=parts)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"prompt": "q"}, "must give prompt and one of"),
        ({"expected": "a"}, "must give prompt and one of"),
        ({"prompt": "q", "expected": "a", "criteria": "a"}, "must give prompt and one of"),
        ({"prompt": "x", "expected": "a"}, "no column 'x'"),
        ({"prompt": "q", "answer": "a"}, "no field 'answer'"),
    ],
)
def test_columns_that_do_not_fit_are_said(tmp_path: Path, columns: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(tmp_path, "mine", lines(tmp_path / "a.jsonl", {"q": "?", "a": "!"}), columns=columns)


def test_messages_show_nothing_that_could_steer_a_terminal(tmp_path: Path) -> None:
    row = {"prompt": "?", "expected": "x", "difficulty": "\x1b[31m\u202e" + "x" * 500}

    with pytest.raises(BenchError) as raised:
        run(tmp_path, "table", lines(tmp_path / "a.jsonl", row))

    assert "\x1b" not in str(raised.value)
    assert len(str(raised.value)) < 300


def test_numbers_that_json_does_not_know_are_refused_in_blocks(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    block = json.dumps({"type": "exact", "expected": "x", "more": float("nan")}).replace('"', '""')
    file.write_text(f'prompt,validation\n?,"{block}"\n', encoding="utf-8")

    with pytest.raises(TaskFormatError, match=r"a\.csv:2: "):
        run(tmp_path, "table", file)


def test_a_table_has_no_parts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("prompt,expected\na,b\n", encoding="utf-8")

    with pytest.raises(InputError, match="no parts to choose"):
        run(tmp_path, "table", tmp_path / "a.csv", parts=("test",))
