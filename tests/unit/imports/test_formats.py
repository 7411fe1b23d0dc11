"""Every format: what is asked, what passes, what fails. The data is our own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.imports.support import (
    APPLES,
    DOUBLE,
    HALF_PLUS,
    LETTERS,
    PAIR_PLUS,
    ROOT,
    TOTAL,
    asked,
    bfcl,
    graded,
    lines,
    right,
    run,
    stored,
)
from tests.unit.validators.code_support import needs_full_isolation


def code(text: str) -> str:
    return f"```python\n{text}\n```"


@needs_full_isolation
def test_humaneval_is_graded_by_its_check_function(tmp_path: Path) -> None:
    file = tmp_path / "HumanEval.jsonl.gz"
    file.write_bytes(gzip.compress(json.dumps(DOUBLE).encode()))
    one = stored(run(tmp_path, "humaneval", file))["7"]

    assert "def double" in one.task.prompt
    assert "return number" not in one.task.prompt
    assert right(one).passed
    assert not graded(one, code("def double(number):\n    return number + 2")).passed


@needs_full_isolation
def test_mbpp_shows_its_asserts_and_counts_the_hard_ones_too(tmp_path: Path) -> None:
    one = stored(run(tmp_path, "mbpp", lines(tmp_path / "mbpp.jsonl", TOTAL)))["12"]

    assert "assert total([1, 2]) == 3" in one.task.prompt
    assert "[-1]" not in one.task.prompt
    assert right(one).passed
    assert not graded(one, code("def total(items):\n    return max(0, sum(items))")).passed


@needs_full_isolation
def test_sanitized_mbpp_comes_in_two_forms(tmp_path: Path) -> None:
    described = {**TOTAL, "prompt": TOTAL["text"], "test_imports": ["import math"]}
    listed = tmp_path / "sanitized-mbpp.json"
    listed.write_text(json.dumps([described], indent=2), encoding="utf-8")
    one = stored(run(tmp_path, "mbpp_sanitized", listed))["12"]
    other = stored(run(tmp_path, "mbpp_sanitized", lines(tmp_path / "x_sanitized.jsonl", LETTERS)))["604"]

    assert (right(one).passed, right(other).passed) == (True, True)
    assert not graded(other, code("def root(number):\n    return number // 2")).passed


@needs_full_isolation
def test_evalplus_takes_expected_values_from_the_reference_code(tmp_path: Path) -> None:
    half = stored(run(tmp_path, "humaneval_plus", lines(tmp_path / "HumanEvalPlus.jsonl", HALF_PLUS)))["8"]
    pair = stored(run(tmp_path, "mbpp_plus", lines(tmp_path / "MbppPlus.jsonl", PAIR_PLUS)))["106"]

    assert (right(half).passed, right(pair).passed) == (True, True)
    assert graded(half, code("def half(number):\n    return number * 0.5000000001")).passed
    assert not graded(half, code("def half(number):\n    return number * 0.50001")).passed
    assert not graded(pair, code("def join(items, more):\n    return items + [more[0]] if more else items")).passed


@needs_full_isolation
def test_evalplus_rows_with_a_finished_test_need_no_numpy(tmp_path: Path) -> None:
    test = (
        "import numpy as np\nfrom math import inf\n\n"
        "def assertion(out, exp, atol):\n"
        "    assert out == exp or np.allclose(out, exp, rtol=1e-07, atol=1e-6)\n\n"
        "inputs = [[1.0], [3.0]]\nresults = [0.5, 1.5]\n"
        "for i, (inp, exp) in enumerate(zip(inputs, results)):\n    assertion(half(*inp), exp, 0)\n"
    )
    row = {
        "task_id": 8,
        "code": "def half(number):\n    return number / 2\n",
        "prompt": "Write a function that halves.",
        "test_list": ["assert half(2) == 1"],
        "test": test,
    }
    one = stored(run(tmp_path, "mbpp_plus", lines(tmp_path / "mbppplus.jsonl", row)))["8"]

    assert right(one).passed
    assert not graded(one, code("def half(number):\n    return number // 2")).passed


@needs_full_isolation
def test_only_the_base_tests_of_evalplus_may_be_wanted(tmp_path: Path) -> None:
    file = lines(tmp_path / "MbppPlus.jsonl", PAIR_PLUS)
    one = stored(run(tmp_path, "mbpp_plus", file, parts=("base",)))["106"]

    assert graded(one, code("def join(items, more):\n    return [1, 2, 3]")).passed


def test_gsm8k_compares_the_number_after_the_mark(tmp_path: Path) -> None:
    one = stored(run(tmp_path, "gsm8k", lines(tmp_path / "test.jsonl", APPLES)))["0000"]

    assert one.task.validation["expected_answer"] == "1007"
    assert one.answer is not None
    assert "<<" not in one.answer.text
    assert right(one).passed
    assert graded(one, "So 1007 in all.\n#### 1,007").passed
    assert not graded(one, "#### 11007").passed


def test_gsm8k_keeps_test_and_training_questions_apart(tmp_path: Path) -> None:
    lines(tmp_path / "set" / "test.jsonl", APPLES)
    lines(tmp_path / "set" / "train.jsonl", APPLES, APPLES)

    assert list(stored(run(tmp_path, "gsm8k", tmp_path / "set"))) == ["0000"]
    both = run(tmp_path, "gsm8k", tmp_path / "set", parts=("test", "train"))
    assert list(stored(both)) == ["0000", "train_0000", "train_0001"]


def test_math_takes_its_answer_from_the_box_where_there_is_no_other(tmp_path: Path) -> None:
    one = stored(run(tmp_path, "math", lines(tmp_path / "a.jsonl", ROOT, {**ROOT, "answer": r"\frac{1}{2}"})))

    assert one["0000"].task.validation["expected_answer"] == r"2\sqrt{2}"
    assert one["0001"].task.validation["expected_answer"] == r"\frac{1}{2}"
    assert (one["0000"].task.difficulty, one["0000"].task.tags) == ("easy", ("algebra",))
    assert right(one["0000"]).passed
    assert not graded(one["0000"], r"\boxed{2\sqrt{3}}").passed


def test_math_can_be_taken_by_subject(tmp_path: Path) -> None:
    file = lines(tmp_path / "a.jsonl", ROOT, {**ROOT, "subject": "Number Theory"})

    assert list(stored(run(tmp_path, "math", file, parts=("number_theory",)))) == ["0001"]


def test_bfcl_asks_with_tools_that_servers_accept(tmp_path: Path) -> None:
    one = stored(run(tmp_path, "bfcl", bfcl(tmp_path / "bfcl")))["simple_python_0"]
    (tool,) = one.task.validation["tools"]

    assert one.task.needs == ("tools",)
    assert tool["function"]["name"] == "weather_today"
    assert tool["function"]["parameters"]["type"] == "object"
    assert tool["function"]["parameters"]["properties"]["days"] == {"type": "number", "description": "how many"}


@pytest.mark.parametrize(
    ("arguments", "passes"),
    [
        ({"place": "Lima"}, True),
        ({"place": "lima peru", "days": 2}, True),
        ({"place": "Lima", "where": {"lat": 1.5}}, True),
        ({"place": "Lima", "where": {"lat": 2}}, False),
        ({"place": "Quito"}, False),
        ({"place": "Lima", "days": 3}, False),
        ({"place": "Lima", "unit": "C"}, False),
        ({}, False),
    ],
)
def test_bfcl_takes_the_values_its_ground_truth_allows(tmp_path: Path, arguments: dict[str, Any], passes: bool) -> None:
    one = stored(run(tmp_path, "bfcl", bfcl(tmp_path / "bfcl")))["simple_python_0"]

    assert right(one).passed
    assert graded(one, "", {"name": "weather_today", "arguments": arguments}).passed is passes


def test_bfcl_wants_no_call_where_none_fits(tmp_path: Path) -> None:
    one = stored(run(tmp_path, "bfcl", bfcl(tmp_path / "bfcl")))["irrelevance_0"]

    assert right(one).passed
    assert not graded(one, "", {"name": "weather_today", "arguments": {"place": "Weimar"}}).passed


def test_bfcl_can_be_taken_by_category(tmp_path: Path) -> None:
    change = run(tmp_path, "bfcl", bfcl(tmp_path / "bfcl"), parts=("irrelevance",))

    assert list(stored(change)) == ["irrelevance_0"]


def test_bfcl_messages_become_a_system_text_and_a_prompt(tmp_path: Path) -> None:
    folder = bfcl(tmp_path / "bfcl")
    said = [("system", "Today is Monday."), ("user", "Hello"), ("assistant", "Yes?"), ("user", "Who wrote Faust?")]
    turn = [{"role": role, "content": text} for role, text in said]
    lines(folder / "BFCL_v4_irrelevance.json", asked("irrelevance_0", "") | {"question": [turn]})
    task = stored(run(tmp_path, "bfcl", folder, parts=("irrelevance",)))["irrelevance_0"].task

    assert task.system == "Today is Monday."
    assert task.prompt == "User: Hello\n\nAssistant: Yes?\n\nUser: Who wrote Faust?"


def test_ifeval_checks_every_instruction(tmp_path: Path) -> None:
    row = {
        "key": "en:1",
        "prompt": "Write about cats, without commas, in two words or more.",
        "instruction_id_list": ["en:punctuation:no_comma", "length_constraints:number_words"],
        "kwargs": [{"num_words": None}, {"relation": "at least", "num_words": 2, "keyword": None}],
    }
    one = stored(run(tmp_path, "ifeval", lines(tmp_path / "input_data.jsonl", row)))["1"]

    assert graded(one, "Cats purr.").passed
    assert not graded(one, "Cats, dogs.").passed
    assert not graded(one, "Cats.").passed


@pytest.mark.parametrize(
    "question",
    [
        {"question": {"stem": "Hot?", "choices": [{"text": "ice", "label": "A"}, {"text": "fire", "label": "B"}]}},
        {"question": "Hot?", "choices": {"text": ["ice", "fire"], "label": ["A", "B"]}},
    ],
)
def test_arc_is_read_in_both_editions(tmp_path: Path, question: dict[str, Any]) -> None:
    file = lines(tmp_path / "ARC-Challenge-Test.jsonl", {"id": "Mercury_7", "answerKey": "B", **question})
    one = stored(run(tmp_path, "arc", file))["mercury_7"]

    assert "B) fire" in one.task.prompt
    assert right(one).passed
    assert not graded(one, "Answer: A").passed


def test_arc_letters_numbered_choices(tmp_path: Path) -> None:
    row = {"id": "x", "question": "Hot?", "choices": {"text": ["ice", "fire"], "label": ["1", "2"]}, "answerKey": "2"}

    assert stored(run(tmp_path, "arc", lines(tmp_path / "a.jsonl", row)))["x"].task.validation["expected_answer"] == "B"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("anatomy_test.csv", '"Which, of these?",one,two,three,four,C\n'),
        ("anatomy.csv", "question,choice0,choice1,choice2,choice3,answer\nWhich?,one,two,three,four,2\n"),
        ("anatomy.csv", "question,A,B,C,D,answer\nWhich?,one,two,three,four,C\n"),
        ("anatomy.jsonl", '{"question": "Which?", "choices": ["one", "two", "three", "four"], "answer": 2}\n'),
    ],
)
def test_mmlu_is_read_in_the_forms_it_goes_round_in(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    one = stored(run(tmp_path, "mmlu", tmp_path / name))["anatomy_0000"]

    assert one.task.tags == ("anatomy",)
    assert "C) three" in one.task.prompt
    assert right(one).passed
    assert not graded(one, "Answer: D").passed


def test_mmlu_takes_the_test_files_of_a_folder_and_subjects(tmp_path: Path) -> None:
    for subject in ("anatomy", "virology"):
        for kind, letter in (("test", "A"), ("dev", "B")):
            file = tmp_path / "mmlu" / kind / f"{subject}_{kind}.csv"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"Which?,one,two,three,four,{letter}\n", encoding="utf-8")

    assert list(stored(run(tmp_path, "mmlu", tmp_path / "mmlu"))) == ["anatomy_0000", "virology_0000"]
    (one,) = stored(run(tmp_path, "mmlu", tmp_path / "mmlu", parts=("dev", "virology"))).values()
    assert one.task.validation["expected_answer"] == "B"


@pytest.mark.parametrize(
    ("target", "wrong"),
    [
        ("(B)", "(A)"),
        ("False", "True"),
        ("-50", "50"),
        ("apple berry cherry", "berry apple cherry"),
        ("] ] }", "] } ]"),
        ("] ] }", "} ] ] }"),
    ],
)
def test_bbh_answers_are_letters_words_and_numbers(tmp_path: Path, target: str, wrong: str) -> None:
    file = lines(
        tmp_path / "bbh" / "some_task.json", {"canary": "…", "examples": [{"input": "Which?", "target": target}]}
    )
    one = stored(run(tmp_path, "bbh", file.parent.parent / "bbh"))["some_task_000"]

    assert right(one).passed
    assert not graded(one, f"Answer: {wrong}").passed


CRUX = {
    "code": "def f(a, b):\n    return {a: (b, 'x')}",
    "input": "'k', 2",
    "output": "{'k': (2, 'x')}",
    "id": "sample_3",
}


def test_cruxeval_asks_what_a_call_returns(tmp_path: Path) -> None:
    one = stored(run(tmp_path, "cruxeval", lines(tmp_path / "cruxeval.jsonl", CRUX)))["sample_3_output"]

    assert right(one).passed
    assert not graded(one, "```json\n{\"returns\": \"{'k': [2, 'x']}\"}\n```").passed


@pytest.mark.parametrize("said", ["'a b'", '\\"a b\\"'])
def test_cruxeval_takes_either_kind_of_quotation_mark(tmp_path: Path, said: str) -> None:
    row = {**CRUX, "output": "'a b'"}
    one = stored(run(tmp_path, "cruxeval", lines(tmp_path / "cruxeval.jsonl", row)))["sample_3_output"]

    assert graded(one, f'```json\n{{"returns": "{said}"}}\n```').passed


@needs_full_isolation
def test_cruxeval_asks_for_fitting_arguments(tmp_path: Path) -> None:
    file = lines(tmp_path / "cruxeval.jsonl", CRUX)
    one = stored(run(tmp_path, "cruxeval", file, parts=("input",)))["sample_3_input"]

    assert right(one).passed
    assert not graded(one, code("def arguments():\n    return ('k', 3)")).passed


def polyglot(folder: Path) -> Path:
    exercise = folder / "exercises" / "practice" / "two-fer"
    for name, text in {
        ".meta/config.json": json.dumps(
            {"files": {"solution": ["two_fer.py"], "test": ["two_fer_test.py"], "example": [".meta/example.py"]}}
        ),
        ".meta/example.py": "def two_fer(name='you'):\n    return f'One for {name}.'\n",
        ".docs/instructions.md": "# Instructions\n\nShare a biscuit.\n",
        ".docs/instructions.append.md": "Return text.\n",
        "two_fer.py": "def two_fer(name):\n    pass\n",
        "two_fer_test.py": "import unittest\nfrom two_fer import two_fer\n\n\nclass T(unittest.TestCase):\n"
        "    def test_name(self):\n        self.assertEqual(two_fer('Al'), 'One for Al.')\n",
    }.items():
        file = exercise / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


@needs_full_isolation
def test_polyglot_exercises_are_projects_with_hidden_tests(tmp_path: Path) -> None:
    one = stored(run(tmp_path, "polyglot", polyglot(tmp_path / "set")))["two-fer"]

    assert "Share a biscuit." in one.task.prompt
    assert "Return text." in one.task.prompt
    assert "assertEqual" not in one.task.prompt
    assert right(one).passed
    assert not graded(one, "```python two_fer.py\ndef two_fer(name):\n    return name\n```").passed


def test_a_table_of_ones_own_is_mapped_by_columns(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text('number,question,answer,level\n3,"2 + 2, please?",4,easy\n4,Capital of Peru?,Lima,hard\n', "utf-8")
    columns = {"prompt": "question", "expected": "answer", "id": "number", "difficulty": "level"}
    found = stored(run(tmp_path, "my_set", file, columns=columns))

    assert [(name, one.task.difficulty) for name, one in found.items()] == [("3", "easy"), ("4", "hard")]
    assert all(right(one).passed for one in found.values())
    assert not graded(found["4"], "Answer: Quito").passed


def test_a_cell_may_hold_a_long_document(tmp_path: Path) -> None:
    file, document = tmp_path / "own.csv", "It rained. " * 40_000
    file.write_text(f"prompt,expected\n{document},yes\n", encoding="utf-8")

    assert stored(run(tmp_path, "table", file, suite="mine"))["row_0001"].task.prompt.strip() == document.strip()


def test_a_table_may_give_criteria_or_whole_blocks(tmp_path: Path) -> None:
    criteria = lines(tmp_path / "a.jsonl", {"prompt": "Name two fruits.", "criteria": "apple | pear", "max_tokens": 50})
    block = {"type": "exact", "expected": "yes"}
    blocks = lines(tmp_path / "b.jsonl", {"prompt": "Say yes.", "validation": block, "tags": ["short", "Plain"]})
    one = stored(run(tmp_path, "table", criteria, suite="fruits"))["row_0001"]
    other = stored(run(tmp_path, "table", blocks, suite="words"))["row_0001"]

    assert (graded(one, "An apple and a pear.").passed, graded(one, "An apple.").passed) == (True, False)
    assert (one.task.max_tokens, other.task.tags) == (50, ("short", "plain"))
    assert (graded(other, "yes").passed, graded(other, "no").passed) == (True, False)
