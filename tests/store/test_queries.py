"""The SQL itself: hot queries go by an index, and nothing is SQLite's alone."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from llmbench_mcp.store.migrate import migrate, migrations
from llmbench_mcp.store.sql import named_queries

HOT = {
    "attempts_pending": "attempts_waiting",
    "attempt_claim": "sqlite_autoindex_attempts_1",
    "attempt_grading": "sqlite_autoindex_attempts_1",
    "attempt_finish": "sqlite_autoindex_attempts_1",
    "attempt_measured": "sqlite_autoindex_attempts_1",
    "score_tally": "sqlite_autoindex_attempts_1",
    "attempts_page": "attempts_run",
    "attempts_count": "attempts_run",
    "attempts_page_failed": "attempts_failed",
    "attempts_count_failed": "attempts_failed",
    "attempts_page_of_jobs": "sqlite_autoindex_attempts_2",
    "attempts_count_of_jobs": "sqlite_autoindex_attempts_2",
    "attempt_by_number": "attempts_run",
    "attempts_open_of_job": "sqlite_autoindex_attempts_2",
    "attempts_fail_pending": "sqlite_autoindex_attempts_2",
    "attempts_interrupt": "attempts_in_flight",
    "attempts_reset": "sqlite_autoindex_attempts_2",
    "run_in_flight": "attempts_in_flight",
    "run_cancel_pending_attempts": "attempts_run",
    "run_jobs": "jobs_run",
    "run_totals": "jobs_run",
    "run_failures": "jobs_run",
    "run_use": "jobs_run",
    "runs_page": "runs_created",
    "runs_unfinished": "runs_open",
    "runs_unfinished_ids": "runs_open",
    "run_cancel_requests": "runs_open",
    "jobs_open": "jobs_open",
    "history_paces": "jobs_model",
    "run_open_work": "jobs_run",
    "run_past_paces": "jobs_suite",
    "run_kept_waiting_by": "jobs_open",
    "leaderboard_tasks": "sqlite_autoindex_scores_1",
    "leaderboard_runs": "jobs_suite",
    "regrade_next": "attempts_regrade",
    "regrade_left": "attempts_regrade",
    "retry_errors": "attempts_failed",
    "retry_failures": "attempts_run",
    "metrics_runs": "runs_open",
    "metrics_in_flight": "attempts_in_flight",
    "metrics_jobs": "jobs_run",
    "metrics_failures": "jobs_run",
    "metrics_speeds": "sqlite_autoindex_scores_1",
    "metrics_job_speeds": "sqlite_autoindex_attempts_2",
    "selected_extent": "sqlite_autoindex_attempts_2",
    "selected_jobs_of_run": "jobs_run",
    "export_attempts": "sqlite_autoindex_attempts_2",
    "export_answers": "sqlite_autoindex_attempts_2",
    "clear_portion": "sqlite_autoindex_attempts_2",
    "clear_score_refresh": "jobs_suite",
    "runs_listed": "runs_created",
    "run_mark": "events_run",
}
"""By query that is asked often or of much, the index that it must go by."""

LARGE = ("attempts", "completions", "events", "scores")

NOT_PORTABLE = re.compile(
    r"\b(insert or|replace into|rowid|ifnull|strftime|datetime\(|julianday|glob|autoincrement|iif\(|group_concat"
    r"|printf\(|instr\(|total\(|typeof\(|randomblob|json_extract|match|regexp|collate nocase|pragma|attach|vacuum"
    r"|isnull|notnull)\b|==|\blimit\s+[^\s,]+\s*,|\bmax\([^()]*,|\bmin\([^()]*,|`|\[\w+\]",
    re.IGNORECASE,
)
"""Words that SQLite knows and PostgreSQL does not, or means otherwise."""


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "llmbench.db", isolation_level=None)) as connection:
        migrate(connection, tmp_path / "llmbench.db")
        yield connection


def plan(plain: sqlite3.Connection, sql: str) -> list[str]:
    numbers = [int(number) for number in re.findall(r"\?(\d+)", sql)]
    return [row[3] for row in plain.execute(f"explain query plan {sql}", [None] * max(numbers, default=0))]


@pytest.mark.parametrize(("query", "index"), HOT.items(), ids=list(HOT))
def test_a_query_that_is_asked_often_goes_by_its_index(plain: sqlite3.Connection, query: str, index: str) -> None:
    steps = plan(plain, named_queries()[query])
    assert [step for step in steps if re.search(rf"INDEX {index}\b", step)], steps


def test_no_query_reads_a_large_table_from_end_to_end(plain: sqlite3.Connection) -> None:
    aliases = {"a": "attempts", "b": "attempts", "c": "completions", "s": "scores"}
    found = []
    for name, sql in named_queries().items():
        for step in plan(plain, sql):
            scanned = re.match(r"SCAN (\w+)(?! USING (COVERING )?INDEX attempts_(in_flight|regrade))", step)
            if scanned and aliases.get(scanned[1], scanned[1]) in LARGE and name not in ("scores_tidy", "regrade_next"):
                found.append((name, step))
    assert found == []


@pytest.mark.parametrize("name", sorted(named_queries()))
def test_a_query_is_written_in_what_sqlite_and_postgresql_share(name: str) -> None:
    assert NOT_PORTABLE.findall(named_queries()[name]) == []


@pytest.mark.parametrize("step", migrations(), ids=lambda step: f"{step[0]:04}")
def test_a_migration_is_written_in_what_sqlite_and_postgresql_share(step: tuple[int, str, str]) -> None:
    sql = "\n".join(line for line in step[2].splitlines() if not line.startswith("--"))
    assert NOT_PORTABLE.findall(sql) == []


def test_the_check_for_words_of_one_dialect_finds_them() -> None:
    for sql in ("insert or ignore into a", "select max(a, b)", "select rowid", "limit 1, 2", "select ifnull(a, b)"):
        assert NOT_PORTABLE.search(sql), sql
    assert not NOT_PORTABLE.search("select max(a), coalesce(min(b), 0) from t where c is null limit $1 offset $2")
