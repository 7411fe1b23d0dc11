from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from llmbench_validators import extraction, trees

CODE = (
    "def f(x):\n" + "".join(f"    a{n} = [x, ({n}, {n}.5), {{'k': x + {n}}}]\n" for n in range(60)) + "    return x\n"
)


class Intruder:
    """Builds a tree of its own in the middle of another one, as a thread can when the collector lets it in."""

    def __init__(self, times: int) -> None:
        self.left = times
        self._within = False

    def __call__(self, phase: str, _info: dict[str, Any]) -> None:
        if self.left and not self._within:
            self.left -= 1
            self._within = True
            ast.parse("[1, (2, 3)]\n")
            self._within = False


@pytest.fixture(autouse=True)
def eager_collector() -> Iterator[None]:
    thresholds, interval, callbacks = gc.get_threshold(), sys.getswitchinterval(), list(gc.callbacks)
    gc.set_threshold(20)
    yield
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)
    gc.callbacks[:] = callbacks


def test_a_tree_built_in_the_middle_of_another_one_spoils_neither() -> None:
    whole = ast.dump(ast.parse(CODE))
    gc.callbacks.append(Intruder(times=5))

    assert ast.dump(trees.tree(CODE, "<answer>")) == whole


def test_answers_taken_apart_by_many_threads_at_once_are_all_found() -> None:
    sys.setswitchinterval(1e-6)
    gc.callbacks.append(lambda _phase, _info: [None for _ in range(3)] and None)
    text = f"```python\n{CODE}```"

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: extraction.extract(text, "f").failure, range(100)))

    assert set(found) == {None}


def test_what_is_no_python_is_still_refused() -> None:
    with pytest.raises(SyntaxError):
        trees.tree("def f(:\n", "<answer>")
