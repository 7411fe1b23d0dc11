"""Small files in public formats, all of our own making, and a way to import and grade them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llmbench_validators import registry
from llmbench_validators.types import Completion, Verdict

from llmbench_mcp.catalog.imported import Stored, read_tasks
from llmbench_mcp.config import Settings, load_settings
from llmbench_mcp.services.imports import Change, Imports, ImportWish


def settings(folder: Path) -> Settings:
    return load_settings({}, data_dir=folder / "data")


def lines(path: Path, *rows: Any) -> Path:
    """A file of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def run(folder: Path, importer: str, source: Path | str, **wish: Any) -> Change:
    """Import into the data directory of ``folder``."""
    return Imports(settings(folder)).run(ImportWish(importer, str(source), **wish))


def stored(change: Change) -> dict[str, Stored]:
    """What an import wrote, by the name of the task, read back."""
    return {one.task.id.partition("/")[2]: one for one in read_tasks(change.imported.path)}


def graded(one: Stored, text: str = "", *calls: Mapping[str, Any]) -> Verdict:
    return registry.grade(one.task.validation, Completion(text, calls, "stop", one.task.prompt))


def right(one: Stored) -> Verdict:
    """The verdict on the right answer that came with the data."""
    assert one.answer is not None
    return graded(one, one.answer.text, *one.answer.tool_calls)


DOUBLE = {
    "task_id": "HumanEval/7",
    "prompt": 'def double(number: int) -> int:\n    """Twice the number.\n    >>> double(2)\n    4\n    """\n',
    "entry_point": "double",
    "canonical_solution": "    return number * 2\n",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(-3) == -6\n",
}
TOTAL = {
    "task_id": 12,
    "text": "Write a function to add up a list.",
    "code": "def total(items):\r\n    return sum(items)",
    "test_setup_code": "",
    "test_list": ["assert total([1, 2]) == 3", "assert total([]) == 0"],
    "challenge_test_list": ["assert total([-1]) == -1"],
}
LETTERS = {
    "task_id": "MbppEval/604",
    "prompt": "import math\ndef root(number):\n    '''\n    The whole part of the square root.\n    '''\n",
    "entry_point": "root",
    "canonical_solution": "  return int(math.sqrt(number))\n",
    "test": "def check(candidate):\n    assert root(10) == 3\n    assert root(16) == int(math.sqrt(16))\n",
}
PAIR_PLUS = {
    "task_id": "Mbpp/106",
    "prompt": '"""\nAppend a tuple to a list.\nassert join([1], (2, 3)) == [1, 2, 3]\n"""\n',
    "entry_point": "join",
    "canonical_solution": "def join(items, more):\n    assert isinstance(more, tuple)\n    return [*items, *more]\n",
    "base_input": [[[1], [2, 3]]],
    "plus_input": [[[], []], [[5], [6]]],
    "atol": 0,
    "contract": "",
}
HALF_PLUS = {
    "task_id": "HumanEval/8",
    "prompt": 'def half(number: float) -> float:\n    """Half the number."""\n',
    "entry_point": "half",
    "canonical_solution": "    return number / 2\n",
    "base_input": [[1.0], [3.0]],
    "plus_input": [[0.1], [1e300]],
    "atol": 0,
    "contract": "",
}
APPLES = {
    "question": "Ann has 3 apples and buys 4 pears and 1,000 plums. How many?",
    "answer": "3+4=<<3+4=7>>7\n#### 1,007",
}
ROOT = {
    "problem": "What is the positive root of $x^2 = 8$?",
    "solution": r"We have $x = \sqrt{8}$, so $x = \boxed{2\sqrt{2}}$.",
    "subject": "Algebra",
    "level": 2,
}
WEATHER = {
    "name": "weather.today",
    "description": "The weather of a place.",
    "parameters": {
        "type": "dict",
        "properties": {
            "place": {"type": "string"},
            "days": {"type": "float", "description": "how many"},
            "where": {"type": "dict", "properties": {"lat": {"type": "float"}}},
        },
        "required": ["place"],
    },
}


def asked(name: str, text: str, **more: Any) -> dict[str, Any]:
    """A question of BFCL."""
    return {"id": name, "question": [[{"role": "user", "content": text}]], "function": [WEATHER]} | more


def bfcl(folder: Path) -> Path:
    """A folder with two categories of BFCL."""
    truth = [{"weather.today": {"place": ["Lima", "Lima, Peru"], "days": ["", 2.0], "where": [{"lat": [1.5]}, ""]}}]
    lines(folder / "BFCL_v4_simple_python.json", asked("simple_python_0", "The weather in Lima?"))
    lines(folder / "possible_answer" / "BFCL_v4_simple_python.json", {"id": "simple_python_0", "ground_truth": truth})
    lines(folder / "BFCL_v4_irrelevance.json", asked("irrelevance_0", "Who wrote Faust?"))
    return folder
