"""Results as files: what is in them, what never is, and that nothing half written stays."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from mcp.types import ResourceLink

from llmbench_mcp.testing.fake_server import Received
from tests.mcp.bench import Bench, BenchClient, Era, open_bench, right

EVIL = "=1+1 <script>alert(1)</script>"


def answers(request: Received) -> str | None:
    """Task 2 is answered with what a spreadsheet or browser would run."""
    return EVIL if request.prompt.startswith("What is 2 +") else right(request)


async def one_run(bench: Bench, client: BenchClient, *models: str, **more: Any) -> str:
    await client.set_up(bench.fake, *models)
    started = await client.call("run_start", models=list(models), suites=["sums"], **more)
    await client.finish(started["run_id"])
    return str(started["run_id"])


async def test_a_run_is_repeated_at_the_endpoint_as_it_is_called_now(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        run_id = await one_run(bench, client, "alpha", endpoint="fake")
        await client.call("endpoint_add", url=bench.fake.url, name="renamed")
        made = await client.call("results_export", run_ids=[run_id])
    manifest = json.loads(Path(made["path"]).read_text(encoding="utf-8"))["manifest"]
    assert "--endpoint renamed" in manifest["runs"][0]["repeat_with"]
    assert (manifest["runs"][0]["request"]["endpoint"], manifest["jobs"][0]["endpoint"]) == ("fake", "fake")


def rows_of(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


async def test_a_json_export_holds_every_attempt_and_how_to_repeat_it(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path, script=answers) as bench, bench.client(era) as client:
        run_id = await one_run(bench, client, "alpha", "beta", repeats=2, temperature=0.5)
        made = await client.call("results_export", run_ids=[run_id])
        file = Path(made["path"])
        document = json.loads(file.read_text(encoding="utf-8"))
        assert (made["rows"], made["size_bytes"]) == (12, file.stat().st_size)
    assert len(document["attempts"]) == 12
    assert file.parent == tmp_path / "data" / "exports"
    assert file.stat().st_mode & 0o777 == 0o600
    manifest, row = document["manifest"], document["attempts"][0]
    assert (row["model"], row["task"], row["passed"], row["temperature"], row["seed"]) == (
        "alpha",
        "sums/double_1",
        True,
        0.5,
        0,
    )
    assert manifest["runs"][0]["request"]["repeats"] == 2
    assert "--model alpha --model beta --suite sums" in manifest["runs"][0]["repeat_with"]
    assert "--temperature 0.5" in manifest["runs"][0]["repeat_with"]
    assert manifest["jobs"][0]["manifest"]["program_version"]
    assert manifest["jobs"][0]["device"] == "nvidia:0"
    assert [task["validator"] for task in manifest["tasks"]["sums"]] == 3 * ["reasoning"]
    assert "Wilson" in manifest["statistics"]["pass_rate_interval"]


async def test_the_result_links_to_the_file(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        run_id = await one_run(bench, client, "alpha")
        result = await client.result("results_export", {"run_ids": run_id, "format": "csv"})
    assert result.structured_content is not None
    link = result.content[1]
    assert isinstance(link, ResourceLink)
    assert (link.uri, link.mime_type) == (result.structured_content["uri"], "text/csv")
    assert link.uri == Path(result.structured_content["path"]).as_uri()


async def test_what_models_wrote_is_exported_only_when_asked_for_and_as_untrusted(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path, script=answers) as bench, bench.client(era) as client:
        run_id = await one_run(bench, client, "alpha")
        for kind in ("json", "csv"):
            made = await client.call("results_export", run_ids=[run_id], format=kind)
            assert "alert(1)" not in Path(made["path"]).read_text(encoding="utf-8")
        made = await client.call("results_export", run_ids=[run_id], include_completions=True)
        attempts = json.loads(Path(made["path"]).read_text(encoding="utf-8"))["attempts"]
        assert [one["untrusted_completion"] for one in attempts] == ["2", EVIL, "6"]
        told = await client.refused("results_export", run_ids=[run_id], format="html", include_completions=True)
        assert "csv" in told


async def test_no_cell_of_a_csv_file_is_a_formula(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path, script=answers) as bench, bench.client(era) as client:
        run_id = await one_run(bench, client, "alpha")
        made = await client.call("results_export", run_ids=[run_id], format="csv", include_completions=True)
    rows = rows_of(made["path"])
    assert [row["untrusted_completion"] for row in rows] == ["2", f"'{EVIL}", "6"]
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert [row["passed"] for row in rows] == ["true", "false", "true"]
    assert list(rows[0])[:3] == ["run_id", "job_id", "attempt_id"]
    manifest = json.loads(Path(made["manifest_path"]).read_text(encoding="utf-8"))
    assert list(manifest["columns"]) == list(rows[0])
    assert manifest["rows"] == 3


async def test_a_parquet_file_has_types_and_carries_its_manifest(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        run_id = await one_run(bench, client, "alpha")
        made = await client.call("results_export", run_ids=[run_id], format="parquet")
    table = pyarrow.parquet.read_table(made["path"])
    assert table.column("passed").to_pylist() == [True, True, True]
    assert str(table.schema.field("e2e_s").type) == "double"
    assert str(table.schema.field("top_p").type) == "double"  # though nothing is known of it
    manifest = json.loads(table.schema.metadata[b"llmbench_manifest"])
    assert manifest["runs"][0]["id"] == run_id


async def test_without_pyarrow_the_extra_is_named(tmp_path: Path, era: Era, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        run_id = await one_run(bench, client, "alpha")
        assert "llmbench-mcp[parquet]" in await client.refused("results_export", run_ids=[run_id], format="parquet")
    assert not (tmp_path / "data" / "exports").exists()


async def test_results_are_chosen_by_model_and_suite(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await one_run(bench, client, "alpha", "beta")
        one = await client.call("results_export", model="beta", suite="sums")
        everything = await client.call("results_export")
        assert (one["rows"], everything["rows"]) == (3, 6)
        assert "run_list" in await client.refused("results_export", model="gamma")
        assert "There is no run" in await client.refused("results_export", run_ids=["run_x"])


class Page(HTMLParser):
    """What a browser would make of a page: its text and its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


