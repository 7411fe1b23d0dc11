"""Test code run with the calls it will make announced, so that the candidate need not wait for each of them.

Test code makes the same calls in the same order every time, as long as what it calls gives the right values. The
calls of a run in which every test passed are kept, and sent all at once the next time; those of asserts with literal
arguments are read from them before the first. When a call differs from the one announced, the process has run ahead
of the tests; it is ended, and the tests are run anew without foresight. So the results are always those of a run in
which every call was made only when the tests made it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

from llmbench_validators import asserts
from llmbench_validators.runner import Call, Runner, Unforeseen
from llmbench_validators.session import Reply

_KEPT = 512
_MAX_CALLS, _MAX_LENGTH = 2_000, 1 << 18

_known: OrderedDict[tuple[str, str, str], list[Call]] = OrderedDict()


class Tests(NamedTuple):
    """Test code, the code run before it, the name of the function under test, and whether that is a coroutine's."""

    code: str
    setup: str
    function: str
    is_async: bool


def calls(code: str, setup: str, function: str) -> list[Call]:
    """The calls the tests will make, as far as an earlier run has shown or can be read from them.

    Raises ValidationSpecError when the code is no Python.
    """
    if asserts.traits_of(code, setup, function).timed:
        return []  # they would see calls that took no time, or were made at another
    known = _known.get((code, setup, function))
    return list(asserts.foretold_calls(code, function)) if known is None else known


def run(tests: Tests, runner: Runner) -> list[asserts.Failure | None]:
    """One entry a test, None when it passed. Raises as :func:`asserts.run`."""
    known = _known.get(tests[:3])
    try:
        results, made = _attempt(tests, runner)
    except Unforeseen:
        results, made = [], []
    if runner.unforeseen:  # the tests may have swallowed the exception
        runner.begin_stage()
        results, made = _attempt(tests, runner)
    elif known is not None and len(known) == len(made):  # and so, call by call, the same
        _known.move_to_end(tests[:3])
        return results
    if not any(results):
        _keep(tests, made)
    return results


def _attempt(tests: Tests, runner: Runner) -> tuple[list[asserts.Failure | None], list[Call]]:
    made: list[Call] = []

    def call(args: Any, kwargs: Any) -> Reply:
        made.append((args, kwargs))
        return runner.call(args, kwargs)

    proxy = asserts.Proxy(tests.function, call)
    return asserts.run(tests.code, tests.setup, tests.function, proxy, is_async=tests.is_async), made


def _keep(tests: Tests, made: list[Call]) -> None:
    key = tests[:3]
    if len(made) > _MAX_CALLS or sum(len(repr(call)) for call in made) > _MAX_LENGTH:
        return
    _known[key] = made
    _known.move_to_end(key)
    while len(_known) > _KEPT:
        _known.popitem(last=False)
