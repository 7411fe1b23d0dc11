"""The public files themselves, where they are present: read whole; right answers pass, wrong ones fail.

Code is graded for a sample drawn by a seed; LLMBENCH_FULL_IMPORTS=1 grades all of it.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from llmbench_mcp.catalog.imported import Stored
from tests.support.collected import COLLECTED, NOTICE
from tests.unit.imports.support import graded, right, run, stored
from tests.unit.validators.code_support import needs_full_isolation

DATA = COLLECTED / "data"
FULL = os.environ.get("LLMBENCH_FULL_IMPORTS") == "1"
SAMPLE = 12

pytestmark = [
    pytest.mark.skipif(not DATA.is_dir(), reason=NOTICE),
    pytest.mark.filterwarnings("ignore:invalid escape sequence"),  # in the collected code
]


@dataclass(frozen=True, slots=True)
class Expected:
    """A file, how many items it holds, and which of them are known to be bad."""

    importer: str
    source: str
    items: int
    marked: tuple[str, ...] = ()
    runs_code: bool = False


SETS = [
    Expected("humaneval", "humaneval", 164, ("116", "47", "75"), runs_code=True),
    Expected("mbpp", "mbpp/mbpp.jsonl", 974, runs_code=True),
    Expected("mbpp_sanitized", "mbpp", 427, runs_code=True),
    Expected("gsm8k", "gsm8k", 1319),
    Expected("math500", "math500", 500),
    Expected(
        "bfcl",
        "bfcl",
        1538,
        (
            "live_simple_106-63-0",
            "live_simple_112-68-0",
            "parallel_multiple_12",
            "parallel_multiple_26",
            "parallel_multiple_83",
        ),
    ),
    Expected("ifeval", "ifeval", 540, ("2078", "30", "337")),
    Expected("polyglot", "polyglot_python", 34, runs_code=True),
]
WRONG: dict[str, str] = {
    "reasoning": r"#### 987654321 \boxed{987654321}",
    "tool_use": "I would rather not call anything." * 2,
    "coding": "```python\nraise ValueError\n```",
    "coding_multifile": "I do not know.",
    "instructions": "",
}


def imported(folder: Path, wanted: Expected) -> dict[str, Stored]:
    change = run(folder, wanted.importer, DATA / wanted.source)
    assert (len(change.imported.suite.items), sorted(change.imported.marked)) == (
        wanted.items - len(wanted.marked),
        sorted(wanted.marked),
    )
    return stored(change)


def fair(found: dict[str, Stored], wanted: Expected) -> Sequence[Stored]:
    """The unmarked; of code a sample, unless all is wanted."""
    items = [one for one in found.values() if one.marked is None]
    return drawn(items) if wanted.runs_code else items


def drawn(items: Sequence[Stored]) -> Sequence[Stored]:
    """All of them where all is wanted, else the sample."""
    return items if FULL else random.Random(20).sample(items, SAMPLE)


@pytest.mark.timeout(1800 if FULL else 180)
@pytest.mark.parametrize(
    "wanted",
    [pytest.param(one, marks=[needs_full_isolation] * one.runs_code, id=one.importer) for one in SETS],
)
def test_a_public_file_is_read_whole_and_its_right_answers_pass(tmp_path: Path, wanted: Expected) -> None:
    found = imported(tmp_path, wanted)
    items = fair(found, wanted)
    assert len(found) == wanted.items

    failed: dict[str, Any] = {
        one.task.id: verdict.findings for one in items if one.answer and not (verdict := right(one)).passed
    }
    assert failed == {}
    assert all(one.answer for one in items) is (wanted.importer != "ifeval")


@pytest.mark.parametrize(
    "wanted",
    [pytest.param(one, marks=[needs_full_isolation] * one.runs_code, id=one.importer) for one in SETS],
)
def test_wrong_answers_to_a_public_file_fail(tmp_path: Path, wanted: Expected) -> None:
    items = fair(imported(tmp_path, wanted), wanted)
    for one in drawn(items) if wanted.importer == "math500" else items:  # comparing by value takes its time
        kind = one.task.validation["type"]
        if kind == "tool_use" and not one.task.validation["expected_calls"]:
            name = one.task.validation["tools"][0]["function"]["name"]
            assert not graded(one, "", {"name": name, "arguments": {}}).passed
        else:
            assert not graded(one, WRONG[kind]).passed, one.task.id


def test_the_paper_s_test_split_of_mbpp_has_500_items(tmp_path: Path) -> None:
    change = run(tmp_path, "mbpp", DATA / "mbpp" / "mbpp.jsonl", parts=("test",))

    assert len(change.imported.suite.items) == 500


def test_parts_of_bfcl_hold_what_they_should(tmp_path: Path) -> None:
    counts = {"simple": 400, "multiple": 200, "parallel": 200, "irrelevance": 240, "live_simple": 258}
    for part, count in counts.items():
        assert len(stored(run(tmp_path, "bfcl", DATA / "bfcl", parts=(part,)))) == count
