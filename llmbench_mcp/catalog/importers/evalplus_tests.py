"""The test code that grades EvalPlus items, run as every task's test code is: confined, out of the answer's reach.

The rules are EvalPlus's: equal, or close where floats are expected (relative 1e-7, absolute 1e-6 or the item's own).
"""

from __future__ import annotations

import re

CLOSE = """
from math import inf, nan


class np:
    float32 = float64 = float

    class ndarray:
        pass

    @staticmethod
    def allclose(found, wanted, rtol=1e-07, atol=1e-08):
        if isinstance(found, (list, tuple)) or isinstance(wanted, (list, tuple)):
            return len(found) == len(wanted) and all(np.allclose(a, b, rtol, atol) for a, b in zip(found, wanted))
        return found == wanted or abs(found - wanted) <= atol + rtol * abs(wanted)
"""
"""What the tests of finished rows use of NumPy, which is not needed for it."""

SETUP = """{code}

from copy import deepcopy as _copied
from math import inf, nan

_reference = {name}


def _floats(value):
    if isinstance(value, float):
        return True
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(one, float) for one in value)


def _close(found, wanted, tolerance):
    if isinstance(wanted, (list, tuple)):
        return len(found) == len(wanted) and all(_close(a, b, tolerance) for a, b in zip(found, wanted))
    return found == wanted or abs(found - wanted) <= tolerance + 1e-07 * abs(wanted)


def _equal(found, wanted, tolerance):
    if found == wanted or (found != found and wanted != wanted):
        return True
    if tolerance == 0 and _floats(wanted):
        tolerance = 1e-06
    return tolerance != 0 and type(found) == type(wanted) and _close(found, wanted, tolerance)
"""

BY_INPUT = """
_inputs = {inputs}


def check(candidate):
    for _given in _inputs:
        _wanted = _reference(*_copied(_given))
        _found = candidate(*_copied(_given))
        assert {same}
        _tolerance = {tolerance}
        assert _same or _equal(_found, _wanted, _tolerance), "another result than the reference code"
"""

_SETS = [
    "similar_elements",
    "find_char_long",
    "common_in_nested_lists",
    "extract_singly",
    "larg_nnum",
    "intersection_array",
    "find_dissimilar",
    "Diff",
]
_TRUTHS = ["check_str", "text_match_three", "text_starta_endb"]


def as_set(name: str) -> str:
    """The further way in which a function's results count as equal, as an expression that binds ``_same``."""
    if name in _SETS:
        return "[_same := set(_found) == set(_wanted)]"
    if name in _TRUTHS:
        return "[_same := bool(_found) == bool(_wanted)]"
    if name == "find_zero":
        return "[_same := abs(sum(_c * _found**_n for _n, _c in enumerate(_given[0]))) <= 0.0001]"
    return "[_same := False]"


def numpy_free(tests: str) -> str:
    """Tests without the import of NumPy, for which ``CLOSE`` stands in."""
    return re.sub(r"^import numpy as np[ \t]*$", "", tests, flags=re.MULTILINE)
