"""LaTeX formulas compared by value, where math-verify is installed (the extra ``math``).

SymPy may compute without end (``9^{9^{9^9}}``), so a comparison runs in a child process with a limit on its
processor time, which does not depend on how busy the machine is. The child is started when first needed, serves
one comparison at a time and is started again after it died of one.

Left to the comparison of spellings, because value is not what is meant or the reading is not certain: words,
percentages, mixed numbers, grouped thousands, ``2^1/2``, and whatever is longer than ``MAX_CHARACTERS``.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import json
import os
import re
import select
import subprocess
import sys
import threading
import time

MAX_CHARACTERS = 300
CPU_SECONDS = 5

_MEMORY_BYTES = 1 << 30
_WALL_S = 60.0
"""Only for a child that neither computes nor answers."""
_CHILD = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.readline()); "
    "from llmbench_validators import latex_equal; latex_equal.serve()"
)
_SIGNS = {
    "√": r"\sqrt ",
    "\u00d7": r"\cdot ",
    "·": r"\cdot ",
    "÷": r"\div ",
    "π": r"\pi ",
    "±": r"\pm ",
    "∞": r"\infty ",
}
_FUNCTIONS = re.compile(r"(?:arc)?(?:sin|cos|tan|cot|sec|csc)h?|log|ln|lg|exp|sqrt|max|min")
_SHORT_WORDS = re.compile(r"a[nst]|by|i[fnst]|no|o[fnr]|so|to|up|we", re.IGNORECASE)
_COMMAND = re.compile(r"\\[A-Za-z]+")
_LETTERS = re.compile(r"[A-Za-z]{2,}")
_UNCERTAIN = re.compile(r"[%$≈…\n]|[0-9]\s+[0-9]|[0-9],[0-9]{3}(?![0-9])|\^\s*-?[0-9]+\s*/")
_RATIO = re.compile(r"(?<![0-9.])([0-9]+)\s*/\s*([0-9]+)(?![0-9.])")


@functools.cache
def available() -> bool:
    """Whether formulas can be compared by value here."""
    return os.name == "posix" and importlib.util.find_spec("math_verify") is not None


def equal(answer: str, expected: str) -> bool:
    """Whether two formulas have the same value; False too where that cannot be told. Never raises."""
    if not (available() and comparable(answer) and comparable(expected)) or _is_set(answer) != _is_set(expected):
        return False
    with _lock:
        return _ask([_latex(expected), _latex(answer)])


def comparable(text: str) -> bool:
    """Whether the text is a formula whose value is certain."""
    if not text.strip() or len(text) > MAX_CHARACTERS or _UNCERTAIN.search(text):
        return False
    runs = _LETTERS.findall(_COMMAND.sub(" ", text))
    return all(_FUNCTIONS.fullmatch(run) or (len(run) == 2 and not _SHORT_WORDS.fullmatch(run)) for run in runs)


def _is_set(text: str) -> bool:
    """Whether it is written as a set; to the library, a tuple of the same members is the same."""
    return text.lstrip().startswith(("\\{", "{"))


def _latex(text: str) -> str:
    """The formula as LaTeX again, after simple commands were rewritten into plain characters."""
    for sign, command in _SIGNS.items():
        text = text.replace(sign, command)
    return _RATIO.sub(r"\\frac{\1}{\2}", text.strip().rstrip("."))


# --- the parent's side

_lock = threading.Lock()
_child: subprocess.Popen[bytes] | None = None


def _ask(pair: list[str]) -> bool:
    global _child
    try:
        if _child is None:
            _child = _start()
        _send(_child, pair)
        return _answer(_child) == b"equal"
    except (OSError, EOFError, TimeoutError):
        _stop()
        return False


def _start() -> subprocess.Popen[bytes]:
    """A child that has loaded the library. Raises OSError, EOFError or TimeoutError."""
    environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}
    child = subprocess.Popen(  # noqa: S603 - our own interpreter and program
        [sys.executable, "-s", "-P", "-B", "-c", _CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,  # the terminal's Ctrl-C is not for it
    )
    try:
        _send(child, sys.path)
        _answer(child)
    except (OSError, EOFError, TimeoutError):
        _end(child)
        raise
    return child


def _send(child: subprocess.Popen[bytes], message: list[str]) -> None:
    assert child.stdin is not None
    child.stdin.write(json.dumps(message).encode() + b"\n")
    child.stdin.flush()


def _answer(child: subprocess.Popen[bytes]) -> bytes:
    assert child.stdout is not None
    end = time.monotonic() + _WALL_S
    received = b""
    while not received.endswith(b"\n"):
        ready, _, _ = select.select([child.stdout], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise TimeoutError
        part = os.read(child.stdout.fileno(), 100)
        if not part:
            raise EOFError
        received += part
    return received.strip()


def _stop() -> None:
    global _child
    child, _child = _child, None
    if child is not None:
        _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    child.wait()


def _forget() -> None:
    """A forked process must not talk to its parent's child."""
    global _child, _lock
    _child, _lock = None, threading.Lock()


atexit.register(_stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


# --- the child's side


def serve() -> None:
    """Answer pairs of formulas from standard input, a JSON list a line, until it ends."""
    import logging

    logging.disable()
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints is no answer
    _same_value("1", "1")  # loading takes time that is no comparison's
    _limit_memory()
    out.write("ready\n")
    for line in sys.stdin:
        gold, target = json.loads(line)
        _limit_time()
        try:
            same = _same_value(gold, target)
        except Exception:  # noqa: BLE001 - SymPy and the parser raise anything; then there is no value to compare
            same = False
        out.write("equal\n" if same else "different\n")


def _limit_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_time() -> None:
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 1 + CPU_SECONDS, most))


def _same_value(gold: str, target: str) -> bool:
    import random

    from math_verify import LatexExtractionConfig, parse, verify
    from sympy.core import random as sympy_random

    random.seed(0)  # SymPy tries random values; the same ones every time
    sympy_random.seed(0)
    read = [
        parse(f"${text}$", [LatexExtractionConfig()], fallback_mode="no_fallback", parsing_timeout=None)
        for text in (gold, target)
    ]
    return all(read) and bool(verify(*read, float_rounding=10, timeout_seconds=None))
