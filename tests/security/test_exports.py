"""What leaves this program as a file is data: to a spreadsheet, a browser, a shell and a table reader."""

from __future__ import annotations

import csv
import json
import os
import shlex
from pathlib import Path

import pyarrow.parquet

from llmbench_mcp.domain.results import Selected
from llmbench_mcp.testing.fake_server import Received
from tests.mcp.bench import Bench, BenchClient, open_bench

FORMULAS = (
    "=HYPERLINK(1)",
    "+1+1",
    "-1+1",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1+1",
    "＝1+1",  # noqa: RUF001 - full-width signs begin a formula, too
    "＋1",  # noqa: RUF001
    "－1",  # noqa: RUF001
    "＠A1",  # noqa: RUF001
    '"=1',
    "x\n=1+1",
    'x",=1+1,"',
    "x\x00y\x1b[31m",
    "| calc",
    "$(touch /tmp/x); `id` & rm -rf '",
)
BEGINS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001


def answers(request: Received) -> str:
    number = int(request.prompt.split()[2]) if request.prompt.startswith("What is") else 1
    return FORMULAS[(number + len(request.model)) % len(FORMULAS)]


async def benchmarked(bench: Bench, client: BenchClient) -> None:
    await client.set_up(bench.fake, *FORMULAS)
    started = await client.call("run_start", models=list(FORMULAS), suites=["sums"])
    assert (await client.finish(started["run_id"]))["errors"] == 0


async def test_no_cell_begins_a_formula_and_no_answer_makes_a_cell_or_a_row(tmp_path: Path) -> None:
    async with open_bench(tmp_path, models=FORMULAS, script=answers) as bench, bench.client("auto") as client:
        await benchmarked(bench, client)
        made = await client.call("results_export", format="csv", include_completions=True)
        text = Path(made["path"]).read_bytes().decode("utf-8")
        parquet = await client.call("results_export", format="parquet", include_completions=True)
        plain = await client.call("results_export", format="json", include_completions=True)
    rows = list(csv.reader(text.splitlines(keepends=True)))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert len(rows) == 1 + 3 * len(FORMULAS)
    assert [cell for row in rows for cell in row if cell.startswith(BEGINS)] == []
    assert not [char for char in text if ord(char) < 32 and char not in "\r\n\t"]
    # Programs read the same text, letter by letter.
    table = pyarrow.parquet.read_table(parquet["path"])
    assert set(table.column("model").to_pylist()) == set(FORMULAS)
    document = json.loads(Path(plain["path"]).read_text(encoding="utf-8"))
    assert {row["untrusted_completion"] for row in document["attempts"]} <= set(FORMULAS)
    for run in document["manifest"]["runs"]:
        words = shlex.split(run["repeat_with"])
        assert [words[at + 1] for at, word in enumerate(words) if word == "--model"] == list(FORMULAS)


async def test_a_file_is_its_owners_alone_and_no_link_is_followed(tmp_path: Path) -> None:
    async with open_bench(tmp_path) as bench, bench.client("auto") as client:
        await client.set_up(bench.fake, "alpha")
        started = await client.call("run_start", models=["alpha"], suites=["sums"])
        await client.finish(started["run_id"])
        made = [await client.call("results_export", format=kind) for kind in ("json", "csv", "html")]
        for one in made:
            for path in filter(None, (one["path"], one.get("manifest_path"))):
                assert os.stat(path).st_mode & 0o077 == 0, path
                assert Path(path).parent == tmp_path / "data" / "exports"
        assert (tmp_path / "data" / "exports").stat().st_mode & 0o077 == 0
        assert (tmp_path / "data").stat().st_mode & 0o077 == 0
        victim = tmp_path / "victim"
        victim.write_text("keep")
        app = await bench.app()
        target = tmp_path / "out.csv"
        target.symlink_to(victim)
        await app.exports.export(Selected((started["run_id"],), None, None), "csv", out=target)
        assert victim.read_text() == "keep"


async def test_an_agent_has_no_say_in_where_files_go(tmp_path: Path) -> None:
    async with open_bench(tmp_path) as bench, bench.client("auto") as client:
        for arguments in ({"out": "/tmp/x"}, {"path": "/tmp/x"}, {"folder": ".."}):
            assert "has no argument" in await client.refused("results_export", **arguments)
        await client.refused("results_export", run_ids=["../../etc/passwd"])
        for arguments in ({"suite": "../../etc"}, {"model": "../x"}, {"format": "../csv"}):
            await client.refused("results_export", **arguments)
        assert not (tmp_path / "data" / "exports").exists()
