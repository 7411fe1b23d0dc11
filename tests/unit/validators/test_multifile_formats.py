"""Which files are read out of an answer, by the way it is written."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llmbench_validators import multifile_answer, multifile_diff, multifile_paths

OLD = "def area(w, h):\n    return 0\n\n\ndef name():\n    return 'square'\n"
NEW = "def area(w, h):\n    return w * h\n\n\ndef name():\n    return 'rectangle'\n"
PROJECT = {"geo/shapes.py": OLD, "README.md": "# Geo\n"}
DIFF = "".join(difflib.unified_diff(OLD.splitlines(True), NEW.splitlines(True), "a/geo/shapes.py", "b/geo/shapes.py"))


def files(text: str, wanted: tuple[str, ...] = ("geo/shapes.py", "geo/other.py")) -> dict[str, str | None]:
    return dict(multifile_answer.read(text, PROJECT, wanted).files)


@pytest.mark.parametrize(
    "answer",
    [
        f"```python geo/shapes.py\n{NEW}```",
        f"```python:geo/shapes.py\n{NEW}```",
        f'```python title="geo/shapes.py"\n{NEW}```',
        f"```py {{file=geo/shapes.py}}\n{NEW}```",
        f"```geo/shapes.py\n{NEW}```",
        f"~~~~python ./geo/shapes.py\n{NEW}~~~~",
        f"### geo/shapes.py\n\n```python\n{NEW}```",
        f"### `geo/shapes.py`\n\nBoth functions were wrong.\n\n```python\n{NEW}```",
        f"**geo/shapes.py**:\n```python\n{NEW}```",
        f"1. **`geo/shapes.py`**\n   ```python\n{''.join('   ' + line for line in NEW.splitlines(True))}   ```",
        f"geo/shapes.py\n```\n{NEW}```",
        f"path: geo/shapes.py\n```python\n{NEW}```",
        f"File: geo/shapes.py\n\n```python\n{NEW}```",
        f"This is the new content of `geo/shapes.py`, as asked:\n\n```python\n{NEW}```",
        f"path: geo/shapes.py\n{NEW}",
        f"Here it is.\n\n### geo/shapes.py\n\n{NEW}\n",
        f"```python my-project/geo/shapes.py\n{NEW}```",
        f"```diff\n{DIFF}```",
        f"```\n{DIFF}```",
        f"Apply this patch:\n\n{DIFF}",
        f"```diff\n{DIFF.replace('@@ -1,6 +1,6 @@', '@@ -40,9 +41,9 @@')}```",
        f"```diff\n{DIFF.replace('@@ -1,6 +1,6 @@', '@@ ... @@')}```",
        f"### geo/shapes.py\n```diff\n{DIFF[DIFF.index('@@') :]}```",
        f"<think>```python geo/shapes.py\nno\n```</think>\n```python geo/shapes.py\n{NEW}```",
        f"```python geo/shapes.py\nfirst = 'try'\n```\nBetter:\n```python geo/shapes.py\n{NEW}```",
        f"```python geo/shapes.py\n{NEW}```".replace("\n", "\r\n"),
        f"```python geo/shapes.py\n{NEW}",
    ],
)
def test_the_file_is_found(answer: str) -> None:
    assert files(answer) == {"geo/shapes.py": NEW}


def test_a_first_comment_names_the_file_and_stays_in_python_code() -> None:
    assert files(f"```python\n# geo/shapes.py\n{NEW}```") == {"geo/shapes.py": f"# geo/shapes.py\n{NEW}"}
    assert files('```json\n// data/sizes.json\n{"a": 1}\n```') == {"data/sizes.json": '{"a": 1}\n'}


def test_a_fence_inside_a_string_does_not_end_the_file() -> None:
    code = 'TEXT = """\n```\nx\n```\n"""\nLAST = 1\n'

    assert files(f"```python geo/shapes.py\n{code}```\n\nThat is all.") == {"geo/shapes.py": code}


def test_several_files_in_several_formats_are_all_found() -> None:
    answer = f"```python geo/other.py\nx = 1\n```\n\nand\n\n```diff\n{DIFF}```\n\n### docs/how.md\n```\nLike so.\n```\n"

    assert files(answer) == {"geo/other.py": "x = 1\n", "geo/shapes.py": NEW, "docs/how.md": "Like so.\n"}


def test_a_block_without_a_path_is_the_one_expected_file_that_it_defines_most_of() -> None:
    answer = f"```bash\npython -m geo\n```\n```python\n{NEW}```\nUse it:\n```python\nprint(area(1, 2))\n```\n"

    assert files(answer, ("geo/shapes.py",)) == {"geo/shapes.py": NEW}
    assert files(NEW, ("geo/shapes.py",)) == {"geo/shapes.py": NEW}
    assert files(answer) == {}


def test_a_diff_adds_and_removes_files() -> None:
    added = "--- /dev/null\n+++ b/geo/new.py\n@@ -0,0 +1,2 @@\n+a = 1\n+b = 2\n"
    removed = "--- a/README.md\n+++ /dev/null\n"

    assert files(f"```diff\n{added}{removed}```\n") == {"geo/new.py": "a = 1\nb = 2\n", "README.md": None}


def test_a_diff_that_fits_nowhere_is_not_guessed_at() -> None:
    answer = multifile_answer.read(f"```diff\n{DIFF.replace('return 0', 'return 1')}```", PROJECT, ["geo/shapes.py"])

    assert (answer.files, answer.failure, answer.broken) == ({}, "format", True)
    assert answer.findings == ("the diff does not fit 'geo/shapes.py'",)


def test_a_file_cannot_be_the_folder_of_another() -> None:
    answer = multifile_answer.read("```python geo\nx\n```\n```python geo/shapes.py/x.py\ny\n```", PROJECT, ["geo"])

    assert not answer.files
    assert len(answer.findings) == 2


def test_there_is_an_end_to_the_files_of_an_answer() -> None:
    many = "".join(f"```python m{n}.py\nx = {n}\n```\n" for n in range(multifile_answer.MAX_FILES + 20))

    assert len(files(many)) == multifile_answer.MAX_FILES


LINES = st.lists(st.sampled_from(["a", "b", "", "  c", "-x", "+y", "@@", "--- q", "+++ q"]), max_size=12)


@given(LINES, LINES)
@settings(max_examples=300, deadline=None)
def test_applying_the_diff_of_two_texts_gives_the_second(old: list[str], new: list[str]) -> None:
    odd = {"--- q", "+++ q"}  # a removed or added line of this kind reads like a file header
    before = [line for line in old if line not in odd]
    after = [line for line in new if line not in odd]
    diff = list(difflib.unified_diff(before, after, "a/f", "b/f", lineterm=""))
    while diff and diff[-1] == " ":
        diff.pop()

    patches = multifile_diff.parse("\n".join(diff))
    made = multifile_diff.apply("".join(f"{line}\n" for line in before), patches[0].hunks if patches else ())

    assert made == "".join(f"{line}\n" for line in after)


MARKUP = [
    "```",
    "~~~",
    "```python a.py",
    "# a.py",
    "path: a.py",
    "### b/c.py",
    "--- a/a.py",
    "+++ b/a.py",
    "@@ -1 +1 @@",
]
TEXTS = st.lists(st.one_of(st.sampled_from(MARKUP), st.text(max_size=12)), max_size=20).map("\n".join)


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_no_text_makes_reading_fail_or_lead_out_of_the_project(text: str) -> None:
    answer = multifile_answer.read(text, {"a.py": "x\n"}, ["a.py"])

    assert bool(answer.files) != bool(answer.failure)
    assert not any(multifile_paths.refused(path) for path in answer.files)


@pytest.mark.parametrize(
    "text",
    [
        "=" * 300_000 + "x",
        "```python a.py\n" * 20_000,
        "```python a.py\n(\n```\n```\n" * 15_000,
        "--- a/a.py\n+++ b/a.py\n" + "@@\n x\n" * 50_000,
        "### a.py\n" * 40_000,
        "# " * 150_000,
        "``` " + "a.b " * 90_000,
        "path: " * 60_000,
    ],
)
@pytest.mark.timeout(60)
def test_reading_a_long_answer_of_one_kind_comes_to_an_end(text: str) -> None:
    answer = multifile_answer.read(text, {"a.py": "x\n" * 1000}, ["a.py"])

    assert bool(answer.files) != bool(answer.failure)