async def test_a_report_tells_of_every_model_what_went_right_and_wrong(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path, script=answers) as bench, bench.client(era) as client:
        run_id = await one_run(bench, client, "alpha", "beta", repeats=2)
        made = await client.call("results_export", run_ids=[run_id], format="html")
    text = Path(made["path"]).read_text(encoding="utf-8")
    page = Page(text)
    told = " ".join(page.words)
    for heading in ("Ranking on sums", "What went right", "What went wrong", "Recommended use", "Timings and device"):
        assert told.count(heading) >= 1, heading
    assert told.count("Recommended use") == 2
    assert "1-2" in told
    assert re.search(r"67% of 3 tasks passed, 95 % interval \d+% to \d+%", told)
    assert "script" not in page.elements
    assert re.search(r'content="default-src &#x27;none&#x27;; style-src &#x27;sha256-[^"]+"', text)
    assert "style=" not in text


async def test_names_from_outside_are_text_in_a_report(tmp_path: Path, era: Era) -> None:
    name = "<img src=x onerror=alert(1)>\u202e"
    async with open_bench(tmp_path, models=[name]) as bench, bench.client(era) as client:
        run_id = await one_run(bench, client, name)
        made = await client.call("results_export", run_ids=[run_id], format="html")
    text = Path(made["path"]).read_text(encoding="utf-8")
    assert "img" not in Page(text).elements
    assert "\\u202e" in text
    assert "\u202e" not in text


async def test_keys_known_by_then_are_taken_out(tmp_path: Path, era: Era, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-planted-4711-abcdef"
    async with open_bench(tmp_path, script=lambda request: f"The key is {key}") as bench, bench.client(era) as client:
        run_id = await one_run(bench, client, "alpha")
        monkeypatch.setenv("LLMBENCH_KEY_LATE", key)
        made = await client.call("results_export", run_ids=[run_id], include_completions=True)
        text = Path(made["path"]).read_text(encoding="utf-8")
        page = await (await bench.app()).reports.html(run_id)
    assert key not in text
    assert text.count("[redacted]") >= 3
    assert key not in page
