"""Runs made of plain plans, and attempts ended as the executor ends them."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llmbench_mcp.domain.attempt import AttemptOutcome, Grade, PlannedAttempt, Where
from llmbench_mcp.domain.chat import Completion, Sampling, Timing, Usage
from llmbench_mcp.domain.ids import new_id
from llmbench_mcp.domain.run import PlannedJob, RunPlan, RunRequest
from llmbench_mcp.domain.task import Task
from llmbench_mcp.store.database import Database, open_database
from llmbench_mcp.store.leases import LeaseStore
from llmbench_mcp.store.regrading import RegradeStore
from llmbench_mcp.store.retries import RetryStore
from llmbench_mcp.store.runs import RunStore
from llmbench_mcp.store.work import WorkStore
from llmbench_mcp.testing.clocks import FastClock

WHERE = Where("host", "boot", "cpu", "exec_test")
OLD_DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Stores:
    """One database and what is done with it; the lease is held."""

    database: Database
    runs: RunStore
    work: WorkStore
    retries: RetryStore
    regrades: RegradeStore


@asynccontextmanager
async def stores(path: Path) -> AsyncIterator[Stores]:
    """All on the database at ``path``."""
    clock = FastClock()
    async with open_database(path) as database:
        lease = await LeaseStore(database, clock).acquire("executor", 1e6)
        assert lease is not None
        work, regrades = WorkStore(database, clock, lease), RegradeStore(database, clock, lease)
        yield Stores(database, RunStore(database, clock), work, RetryStore(database, clock), regrades)


def tasks(count: int) -> tuple[Task, ...]:
    return tuple(Task(f"own/q{n}", f"Question {n}", {"type": "reasoning", "expected_answer": n}) for n in range(count))


async def make_run(runs: RunStore, models: int = 1, asked: Sequence[Task] = tasks(3), repeats: int = 1) -> str:
    """A run of one suite; the models are the same in every run."""
    jobs = [
        PlannedJob(
            new_id("job"), f"model_{n}", "ep_1", "own", Sampling(), {"model_digest": f"sha256:{n}"}, tuple(asked)
        )
        for n in range(models)
    ]
    request = RunRequest(tuple(f"m{n}" for n in range(models)), ("own",), repeats=repeats)
    labels = {job.id: (f"m{n}", "box", "cpu") for n, job in enumerate(jobs)}
    served = {job.id: labels[job.id][0] for job in jobs}
    return await runs.create(RunPlan(new_id("run"), request, tuple(jobs)), served, labels)


def answer(text: str = "42", tokens: int | None = 20) -> Completion:
    usage = None if tokens is None else Usage(10, tokens)
    return Completion(text, finish_reason="stop", usage=usage, timing=Timing(0.5, 0.5, 2.0, (), 32.0))


def grade(passed: bool = True, version: str = "1", score: float | None = None) -> Grade:
    failure = None if passed else "wrong_answer"
    return Grade(passed, float(passed) if score is None else score, "high", "reasoning", version, failure)


def graded(attempt: PlannedAttempt, verdict: Grade, completion: Completion | None = None) -> AttemptOutcome:
    return AttemptOutcome(attempt, WHERE, completion or answer(), verdict)


def failed(attempt: PlannedAttempt, word: str, completion: Completion | None = None) -> AttemptOutcome:
    return AttemptOutcome(attempt, WHERE, completion, failure=word, message=word)


_ENDED = "a.state in ('done', 'error', 'regrade')"
_JOBS = f"""
select j.id,
       (select count(*) from attempts a where a.job_id = j.id and a.counted = 1 and {_ENDED} and passed is not null),
       (select count(*) from attempts a where a.job_id = j.id and a.counted = 1 and {_ENDED} and passed is null),
       (select count(*) from attempts a where a.job_id = j.id and a.counted = 1 and {_ENDED} and passed = 1),
       (select coalesce(sum(coalesce(prompt_tokens, 0) + coalesce(completion_tokens, 0)), 0)
        from attempts a where a.job_id = j.id and {_ENDED}),
       (select round(coalesce(sum(e2e_s), 0), 6) from attempts a where a.job_id = j.id and {_ENDED}),
       (select count(e2e_s) from attempts a where a.job_id = j.id and {_ENDED})
from jobs j order by j.id
"""
_FORM = "a.passed is not null and a.failure = 'format'"
_SCORES = f"""
select j.suite, j.identity_key, j.sampling_key, j.endpoint_id, a.task_id, a.task_hash,
       coalesce(a.validator_version, '') as version,
       sum(a.passed is not null), sum(a.passed is null), sum(coalesce(a.passed, 0)),
       round(sum(case when a.passed is null then 0 else a.score end), 6),
       round(coalesce(sum(a.decode_tps), 0), 6), count(a.decode_tps),
       round(coalesce(sum(a.e2e_s), 0), 6), count(a.e2e_s),
       sum(coalesce(a.completion_tokens, 0)), sum(coalesce({_FORM}, 0)),
       round(sum(case when {_FORM} then a.score else 0 end), 6)
from attempts a join jobs j on j.id = a.job_id
where a.counted = 1 and {_ENDED}
group by 1, 2, 3, 4, 5, 6, version order by 1, 2, 3, 4, 5, 6, 7
"""
_KEPT: Mapping[str, str] = {
    "jobs": "select id, done, errors, passed, tokens, round(seconds, 6), timed from jobs order by id",
    "failures": "select job_id, failure, n from job_failures where n <> 0 order by 1, 2",
    "scores": "select suite, identity_key, sampling_key, endpoint_id, task_id, task_hash, validator_version, graded,"
    " errors, passed, round(score_sum, 6), round(decode_sum, 6), decode_n, round(e2e_sum, 6), e2e_n, tokens, non_logic,"
    " round(non_logic_score, 6)"
    " from scores where graded <> 0 or errors <> 0 order by 1, 2, 3, 4, 5, 6, 7",
}
_COUNTED: Mapping[str, str] = {
    "jobs": _JOBS,
    "failures": "select job_id, failure, count(*) from attempts a"
    f" where counted = 1 and failure is not null and {_ENDED} group by 1, 2 order by 1, 2",
    "scores": _SCORES,
}


def assert_totals_are_right(path: Path) -> None:
    """What was kept while working equals what counting finds."""
    with closing(sqlite3.connect(path)) as plain:
        for name, kept in _KEPT.items():
            assert _rows(plain, kept) == _rows(plain, _COUNTED[name]), name


def _rows(plain: sqlite3.Connection, sql: str) -> list[Any]:
    return plain.execute(sql).fetchall()


def old_database(path: Path, old: Path) -> None:
    """A database as an older program left it."""
    with closing(sqlite3.connect(path)) as plain:
        plain.executescript(old.read_text(encoding="utf-8"))
