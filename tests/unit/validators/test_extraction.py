from __future__ import annotations

import json

import pytest
from llmbench_validators.extraction import extract
from llmbench_validators.types import MAX_TEXT

RIGHT = "def total(xs):\n    return sum(x for x in xs if x % 2 == 0)\n"
WRONG = "def total(xs):\n    return sum(xs)\n"


def fenced(code: str, info: str = "python") -> str:
    return f"```{info}\n{code}```\n"


USAGE = fenced("xs = [1, 2]\nprint(total(xs))\n")
USAGE_WITH_IMPORT = fenced("from solution import total\nprint(total([2]))\n")
OUTPUT = fenced("6\n>>> done\n", "")
INSTALL = fenced("pip install nothing\n", "bash")
IN_A_LIST = "1. Write:\n\n   " + fenced(RIGHT).replace("\n", "\n   ")


SHAPES = {
    "python fence": fenced(RIGHT),
    "bare fence": fenced(RIGHT, ""),
    "tilde fence": f"~~~python\n{RIGHT}~~~",
    "only code": RIGHT,
    "code and a stray closing fence": RIGHT + "```",
    "fence never closed": "```python\n" + RIGHT,
    "fence never closed, prose behind": f"```python\n{RIGHT}\nThis adds the even numbers.",
    "info string with attributes": fenced(RIGHT, 'py title="a.py"'),
    "braces in the info string": fenced(RIGHT, "{.python .numberLines}"),
    "usage first": f"Use it:\n{USAGE}\nHere:\n{fenced(RIGHT)}",
    "usage with an import behind": f"{fenced(RIGHT)}\n{USAGE_WITH_IMPORT}",
    "output block behind": f"{fenced(RIGHT)}Output:\n{OUTPUT}",
    "shell before": f"{INSTALL}{fenced(RIGHT)}",
    "CRLF and a mark at the start": "\ufeff" + fenced(RIGHT).replace("\n", "\r\n"),
    "four backticks round Markdown": f"````markdown\n# Answer\n{fenced(RIGHT)}````",
    "fence in a list": IN_A_LIST,
    "prose before and behind": f"The function below does it.\n\n{RIGHT}\nIt visits every item once.",
    "wrong language tag": fenced(RIGHT, "text"),
    "JSON field": json.dumps({"language": "python", "code": RIGHT}),
    "JSON in a fence": fenced(json.dumps({"solution": RIGHT}) + "\n", "json"),
    "HTML": f'<pre><code class="language-python">{RIGHT}</code></pre>',
    "here-document": fenced(f"cat > a.py << 'EOF'\n{RIGHT}EOF\n", "bash"),
    "interpreter session": fenced(">>> def total(xs):\n...     return sum(x for x in xs if x % 2 == 0)\n"),
    "inline": "Just `def total(xs): return sum(x for x in xs if x % 2 == 0)`.",
    "end token": fenced(RIGHT).rstrip() + "<|im_end|>",
    "end token in bare code": RIGHT + "<|endoftext|>",
    "no-break spaces": fenced(RIGHT.replace("    ", "\u00a0\u00a0\u00a0\u00a0")),
    "entities": fenced("def total(xs):\n    return sum(x for x in xs if x % 2 == 0 and x &gt;= 0)\n"),
    "curly quotes": fenced(RIGHT + "NAME = \u201ctotal\u201d\n"),
    "indented block": fenced("    def total(xs):\n        return sum(x for x in xs if x % 2 == 0)\n"),
    "thoughts with a wrong draft": f"<think>\n{fenced(WRONG)}</think>\n{fenced(RIGHT)}",
    "thoughts begun in the prompt": f"Let me see.\n{fenced(WRONG)}\n</think>\n{fenced(RIGHT)}",
    "two thoughts": f"<think>a</think>\n<thinking>\n{fenced(WRONG)}</thinking>\n{fenced(RIGHT)}",
    "channels": f"<|channel|>analysis<|message|>{fenced(WRONG)}<|end|><|channel|>final<|message|>{fenced(RIGHT)}",
    "draft, then corrected": f"{fenced(WRONG)}\nWait, that is wrong.\n{fenced(RIGHT)}",
    "twice in one block": fenced(WRONG + "\n# better\n" + RIGHT),
}


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES.keys())
def test_the_right_function_is_found_in_every_shape_of_answer(text: str) -> None:
    found = extract(text, "total")
    names: dict[str, object] = {}
    exec(found.code, names)

    assert found.failure is None
    assert names["total"]([1, 2, 3, 4, 2]) == 8  # type: ignore[operator]
    assert found.extractor


