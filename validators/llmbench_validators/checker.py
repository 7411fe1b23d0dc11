"""The trusted process that holds tests and expected values and asks a confined process for results.

One job at a time on its control socket; started by the sandbox pool, ends when that socket closes. Job and
outcome are plain data (see :mod:`llmbench_validators.wire`):

job: ``code``, ``function``, ``imports``, ``setup``, ``mode``, ``timeout_s``, ``memory_mb``, ``stages`` =
list of ``{name, tests: [{args, kwargs, expected}], code: str | None, secret: bool}``.
outcome: ``{stages: {name: (passed, total)}, failure, findings, recycle}`` or ``{spec_error}`` or ``{fault}``.
"""

from __future__ import annotations

import contextlib
import itertools
import signal
import socket
import types
from typing import Any

from llmbench_validators import asserts, compare, probe, show, wire
from llmbench_validators.session import Candidate, CandidateFailed, ParentGone, Reply, WarmZygote
from llmbench_validators.types import SandboxFault, ValidationSpecError

MAX_JOB = 64 << 20
_MAX_FINDINGS = 10


class _TestsTooSlow(BaseException):
    """The tests themselves used up their processor time."""


def main(descriptor: int, folder: str) -> None:
    """Serve jobs on the inherited socket ``descriptor`` until it closes; ``folder`` is removed at the end."""
    control = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        zygote = WarmZygote(folder)
        report = probe.isolation(zygote, zygote.mechanisms)
    except SandboxFault as exc:
        wire.send(control, {"fault": str(exc)})
        return
    wire.send(control, report)
    with contextlib.suppress(wire.Closed, OSError, ParentGone):
        _serve(control, zygote)
    zygote.stop()


def _serve(control: socket.socket, zygote: WarmZygote) -> None:
    while True:
        job = wire.decode(wire.receive(control, MAX_JOB))
        outcome: dict[str, Any]
        try:
            outcome = _Grading(job, zygote, control).run()
        except ValidationSpecError as exc:
            outcome = {"spec_error": str(exc)}
        except SandboxFault as exc:
            outcome = {"fault": str(exc), "recycle": True}
        wire.send(control, wire.encode(outcome))
        if outcome.get("recycle"):
            return


