"""Running tests and probes over a project of files: each in a process and folder of its own.

What a process says counts only with the nonce it was given, and a test run only when it names exactly the tests
the test file is known to hold.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from llmbench_validators import child_code, clock, project_tests, sandbox, show

TRUST = "trust: weak (the tests ran in the same process as the answer)"
_START_S, _OVERHEAD_S = 2.0 + clock.STRETCH * child_code.LOAD_S, 60.0
WORDS = frozenset(
    {
        *("wrong_answer", "runtime_error", "timeout", "memory_limit", "cheating", "blocked", "output_limit"),
        *("syntax_error", "import_error", "missing_function", "format"),
    }
)
_MAX_SHOWN = 5
_CHILD_MODULES = ("project_guard", "project_child")
_BATCH = 8
"""Works a job may hold: enough to save exchanges, few enough for each to have room in the outcome."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one process: seconds of wall time and MiB beyond the interpreter's own size.

    After ``patience`` timeouts the rest of a run is not tried and counts as timed out too.
    """

    timeout_s: float
    memory_mb: int
    patience: int = 3


@dataclass(frozen=True, slots=True)
class Work:
    """One module to run over ``files`` (the answer's view of the project) and ``held`` (the task's own files).

    ``own`` are the paths the task itself knows: of other names, the standard library's module is meant.
    ``stop`` ends a test run at the first failure.
    """

    kind: Literal["tests", "probe"]
    path: str
    code: str
    files: Mapping[str, str]
    held: Mapping[str, str]
    own: tuple[str, ...] = ()
    stop: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """``body`` is what the process reported, empty when ``word`` says why it did not."""

    body: Mapping[str, Any]
    word: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A test run: how many of its tests passed, the first failure's word, and what to tell."""

    passed: int
    total: int
    failure: str | None
    findings: tuple[str, ...]


def run(works: Sequence[Work], limits: Limits) -> tuple[list[Reply], str]:
    """Run each of ``works``; returns the replies in order and the isolation level. Raises as ``sandbox.run``."""
    replies: list[Reply] = []
    level = ""
    for start in range(0, len(works), _BATCH):
        patience = limits.patience - sum(reply.word == "timeout" for reply in replies)
        some, level = _batch(works[start : start + _BATCH], replace(limits, patience=patience))
        replies += some
    return replies, level


def _batch(works: Sequence[Work], limits: Limits) -> tuple[list[Reply], str]:
    nonces = [secrets.token_hex(16) for _ in works]
    job = {
        "code": child_code.assembled(*_CHILD_MODULES),
        "function": "run",
        "imports": [],
        "timeout_s": limits.timeout_s,
        "memory_mb": limits.memory_mb,
        "patience": limits.patience,
        "load_s": child_code.LOAD_S,
        "replies": [[[_request(work, nonce)], {}] for work, nonce in zip(works, nonces, strict=True)],
    }
    seconds = len(works) * (limits.timeout_s * clock.STRETCH + _START_S) + _OVERHEAD_S
    outcome, level = sandbox.run(job, seconds)
    return [read_reply(raw, nonce) for raw, nonce in zip(outcome["replies"], nonces, strict=True)], level


def _request(work: Work, nonce: str) -> dict[str, Any]:
    return {
        "nonce": nonce,
        "kind": work.kind,
        "files": dict(work.files),
        "held": dict(work.held),
        "path": work.path,
        "code": work.code,
        "preload": list(project_tests.imported(work.code, (*work.own, *work.held))),
        "stop": work.stop,
    }


def read_reply(raw: Sequence[Any], nonce: str) -> Reply:
    """What a process that was given ``nonce`` told, as the sandbox hands it over: word, text and value."""
    word, text, value = raw
    if word is not None:
        return Reply({}, word if word in WORDS else "runtime_error", text)
    if not isinstance(value, dict) or value.get("nonce") != nonce:
        return Reply({}, "cheating", "wrote to the result channel")
    if tampered := value.get("tampered"):
        return Reply({}, "cheating", f"{tampered[0]} while the tests ran")
    return Reply(value)


def report(work: Work, reply: Reply) -> Report:
    """What a test run came to."""
    known = project_tests.known(work.code)
    total = max(1, len(known.names))
    if reply.word is not None:
        return Report(0, total, reply.word, (show.line(f"{work.path}: {reply.text or reply.word}"),))
    return _counted(work, known, {str(name): (word, str(text)) for name, word, text in reply.body["results"]})


def _counted(work: Work, known: project_tests.Known, told: Mapping[str, tuple[Any, str]]) -> Report:
    skipped = {name for name, (word, _) in told.items() if word == "skipped"}
    wanted = known.names - skipped
    failed = {name: entry for name, entry in told.items() if entry[0] is not None and name not in skipped}
    extra = told.keys() - known.names
    if not known.exact:
        wanted |= extra - skipped
    passed = sum(name in told and name not in failed for name in wanted)
    findings = [show.line(f"{work.path}: {name}: {text}") for name, (_, text) in list(failed.items())[:_MAX_SHOWN]]
    missing = wanted - told.keys()
    forged = known.exact and not failed and bool(extra)
    if missing or forged:
        findings.append(show.line(f"{work.path}: {len(told)} tests were reported, {len(known.names)} are known"))
    word = next((str(entry[0]) for entry in failed.values()), "cheating" if missing or forged else None)
    if forged or (failed and passed == len(wanted)):
        passed = 0
    if word is not None and word not in WORDS:
        word = "runtime_error"
    return Report(passed, max(1, len(wanted)), word, tuple(findings))
