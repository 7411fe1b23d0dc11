"""The trusted process that holds tests and expected values and asks a confined process for results.

One job at a time on its control socket; started by the sandbox pool, ends when that socket closes. Job and
outcome are plain data:

job: ``code``, ``function``, ``imports``, ``setup``, ``mode``, ``timeout_s``, ``memory_mb``, ``stages`` =
list of ``{name, tests: [{args, kwargs, expected}], code: str | None, secret: bool}``; with ``reference`` (code)
the answer's speed is measured too. With ``watched`` what calls do to their arguments is told and carried out on
the test code's own objects; with ``compare`` "argument" the expected values are of the first argument after the call.
A job with ``calls`` (list of ``[args, kwargs]``) instead of stages and setup asks for the values alone; one with
``replies`` is described in :mod:`llmbench_validators.project_check`.
With ``plain`` in a job an outcome of stages is sent as JSON without tags.
outcome: ``{stages: {name: (passed, total)}, failure, findings, performance, recycle}``, ``{values: [(good, value)]}``,
``{spec_error}`` or ``{fault}``.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import signal
import socket
import types
from collections.abc import Iterator
from typing import Any

from llmbench_validators import asserts, coding_speed, compare, foresight, probe, project_check, show, wire
from llmbench_validators.runner import Call, Runner, carry_out
from llmbench_validators.session import CandidateFailed, ParentGone, Reply
from llmbench_validators.types import SandboxFault, ValidationSpecError
from llmbench_validators.warm import WarmZygote

MAX_JOB = 64 << 20
_MAX_FINDINGS = 10
_MAX_TIMED = 100
_YOUNG_OBJECTS = 20_000


class _TestsTooSlow(BaseException):
    """The tests themselves used up their processor time."""


def main(descriptor: int, folder: str, mode: str = "") -> None:
    """Serve jobs on the inherited socket ``descriptor`` until it closes; ``folder`` is removed at the end."""
    control = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        zygote = WarmZygote(folder, mode)
        report = probe.isolation(zygote, zygote.mechanisms)
    except SandboxFault as exc:
        wire.send(control, wire.encode({"fault": str(exc)}))
        return
    wire.send(control, wire.encode(report))
    gc.freeze()  # all that is here stays; to look through it again and again costs as much as the tests
    gc.set_threshold(_YOUNG_OBJECTS)
    with contextlib.suppress(wire.Closed, OSError, ParentGone):
        _serve(control, zygote)
    zygote.stop()


def _serve(control: socket.socket, zygote: WarmZygote) -> None:
    mailbox = wire.Mailbox(control)
    while True:
        job = wire.load_trusted(mailbox.take(MAX_JOB))
        outcome: dict[str, Any]
        try:
            outcome = _outcome(job, zygote, control)
        except ValidationSpecError as exc:
            outcome = {"spec_error": str(exc)}
        except SandboxFault as exc:
            outcome = {"fault": str(exc), "recycle": True}
        if _meddles(job):
            outcome["recycle"] = True
        plain = wire.PLAIN in job and "stages" in outcome
        wire.send(control, {wire.PLAIN: outcome} if plain else wire.encode(outcome))
        if outcome.get("recycle"):
            return


def _meddles(job: dict[str, Any]) -> bool:
    """Whether the job's own code may have left this process other than it was, for the next job to see."""
    codes = [stage["code"] for stage in job.get("stages", ()) if stage["code"]]
    with contextlib.suppress(ValidationSpecError):  # which was told already
        return any(asserts.traits_of(code, job["setup"], job["function"]).meddles for code in codes)
    return True


def _outcome(job: dict[str, Any], zygote: WarmZygote, control: socket.socket) -> dict[str, Any]:
    if "replies" in job:
        return project_check.replies(job, zygote, control)
    if "calls" in job:
        return _evaluated(job, zygote, control)
    return _Grading(job, zygote, control).run()


