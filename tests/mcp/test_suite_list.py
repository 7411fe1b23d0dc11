from __future__ import annotations

import json
from pathlib import Path

from tests.mcp.bench import Era, open_bench


async def test_suites_and_one_suites_tasks_are_listed(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        listed = await client.call("suite_list", limit=50)
        row = next(row for row in listed["suites"] if row["name"] == "sums")
        assert (row["title"], row["version"], row["tasks"]) == ("Sums", 1, 3)
        assert "tasks" not in listed
        one = await client.call("suite_list", suite="sums", limit=2)
        assert [task["id"] for task in one["tasks"]] == ["sums/double_1", "sums/double_2"]
        assert one["tasks"][0]["weight"] == 1.0
        assert "prompt" not in one["tasks"][0]
        rest = await client.call("suite_list", suite="sums", limit=2, cursor=one["next_cursor"], detail="detailed")
        assert rest["tasks"][0]["prompt"].startswith("What is 3 + 3?")


async def test_an_unknown_suite_is_told_with_the_nearest(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        assert "sums" in await client.refused("suite_list", suite="sum")


async def test_no_suite_shows_what_its_answers_are_graded_by(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        listed = await client.call("suite_list", limit=50)
        shown = [
            await client.call("suite_list", suite=row["name"], detail="detailed", limit=50) for row in listed["suites"]
        ]
    text = json.dumps(shown)
    for word in ("expected_answer", "reference_solution", "hidden", "base_tests", "VALIDATION"):
        assert word not in text


async def test_a_broken_task_file_is_told_with_file_and_line(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        (tmp_path / "tasks" / "sums" / "double_1.md").write_text("PROMPT:\n", encoding="utf-8")
        told = await client.refused("suite_list")
        assert "double_1.md:" in told
