"""Answers that misuse the two descriptors an answer's process has: the channel with its bell, the pipe for replies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from llmbench_validators import clock

from .code_support import needs_full_isolation, square

pytestmark = needs_full_isolation

PRELUDE = """
import os, stat, time
def _all(kind):
    found = []
    for d in range(3, 64):
        try:
            if kind(os.fstat(d).st_mode): found.append(d)
        except OSError: pass
    return found
CHANNELS, PIPES = _all(stat.S_ISSOCK), _all(stat.S_ISFIFO)
assert len(CHANNELS) == 1 and len(PIPES) == 1
def ring(what, channel=CHANNELS[0]): os.write(channel, what)
def pour(what, pipe=PIPES[0]):
    try: return os.write(pipe, what)
    except BlockingIOError: return 0
def f(x):
"""
TWO = [{"args": [2], "expected": 4}, {"args": [3], "expected": 9}]
MISUSES = {
    "one bell and no reply": "    ring(b'!'); time.sleep(600)",
    "bells without end": "    while True: ring(b'!')",
    "many bells at once": "    ring(b'!' * 5000); time.sleep(600)",
    "calls for room without end": "    while True: ring(b'.')",
    "calls for room and a right reply": "    ring(b'.' * 50); return x * x",
    "other words": "    ring(b'?'); return x * x",
    "the pipe closed": "    os.close(PIPES[0]); time.sleep(600)",
    "the pipe closed, with a bell": "    os.close(PIPES[0]); ring(b'!'); time.sleep(600)",
    "the channel closed": "    os.close(CHANNELS[0]); time.sleep(600)",
    "rubbish without end": "    while True: pour(b'x' * 4096)",
    "rubbish and a bell": "    pour(b'x' * 4096); ring(b'!'); time.sleep(600)",
    "empty replies without end": "    while True: pour(b'\\0\\0\\0\\2{}')",
    "a reply that is longer than it says": "    pour(b'\\0\\0\\0\\4null!!!!'); return x * x",
    "half a reply and a bell": "    pour(b'\\0\\0\\1\\0{'); ring(b'!'); time.sleep(600)",
}


@pytest.mark.parametrize("body", MISUSES.values(), ids=MISUSES.keys())
def test_misuse_of_the_channel_is_cheating(body: str) -> None:
    verdict = square(PRELUDE + body, timeout_s=1, base_tests=TWO)

    assert (verdict.passed, verdict.failure) == (False, "cheating"), verdict.findings


def test_replies_that_nobody_asked_for_are_answers_like_any_other() -> None:
    code = PRELUDE + "    pour(b'\\0\\0\\0\\x0b{\"value\":1}' * 99); return x * x"

    assert (square(code, base_tests=TWO).failure, square("def f(x): return x * x").passed) == ("wrong_answer", True)


DRIPS = "    pour(b'\\0\\x7f\\0\\0')\n    while True: pour(b'x'); time.sleep(0.001)"


@pytest.mark.parametrize("body", [DRIPS, "    time.sleep(600)", "    pour(b'\\0\\0'); time.sleep(600)"])
def test_an_answer_that_never_replies_costs_the_checker_next_to_nothing(body: str) -> None:
    assert square("def f(x): return x * x").passed
    checkers = [(pid, clock.processor_time(pid)) for pid in _children()]

    assert square(PRELUDE + body, timeout_s=1).failure == "timeout"
    assert all(clock.processor_time(pid) - before < 0.3 for pid, before in checkers)


def test_large_replies_ring_no_more_than_they_may() -> None:
    tests = [{"args": [n], "expected": "x" * n} for n in (65_000, 70_000, 1, 200_000, 3_000_000, 64_000)]

    assert square("def f(n):\n    return 'x' * n", base_tests=tests).passed


def _children() -> list[int]:
    tasks = Path(f"/proc/{os.getpid()}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]
