"""How fast an answer is: the reference solution's processor time over the answer's, in steps.

Both run in processes of the same sandbox, started from the same parent and kept on the same processor, on the calls
the answer got right, turn and turn about. What is taken is the processor time of the process as the kernel counts
it, read from outside: it leaves out waiting for a busy machine, and no answer can forge it. Of several rounds the
best counts on each side, for noise only ever adds time. The ratio is turned into one of five steps; near the bound
between two of them it is measured again, three times as long. Handing over the arguments is part of the time, so
that differences of a few instructions do not matter.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llmbench_validators import clock
from llmbench_validators.runner import Call, Runner
from llmbench_validators.session import Candidate, CandidateFailed, Zygote

STEPS = ((0.67, 1.0), (0.33, 0.75), (0.1, 0.5), (0.01, 0.25))
"""From a ratio of at least the first number on, performance is the second; below all of them it is 0."""

NEAR = 0.15
ROUNDS, MORE_ROUNDS = 8, 24
ROUND_S, MAX_ROUND_S, LONG_S = 0.003, 0.1, 0.5
_MAX_REPEATS = 1000

Measure = Callable[[int], float]
"""Makes the calls that many times over; the seconds of processor time it took. Raises CandidateFailed."""


def measured(
    job: Mapping[str, Any], reference: str, calls: Sequence[Call], zygote: Zygote, parent: socket.socket
) -> float | None:
    """The performance of the job's code on ``calls``; None when the reference cannot be measured here.

    0 when the code, which got them right before, fails under repetition.
    """
    known = Runner({**job, "code": reference}, zygote, parent, 2)
    answer = Runner(job, zygote, parent, 2)
    try:
        ours = _measure(known, calls, job["timeout_s"])
        ours(1)
    except CandidateFailed:
        known.drop()
        return None
    try:
        return performance(ours, _measure(answer, calls, job["timeout_s"]))
    except CandidateFailed:
        return 0.0
    finally:
        known.drop()
        answer.drop()


def _measure(runner: Runner, calls: Sequence[Call], timeout_s: float) -> Measure:
    runner.begin_stage()
    candidate = runner.ready()
    _keep_on_one_processor(candidate.pid())

    def measure(times: int) -> float:
        return _timed(candidate, calls, times, timeout_s)

    return measure


def _keep_on_one_processor(pid: int) -> None:
    """The same one for every process measured here: two may be slowed unequally by what else the machine does."""
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        with contextlib.suppress(OSError):
            os.sched_setaffinity(pid, {allowed[os.getpid() % len(allowed)]})


def _timed(candidate: Candidate, calls: Sequence[Call], times: int, timeout_s: float) -> float:
    pid = candidate.pid()
    candidate.limit(timeout_s)
    before = clock.processor_time(pid)
    candidate.send(list(calls), times)
    if candidate.reply().word is not None:
        raise CandidateFailed("runtime_error", "failed while its time was measured")
    after = clock.processor_time(pid)
    if not after:
        raise CandidateFailed("runtime_error", "ended while its time was measured")
    return max(1e-9, after - before)


def performance(reference: Measure, candidate: Measure) -> float:
    """The step the candidate reaches. Raises CandidateFailed when one of them fails on the way."""
    ours, theirs = reference(1), candidate(1)
    if theirs > LONG_S:  # noise is small beside it, and many rounds would take minutes
        return step(min(ours, reference(1)) / theirs)
    repeats = _repeats(ours, theirs)
    ours, theirs = _best(reference, candidate, repeats, ROUNDS)
    if is_near(ours / theirs):
        again = _best(reference, candidate, repeats, MORE_ROUNDS)
        ours, theirs = min(ours, again[0]), min(theirs, again[1])
    return step(ours / theirs)


def _repeats(ours: float, theirs: float) -> int:
    """Enough for the reference to take ROUND_S, as long as the candidate takes no more than MAX_ROUND_S."""
    wanted = min(_MAX_REPEATS, int(ROUND_S / ours) + 1)
    return max(1, min(wanted, int(MAX_ROUND_S / theirs)))


def _best(reference: Measure, candidate: Measure, repeats: int, rounds: int) -> tuple[float, float]:
    pairs = [(reference(repeats), candidate(repeats)) for _ in range(rounds)]
    return min(ours for ours, _ in pairs), min(theirs for _, theirs in pairs)


def is_near(ratio: float) -> bool:
    """Whether the ratio is within NEAR of a bound."""
    return any(abs(ratio - bound) <= NEAR * bound for bound, _ in STEPS)


def step(ratio: float) -> float:
    """The performance for ``ratio``."""
    return next((value for bound, value in STEPS if ratio >= bound), 0.0)
