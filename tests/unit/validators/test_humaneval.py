"""HumanEval, where the collected data is present: every reference solution passes its own tests, out of their reach."""

from __future__ import annotations

import gzip
import json

import pytest
from llmbench_validators import registry
from llmbench_validators.types import Completion

from tests.support.collected import COLLECTED, NOTICE

from .code_support import needs_full_isolation

FILE = COLLECTED / "data" / "humaneval" / "HumanEval.jsonl.gz"

pytestmark = [needs_full_isolation, pytest.mark.timeout(300)]


@pytest.mark.parametrize("known", [False, True], ids=["tests alone", "with the reference"])
def test_every_reference_solution_passes(known: bool) -> None:
    if not FILE.exists():
        pytest.skip(NOTICE)
    tasks = list(map(json.loads, gzip.decompress(FILE.read_bytes()).splitlines()))
    findings = {}
    for task in tasks:
        code = task["prompt"] + task["canonical_solution"]
        block = {"type": "coding", "function_name": task["entry_point"], "test_code": task["test"]}
        block |= {"setup_code": task["prompt"], **({"reference_solution": code} if known else {})}
        verdict = registry.grade(block, Completion(f"```python\n{code}\n```"))
        if not verdict.passed or any("trust" in finding for finding in verdict.findings):
            findings[task["task_id"]] = verdict.findings

    assert (len(tasks), findings) == (164, {})