class _Grading:
    """One answer under its tests."""

    def __init__(self, job: dict[str, Any], zygote: WarmZygote, parent: socket.socket) -> None:
        self._job = job
        self._zygote = zygote
        self._parent = parent
        self._runner = Runner(job, zygote, parent, len(job["stages"]))
        self._right: list[Call] = []
        self._failure: str | None = None
        self._findings: list[str] = []
        self._recycle = False

    def run(self) -> dict[str, Any]:
        try:
            stages = {stage["name"]: self._stage(stage) for stage in self._job["stages"]}
        finally:
            self._runner.drop()
        performance = self._performance()
        if self._runner.note:
            self._findings.append(f"after the definition the code ended with {self._runner.note}")
        return {
            "stages": stages,
            "failure": self._failure,
            "findings": [show.line(finding) for finding in self._findings[:_MAX_FINDINGS]],
            "performance": performance,
            "recycle": self._recycle,
        }

    def _performance(self) -> float | None:
        """How fast the answer is on what it got right; None when that cannot be told."""
        reference, calls = self._job.get("reference"), self._right[:_MAX_TIMED]
        if not reference or not calls:
            return None
        return coding_speed.measured(self._job, reference, calls, self._zygote, self._parent)

    def _stage(self, stage: dict[str, Any]) -> tuple[int, int]:
        results = self._declared(stage)
        try:
            results += self._coded(stage, next((failure for failure in results if failure and failure.fatal), None))
        except _TestsTooSlow:
            if not self._job.get("careful"):  # it may have been the machine, and the second time will tell
                raise SandboxFault("the tests took too long") from None
            if not self._runner.asked:
                which = f"setup_code or test_code used {self._job['timeout_s']:g} s (timeout_s)"
                raise ValidationSpecError(f"{which} before it called {self._job['function']}") from None
            self._recycle = True
            self._runner.drop()
            failure = asserts.Failure("timeout", "the tests themselves took too long", fatal=True)
            results += [failure] * asserts.count(stage["code"], self._job["function"])
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

    # --- declared tests

    def _declared(self, stage: dict[str, Any]) -> list[asserts.Failure | None]:
        results: list[asserts.Failure | None] = []
        calls = [(wire.encode(test["args"]), wire.encode(test["kwargs"])) for test in stage["tests"]]
        self._runner.begin_stage(calls)
        for test, call in zip(stage["tests"], calls, strict=True):
            failure = self._one(test, call)
            results.append(failure)
            if failure is None and not stage["secret"]:
                self._right.append(call)
            if failure is not None and failure.fatal:
                return results + [failure] * (len(stage["tests"]) - len(results))
        return results

    def _one(self, test: dict[str, Any], call: Call) -> asserts.Failure | None:
        try:
            reply = _wanted(self._job, self._runner.call(*call), call[0])
        except CandidateFailed as exc:
            shown = show.call(self._job["function"], test["args"], test["kwargs"])
            return asserts.Failure(exc.word, f"{shown} {exc.text}".strip(), fatal=exc.word in _HOPELESS)
        if reply.word is None and compare.same(reply.value, test["expected"], self._job["mode"]):
            return None
        verb = "left" if self._job.get("compare") == "argument" else "returned"
        happened = (
            reply.text if reply.word else f"{verb} {show.value(reply.value)}, expected {show.value(test['expected'])}"
        )
        shown = show.call(self._job["function"], test["args"], test["kwargs"])
        return asserts.Failure(reply.word or "wrong_answer", f"{shown} {happened}")

    # --- test code

    def _coded(self, stage: dict[str, Any], fatal: asserts.Failure | None) -> list[asserts.Failure | None]:
        if not stage["code"]:
            return []
        function = self._job["function"]
        if stage["tests"]:
            self._runner.drop()
        self._runner.begin_stage(foresight.calls(stage["code"], self._job["setup"], function))
        try:
            is_async = fatal is None and self._runner.ready().is_async
        except CandidateFailed as exc:
            fatal = asserts.Failure(exc.word, exc.text, fatal=True)
        if fatal is not None:
            return [fatal] * asserts.count(stage["code"], function)
        tests = foresight.Tests(stage["code"], self._job["setup"], function, is_async)
        try:
            with _processor_limit(self._job["timeout_s"]):
                return foresight.run(tests, self._runner)
        finally:  # it may have run ahead of tests that failed, so whatever comes next starts from a fresh one
            self._runner.drop()


def _evaluated(job: dict[str, Any], zygote: WarmZygote, parent: socket.socket) -> dict[str, Any]:
    """What the code returns for each of the job's calls: ``(True, value)``, or ``(False, None)`` for a failure."""
    runner = Runner(job, zygote, parent, 1)
    try:
        return {"values": [_value(job, runner, args, kwargs) for args, kwargs in job["calls"]]}
    finally:
        runner.drop()


def _value(job: dict[str, Any], runner: Runner, args: Any, kwargs: Any) -> tuple[bool, Any]:
    runner.begin_stage()
    try:
        reply = runner.call(wire.encode(args), wire.encode(kwargs))
        reply = _wanted(job, reply, wire.encode(args))
    except CandidateFailed:
        return False, None
    return (True, reply.value) if reply.word is None else (False, None)


def _wanted(job: dict[str, Any], reply: Reply, args: Any) -> Reply:
    """The reply with the value that is compared: what was returned, or the first argument as it is after the call."""
    if job.get("compare") != "argument" or reply.word is not None:
        return reply
    given: tuple[list[Any], dict[str, Any]] = wire.decode(args), {}
    carry_out(given, reply)
    return reply._replace(value=given[0][0] if given[0] else None)


# Failures after which calling again would only cost the same time or fail in the same way.
_HOPELESS = frozenset(
    {"timeout", "syntax_error", "import_error", "missing_function", "cheating", "output_limit", "memory_limit"}
)


@contextlib.contextmanager
def _processor_limit(seconds: float) -> Iterator[None]:
    """Raise _TestsTooSlow, again and again, once this process itself has used ``seconds`` of processor time."""
    _heed_the_timer()
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@functools.cache
def _heed_the_timer() -> None:
    signal.signal(signal.SIGPROF, _expired)


def _expired(_number: int, _frame: types.FrameType | None) -> None:
    raise _TestsTooSlow