class _Grading:
    """One answer under its tests."""

    def __init__(self, job: dict[str, Any], zygote: WarmZygote, parent: socket.socket) -> None:
        self._job = job
        self._zygote = zygote
        self._parent = parent
        self._candidate: Candidate | None = None
        self._failure: str | None = None
        self._findings: list[str] = []
        self._recycle = False

    def run(self) -> dict[str, Any]:
        try:
            stages = {stage["name"]: self._stage(stage) for stage in self._job["stages"]}
        finally:
            self._drop()
        return {
            "stages": stages,
            "failure": self._failure,
            "findings": self._findings[:_MAX_FINDINGS],
            "recycle": self._recycle,
        }

    def _stage(self, stage: dict[str, Any]) -> tuple[int, int]:
        results: list[asserts.Failure | None] = []
        try:
            if self._candidate is not None:
                self._candidate.limit(self._job["timeout_s"])
            results = self._declared(stage)
            results += self._coded(stage, dead=any(failure and failure.fatal for failure in results))
        except _TestsTooSlow:
            self._recycle = True
            results += self._all_failed(stage, asserts.Failure("timeout", "the tests took too long"), len(results))
        self._report(stage, results)
        return sum(failure is None for failure in results), len(results)

    def _report(self, stage: dict[str, Any], results: list[asserts.Failure | None]) -> None:
        """Say what failed; of a secret stage only how much of it, for the words could hold its inputs."""
        failed = [(number, failure) for number, failure in enumerate(results, 1) if failure is not None]
        if not failed:
            return
        if self._failure is None:
            self._failure = failed[0][1].word
        if stage["secret"]:
            self._findings.append(f"{stage['name']}: {len(failed)} of {len(results)} tests failed")
            return
        for failure, run in itertools.groupby(failed, key=lambda item: item[1]):
            numbers = [number for number, _ in run]
            which = f"test {numbers[0]}" if len(numbers) == 1 else f"tests {numbers[0]}-{numbers[-1]}"
            self._findings.append(f"{stage['name']} {which}: {failure.text}")

    def _all_failed(self, stage: dict[str, Any], failure: asserts.Failure, done: int) -> list[Any]:
        return [failure] * (self._size(stage) - done)

    def _size(self, stage: dict[str, Any]) -> int:
        coded = asserts.count(stage["code"], self._job["function"]) if stage["code"] else 0
        return len(stage["tests"]) + coded

    # --- declared tests

    def _declared(self, stage: dict[str, Any]) -> list[asserts.Failure | None]:
        results: list[asserts.Failure | None] = []
        for test in stage["tests"]:
            failure = self._one(test)
            results.append(failure)
            if failure is not None and failure.fatal:
                return results + [failure] * (len(stage["tests"]) - len(results))
        return results

    def _one(self, test: dict[str, Any]) -> asserts.Failure | None:
        shown = show.call(self._job["function"], test["args"], test["kwargs"])
        try:
            reply = self._call(wire.encode(test["args"]), wire.encode(test["kwargs"]))
        except CandidateFailed as exc:
            self._drop()
            return asserts.Failure(exc.word, f"{shown} {exc.text}".strip(), fatal=exc.word in _HOPELESS)
        return _judged(reply, test["expected"], self._job["mode"], shown)

    # --- test code

    def _coded(self, stage: dict[str, Any], *, dead: bool) -> list[asserts.Failure | None]:
        if not stage["code"]:
            return []
        function = self._job["function"]
        total = asserts.count(stage["code"], function)
        if dead:
            return [asserts.Failure("timeout", "not run")] * total
        try:
            is_async = self._ready().is_async
        except CandidateFailed as exc:
            self._drop()
            return [asserts.Failure(exc.word, exc.text, fatal=True)] * total
        proxy = asserts.Proxy(function, self._call)
        with _processor_limit(self._job["timeout_s"]):
            return asserts.run(stage["code"], self._job["setup"], function, proxy, is_async=is_async)

    # --- the candidate

    def _ready(self) -> Candidate:
        if self._candidate is None:
            job = self._job
            seconds = int(job["timeout_s"] * (len(job["stages"]) + 1)) + 2
            candidate = Candidate(self._zygote, (job["memory_mb"] << 20, seconds), self._parent)
            self._candidate = candidate
            candidate.limit(job["timeout_s"])
            candidate.load(job["code"], job["function"], job["imports"])
            if candidate.note:
                self._findings.append(f"after the definition the code ended with {candidate.note}")
        return self._candidate

    def _call(self, args: Any, kwargs: Any) -> Reply:
        return self._ready().call(args, kwargs)

    def _drop(self) -> None:
        candidate, self._candidate = self._candidate, None
        if candidate is not None:
            candidate.end()


# Failures after which calling again would only cost the same time or fail in the same way.
_HOPELESS = frozenset(
    {"timeout", "syntax_error", "import_error", "missing_function", "cheating", "output_limit", "memory_limit"}
)


def _judged(reply: Reply, expected: Any, mode: str, shown: str) -> asserts.Failure | None:
    if reply.word is not None:
        return asserts.Failure(reply.word, f"{shown} {reply.text}")
    if compare.same(reply.value, expected, mode):
        return None
    return asserts.Failure(
        "wrong_answer", f"{shown} returned {show.value(reply.value)}, expected {show.value(expected)}"
    )


@contextlib.contextmanager
def _processor_limit(seconds: float) -> Any:
    """Raise _TestsTooSlow, again and again, once this process itself has used ``seconds`` of processor time."""

    def expired(_number: int, _frame: types.FrameType | None) -> None:
        raise _TestsTooSlow

    before = signal.signal(signal.SIGPROF, expired)
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
