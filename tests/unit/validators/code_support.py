"""What the tests of the coding validator share."""

from __future__ import annotations

from typing import Any

import pytest
from llmbench_validators import registry
from llmbench_validators.types import Completion, Verdict

needs_full_isolation = pytest.mark.skipif(
    registry.isolation_level() != "full",
    reason=f"this machine isolates code at level {registry.isolation_level()} only",
)


def grade(code: str, **spec: Any) -> Verdict:
    """The verdict on ``code`` in a fence, for a function ``f``; the tests come as keys of the block."""
    return registry.grade({"type": "coding", "function_name": "f", **spec}, Completion(f"```python\n{code}\n```"))


def square(code: str, **spec: Any) -> Verdict:
    """The verdict on ``code`` for the task of squaring a number."""
    return grade(code, **{"base_tests": [{"args": [n], "expected": n * n} for n in (2, 3, -1)], "timeout_s": 5, **spec})
