"""Removing results is killed half way: what is left is whole, and can be removed."""

from __future__ import annotations

from pathlib import Path

from llmbench_mcp.store.clearing import PORTION
from tests.cli.support import finish, program, spawn
from tests.store.support import assert_totals_are_right, stores
from tests.store.test_clearing import make


async def test_a_kill_leaves_totals_right_and_the_rest_removable(tmp_path: Path) -> None:
    database = tmp_path / "llmbench.db"
    async with stores(database) as all_:
        run_id = await make(all_, (2, PORTION, "rwe", False))
    process = spawn(tmp_path, "results", "clear", run_id, "--yes")
    assert process.stderr is not None
    for line in process.stderr:
        if "removing:" in line:
            break
    process.kill()
    finish(process)
    assert_totals_are_right(database)
    assert process.returncode != 0, "it was quicker than the kill: make the run larger"
    left = program(tmp_path, "results", "clear", run_id, "--json").json["would_remove"]["attempts"]
    assert 0 < left < 2 * 4 * PORTION
    done = program(tmp_path, "results", "clear", run_id, "--yes", "--json")
    assert done.json["removed"]["attempts"] == left
    assert program(tmp_path, "run", "list", "--json").json["total"] == 0
