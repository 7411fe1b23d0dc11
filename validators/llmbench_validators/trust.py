"""Whether a task's test code has to run beside the answer, in the weaker way, or can run where no answer reaches it.

Decided from the task alone, so that no answer can choose: the block says so, the tests hand over functions or
classes, or the reference solution passes in the weak way and not in the strong one.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from llmbench_validators import tests_syntax, weak_run
from llmbench_validators.coding_spec import CodingSpec
from llmbench_validators.types import ValidationSpecError

_KEPT = 512
_NOTHING = "def {name}(*args, **kwargs):\n    pass\n"

Passes = Callable[[CodingSpec, str], bool]
"""Whether code passes the task's test code in the strong way. Raises ValidationSpecError, SandboxFault."""

_known: OrderedDict[str, bool] = OrderedDict()
_lock = threading.Lock()


def is_weak(task: CodingSpec, passes: Passes) -> bool:
    """Whether the test code runs beside the answer.

    Raises ValidationSpecError for a task whose own setup fails, SandboxFault when the sandbox does.
    """
    if not task.test_code or task.trust == "strong":
        return False
    told = task.trust == "weak" or tests_syntax.passes_code(task.test_code, task.setup_code, task.function)
    if not told and not task.reference:
        return False
    key = _key(task)
    with _lock:
        if key in _known:
            _known.move_to_end(key)
            return _known[key]
    weak = _sound(task) if told else not _serves(task, passes) and weak_run.run(task, task.reference).failure is None
    with _lock:
        _known[key] = weak
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    return weak


def _key(task: CodingSpec) -> str:
    parts = [task.function, task.test_code, task.setup_code, task.reference, task.trust]
    limits = [task.timeout_s, task.memory_mb]
    return hashlib.sha256(json.dumps([parts, limits]).encode()).hexdigest()


def _serves(task: CodingSpec, passes: Passes) -> bool:
    try:
        return passes(task, task.reference)
    except ValidationSpecError:  # such as an argument that is no plain data: the very case for the other way
        return False


def _sound(task: CodingSpec) -> bool:
    """True; a setup that fails by itself is the task's fault, and is found before any answer could be blamed."""
    if tests_syntax.wanted_names(task.setup_code, "", task.function):
        return True
    bare = replace(task, test_code="pass")
    tried = weak_run.run(bare, _NOTHING.format(name=task.function))
    if tried.failure is not None:
        raise ValidationSpecError(f"setup_code fails: {tried.findings[0].partition(': ')[2]}")
    return True