def test_a_fence_inside_a_docstring_does_not_end_the_block() -> None:
    code = 'def total(xs):\n    """Sum.\n\n```python\ntotal([2])\n```\n    """\n    return 0\n'

    assert extract(fenced(code), "total").code.rstrip() == code.rstrip()


def test_code_that_speaks_of_thinking_tags_stays_whole() -> None:
    code = "import re\ndef total(s):\n    return re.sub('<think>.*?</think>', '', s)\n"

    assert extract(fenced(code), "total").code == code


def test_helpers_and_imports_of_other_blocks_are_joined_and_unneeded_ones_are_not() -> None:
    answer = (
        fenced("import math\n")
        + fenced("def half(x):\n    return math.floor(x / 2)\n")
        + fenced("import pytest\ndef test_total():\n    assert total(4) == 2\n")
        + fenced("def total(x):\n    return half(x)\n")
    )

    found = extract(answer, "total")

    assert "import math" in found.code
    assert "def half" in found.code
    assert "pytest" not in found.code
    assert found.extractor == "fence+joined"


def test_a_helper_of_an_earlier_version_is_kept_for_the_later_one() -> None:
    first = "LIMIT = 3\n\ndef even(x):\n    return x % 2 == 0\n\n" + WRONG
    answer = fenced(first) + "Better:\n" + fenced("def total(xs):\n    return sum(filter(even, xs))\n")

    names: dict[str, object] = {}
    exec(extract(answer, "total").code, names)

    assert names["total"]([1, 2]) == 2  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("I can't help with that.", "refusal"),
        ("I\u2019m sorry, but I cannot assist.", "refusal"),
        ("Walk over the list and add up what is even.", "no_code"),
        (f"<think>\n{fenced(RIGHT)}and now", "no_code"),
        (fenced("def total(xs)\n    return 0\n"), "syntax_error"),
        (fenced("def total(xs):\n    return 0\n\x00\n"), "syntax_error"),
        (fenced("function total(xs) {\n  return 0;\n}\n", "javascript"), "syntax_error"),
        (fenced("def total(xs):\n    x = 1\n\ty = 2\n"), "syntax_error"),
        ("```python\ndef total(xs):\n    for x in xs:\n        retu (", "syntax_error"),
        (fenced("x = " + "(" * 3000 + ")" * 3000 + "\n" + RIGHT), "syntax_error"),
    ],
)
def test_an_answer_without_usable_code_says_why(text: str, failure: str) -> None:
    assert extract(text, "total").failure == failure


@pytest.mark.parametrize("text", ["<think>\nhm", "```python\ndef total(xs):\n    retu (", "Let me think about"])
def test_an_answer_cut_off_by_its_budget_is_not_called_bad_code(text: str) -> None:
    assert extract(text, "total", "length").failure == "budget_exhausted"


def test_complete_code_counts_although_the_answer_was_cut_off_later() -> None:
    assert extract(fenced(RIGHT) + "And now I", "total", "length").failure is None


def test_code_without_the_function_is_handed_on_for_the_sandbox_to_say_so() -> None:
    assert extract(fenced("def other(xs):\n    return 1\n"), "total").code == "def other(xs):\n    return 1\n"


def test_a_later_block_wins_even_when_it_is_worse() -> None:
    assert extract(fenced(RIGHT) + fenced(WRONG), "total").code == WRONG


def test_a_very_long_loop_of_text_is_looked_at_in_part_only() -> None:
    assert len(extract("so so " * MAX_TEXT, "total").code) <= MAX_TEXT + 1
