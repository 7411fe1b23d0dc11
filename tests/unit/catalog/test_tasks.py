"""Task files: what is read from them, and how a mistake in one is reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from llmbench_mcp.catalog.source import MAX_BYTES, Source, read_source
from llmbench_mcp.catalog.tasks import parse_hidden, parse_task
from llmbench_mcp.domain.errors import TaskFormatError
from llmbench_mcp.domain.task import Task

MINIMAL = """PROMPT:
What is one and one?

VALIDATION:
```yaml
type: reasoning
expected_answer: 2
```
"""


def parsed(text: str) -> Task:
    return parse_task("maths/sum", Source("sum.md", text))


def refusal(text: str) -> str:
    with pytest.raises(TaskFormatError) as caught:
        parsed(text)
    return str(caught.value)


def with_validation(block: str) -> str:
    return f"PROMPT:\nQ\n\nVALIDATION:\n```yaml\n{block}\n```\n"


def test_the_smallest_task_is_a_prompt_and_a_validation() -> None:
    task = parsed(MINIMAL)
    assert task.id == "maths/sum"
    assert task.category == "maths"
    assert task.prompt == "What is one and one?"
    assert task.validation == {"type": "reasoning", "expected_answer": 2}
    assert (task.system, task.expected, task.max_tokens, task.difficulty) == (None, None, None, "medium")
    assert task.title == "Sum"


def test_every_part_of_a_full_task_arrives() -> None:
    task = parsed(
        "---\ntitle: A sum\ndifficulty: easy\ntags: [numbers, warm-up]\nneeds: [tools]\n"
        "max_tokens: 300\nlicence: MIT\n---\n"
        "SYSTEM:\nBe brief.\n\nPROMPT:\nOne and one?\n\nEXPECTED:\nTwo.\n\nSCORING:\nexact\n\n"
        "VALIDATION:\n~~~yaml\ntype: reasoning\nexpected_answer: 2\n~~~\n"
    )
    assert (task.title, task.difficulty, task.tags, task.needs) == (
        "A sum",
        "easy",
        ("numbers", "warm-up"),
        ("tools",),
    )
    assert (task.max_tokens, task.licence) == (300, "MIT")
    assert (task.system, task.prompt, task.expected) == ("Be brief.", "One and one?", "Two.")


def test_a_heading_inside_a_fence_is_part_of_the_text() -> None:
    prompt = "Mend this file:\n\n````\n```\nEXPECTED:\nNOTES:\n```\n````"
    task = parsed(MINIMAL.replace("What is one and one?", prompt))
    assert task.prompt == prompt


@pytest.mark.parametrize("line", ["  NOTES:", "NOTES: three", "Notes:", "see PROMPT:", "A:B:"])
def test_only_a_capital_word_and_colon_alone_on_a_line_opens_a_section(line: str) -> None:
    assert parsed(MINIMAL.replace("What is one and one?", f"Q\n{line}")).prompt == f"Q\n{line}"


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    file = tmp_path / "sum.md"
    file.write_bytes(b"\xef\xbb\xbf" + MINIMAL.replace("\n", "\r\n").encode())
    task = parse_task("maths/sum", read_source(file))
    assert task == parsed(MINIMAL)
    assert task.content_hash() == parsed(MINIMAL).content_hash()


def test_answers_that_yaml_1_1_would_change_stay_as_written() -> None:
    task = parsed(with_validation("type: reasoning\na: no\nb: 15:30\nc: 2024-03-05\nd: 010\ne: 1e3\nf: ~\ng: true"))
    assert dict(task.validation) == {
        "type": "reasoning",
        "a": "no",
        "b": "15:30",
        "c": "2024-03-05",
        "d": 10,
        "e": 1000.0,
        "f": None,
        "g": True,
    }


def test_without_a_validation_block_the_expected_text_is_the_measure() -> None:
    task = parsed("PROMPT:\nName a primary colour.\n\nEXPECTED:\nred, yellow or blue\n")
    assert task.validation == {"type": "keyword", "expected": "red, yellow or blue"}


def test_hidden_tests_join_the_validation_and_change_the_hash() -> None:
    secret = parse_task("maths/sum", Source("sum.md", MINIMAL), [{"args": [3], "expected": 4}])
    assert secret.validation["hidden_tests"] == [{"args": [3], "expected": 4}]
    assert secret.content_hash() != parsed(MINIMAL).content_hash()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "sum.md:1: has no section PROMPT."),
        ("EXPECTED:\nx\n", "sum.md:1: has no section PROMPT."),
        ("Hello\n" + MINIMAL, "sum.md:1: text before the first section: 'Hello'."),
        ("PROMPT:\n\n  \nEXPECTED:\nx\n", "sum.md:1: PROMPT is empty."),
        ("PROMPT:\nQ\n\nSYSTEM:\n\n" + MINIMAL[MINIMAL.index("VALID") :], "sum.md:4: SYSTEM is empty."),
        ("PROMPT:\nQ\nHINT:\nx\n", "sum.md:3: unknown section 'HINT'."),
        (MINIMAL + "\nPROMPT:\nagain\n", "sum.md:10: section PROMPT is there already, from line 1."),
        ("PROMPT:\nQ\n```\nnever closed\n", "sum.md:3: the fence opened here is never closed."),
        ("PROMPT:\nQ\n", "sum.md:1: has neither VALIDATION nor EXPECTED."),
        ("---\ntitle: x\n" + MINIMAL, "sum.md:1: the front matter is never closed."),
    ],
)
def test_a_bad_layout_is_refused_at_its_line(text: str, message: str) -> None:
    assert refusal(text).startswith(message)


@pytest.mark.parametrize(
    ("front", "message"),
    [
        ("colour: red", "sum.md:2: the front matter has an unknown key 'colour'. Allowed: title, difficulty,"),
        ("title: a\ntitle: b", "sum.md:3: the front matter has the key 'title' twice."),
        ("difficulty: brutal", "sum.md:2: difficulty is 'brutal'. Allowed: easy, medium, hard."),
        ("title: a\nmax_tokens: 0", "sum.md:3: max_tokens must be at least 1, not 0."),
        ("max_tokens: many", "sum.md:2: max_tokens must be a whole number, not 'many'."),
        ("max_tokens: true", "sum.md:2: max_tokens must be a whole number, not 'True'."),
        ("title: 12", "sum.md:2: title must be text, not '12'."),
        ("tags: maths", "sum.md:2: tags must be a list."),
        ("tags:\n  - a\n  - Two Words", "sum.md:4: 'Two Words' cannot stand in tags."),
        ("needs: [telepathy]", "sum.md:2: a capability in needs is 'telepathy'. Allowed: chat, tools,"),
        ("- a", "sum.md:2: the front matter must be a mapping"),
        ("title: [a", "sum.md:"),
    ],
)
def test_bad_front_matter_is_refused_at_its_line(front: str, message: str) -> None:
    assert refusal(f"---\n{front}\n---\n{MINIMAL}").startswith(message)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("expected_answer: 2", "sum.md:6: VALIDATION has no type."),
        ("type:", "sum.md:6: type must be text, not 'None'."),
        ("type: 3", "sum.md:6: type must be text, not '3'."),
        ("", "sum.md:5: the VALIDATION block is empty."),
        ("# nothing", "sum.md:5: the VALIDATION block is empty."),
        ("just words", "sum.md:6: VALIDATION must be a mapping"),
        ("type: x\nlist: [1, 2", "sum.md:"),
        ("type: x\n\tkey: 1", "sum.md:7: is not valid YAML:"),
        ("type: x\na: &b [1]\nc: *b", "sum.md:7: anchors and aliases are not allowed."),
        ("type: x\nn: .nan", "sum.md:7: .nan is not a finite number."),
        ("type: x\nn: !!python/name:os.system ''", "sum.md:7: the tag"),
        ("type: x\nm: {1: a}", "sum.md:7: a key must be text."),
        ("type: x\nm: {a: 1, a: 2}", "sum.md:7: this mapping has the key 'a' twice."),
        ("type: x\nhidden_tests: []", "sum.md:7: hidden tests do not belong in the task file."),
        ("type: x\n--- \ntype: y", "sum.md:7: is not valid YAML:"),
        ("type: x\nn: " + "9" * 2000, "sum.md:7: a number of 2000 digits is too long."),
        ("type: x\nn: " + "[" * 80 + "]" * 80, "sum.md:7: is nested deeper than 60 levels."),
    ],
)
def test_a_bad_validation_block_is_refused_at_its_line(block: str, message: str) -> None:
    assert refusal(with_validation(block)).startswith(message)


def test_a_validation_section_is_one_fenced_block_and_nothing_else() -> None:
    assert refusal("PROMPT:\nQ\nVALIDATION:\n\ntype: x\n").startswith("sum.md:5: VALIDATION must be one fenced")
    assert refusal("PROMPT:\nQ\nVALIDATION:\n\n").startswith("sum.md:3: VALIDATION has no fenced YAML block.")
    two = "PROMPT:\nQ\nVALIDATION:\n```\ntype: x\n```\n```\ntype: y\n```\n"
    assert refusal(two).startswith("sum.md:7: VALIDATION has a second block.")


def test_messages_show_what_the_file_holds_in_a_harmless_form() -> None:
    message = refusal("\x1b[31mX" + "y" * 500)
    assert "\x1b" not in message
    assert len(message) < 300


def _not_text(file: Path) -> None:
    file.write_bytes(b"PROMPT:\nQ\n\xff\n")


def _huge(file: Path) -> None:
    file.write_bytes(b"x" * (MAX_BYTES + 1))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [(_not_text, ":3: is not UTF-8 text."), (_huge, ":1: is larger than"), (Path.mkdir, ":1: cannot be read")],
)
def test_a_file_that_cannot_be_taken_in_is_refused(tmp_path: Path, spoil: Callable[[Path], None], message: str) -> None:
    file = tmp_path / "sum.md"
    spoil(file)
    with pytest.raises(TaskFormatError, match=message):
        read_source(file)


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "[7]", '[{"args": [NaN]}]', '[\n{"args": [4711]\n', "[" * 100_000],
)
def test_a_hidden_test_file_that_is_no_list_of_tests_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(TaskFormatError, match=r"^secret\.json:[123]: ") as caught:
        parse_hidden(Source("secret.json", text))
    assert "4711" not in str(caught.value)


def test_hidden_tests_are_read_as_they_stand() -> None:
    tests = [{"args": [1, None, True], "expected": {"a": 0.5}}]
    assert parse_hidden(Source("secret.json", json.dumps(tests))) == tests
