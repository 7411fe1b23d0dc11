"""A small project to change, and answers to it, for the tests of the multi-file validator."""

from __future__ import annotations

from typing import Any

from llmbench_validators import registry
from llmbench_validators.types import Completion, Verdict

STOCK = (
    "class Stock:\n    def __init__(self):\n        self.items = {}\n\n    def add(self, name, count):\n        pass\n"
)
REPORT = "from shop.stock import Stock\n\n\ndef total(stock):\n    return 0\n"
RIGHT_STOCK = STOCK.replace("pass", "self.items[name] = self.items.get(name, 0) + count")
RIGHT_REPORT = REPORT.replace("return 0", "return sum(stock.items.values())")
TESTS = """
import unittest
from shop.report import total
from shop.stock import Stock


class StockTest(unittest.TestCase):
    def test_adding_counts(self):
        stock = Stock()
        stock.add("pear", 2)
        stock.add("pear", 3)
        self.assertEqual(stock.items, {"pear": 5})

    def test_total(self):
        stock = Stock()
        stock.add("pear", 2)
        stock.add("fig", 3)
        self.assertEqual(total(stock), 5)
"""
FILES = {"shop/__init__.py": "", "shop/stock.py": STOCK, "shop/report.py": REPORT}


def block(**changes: Any) -> dict[str, Any]:
    """The VALIDATION block of the small project."""
    return {
        "type": "coding_multifile",
        "files": FILES,
        "modified_files": ["shop/stock.py", "shop/report.py"],
        "integration_tests": [{"path": "shop_test.py", "code": TESTS, "expected": "pass"}],
        "timeout_s": 5,
        **changes,
    }


def graded(answer: str, **changes: Any) -> Verdict:
    """The verdict on an answer to the small project."""
    return registry.grade(block(**changes), Completion(answer))


def single(code: str, tests: str, **changes: Any) -> Verdict:
    """The verdict on one file ``work.py`` under one test module."""
    spec = {"files": {"work.py": ""}, "modified_files": ["work.py"], "integration_tests": [{"code": tests}], **changes}
    return graded(f"```python work.py\n{code}\n```", **spec)


def fenced(files: dict[str, str]) -> str:
    """``files`` as fences that name their paths."""
    return "\n\n".join(f"```python {path}\n{text}```" for path, text in files.items())
