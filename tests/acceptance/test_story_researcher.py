"""The researcher: public files imported and sampled, a sweep with repeats, a task mended, graded again, exported.

Once with small files of our own making, and once with the public files where they are present. What the model answers
is scripted: at temperature 0 it is the same at every repeat; above, some of five attempts at a task it knows are right.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from llmbench_mcp.catalog.imported import read_tasks
from llmbench_mcp.catalog.item import Answer
from llmbench_mcp.services.imports import ImportWish
from llmbench_mcp.testing.fake_server import Received, Scripted
from llmbench_mcp.testing.replies import chunk, streamed
from tests.cli.conftest import Cli
from tests.mcp.bench import BenchClient, open_bench
from tests.support.collected import COLLECTED, NOTICE
from tests.unit.imports.support import DOUBLE, asked, lines
from tests.unit.validators.code_support import needs_full_isolation

pytestmark = [needs_full_isolation, pytest.mark.timeout(240)]

TEMPERATURES = (0.0, 0.7, 1.0)
OF_FIVE = {0.0: 5, 0.7: 4, 1.0: 2}
"""By temperature, how many of five attempts at a task that it knows are right."""
SAMPLES = {"humaneval": 3, "gsm8k": 5, "bfcl": 5}
SEED = 17


def own_files(folder: Path) -> dict[str, Path]:
    """A dozen items in each format."""
    facts = [(f"{n} boxes hold {n + 2} pens each. How many pens?", n * (n + 2)) for n in range(3, 15)]
    truth = [{"weather.today": {"place": ["Lima"]}}]
    places = [asked(f"simple_python_{n}", f"The weather in Lima on day {n}?") for n in range(12)]
    answers = [{"id": place["id"], "ground_truth": truth} for place in places]
    functions = [
        {**DOUBLE, "task_id": f"HumanEval/{n}", "prompt": DOUBLE["prompt"].replace("Twice", f"({n}) Twice")}
        for n in range(12)
    ]
    lines(folder / "bfcl" / "BFCL_v4_simple_python.json", *places)
    lines(folder / "bfcl" / "possible_answer" / "BFCL_v4_simple_python.json", *answers)
    return {
        "humaneval": lines(folder / "HumanEval.jsonl", *functions),
        "gsm8k": lines(folder / "test.jsonl", *({"question": q, "answer": f"So.\n#### {a}"} for q, a in facts)),
        "bfcl": folder / "bfcl",
    }


def public_files(folder: Path) -> dict[str, Path]:
    """The files as they are published."""
    if not COLLECTED.is_dir():
        pytest.skip(NOTICE)
    return {name: COLLECTED / "data" / name for name in SAMPLES}


@dataclass(slots=True)
class Model:
    """What the model knows: an answer by prompt, of which some are forgotten; and how often each was asked."""

    answers: dict[str, Answer] = field(default_factory=dict)
    asked: Counter[tuple[str, float]] = field(default_factory=Counter)

    def learn(self, file: Path) -> None:
        self.answers |= {one.task.prompt: one.answer for one in read_tasks(file) if one.answer}

    def knows(self, prompt: str) -> bool:
        return zlib.crc32(prompt.encode()) % 3 > 0

    def __call__(self, request: Received) -> Scripted:
        answer = self.answers.get(request.prompt)
        if answer is None:
            return None
        temperature = float(request.body["temperature"])
        time = self.asked[request.prompt, temperature]
        self.asked[request.prompt, temperature] += 1
        if not self.knows(request.prompt) or time % 5 >= OF_FIVE[temperature]:
            return "I do not know that."
        if not answer.tool_calls:
            return answer.text
        calls = [
            {"index": n, "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])}}
            for n, call in enumerate(answer.tool_calls)
        ]
        return streamed([chunk(tool_calls=calls), chunk(finish="tool_calls"), b"data: [DONE]\n\n"])


def import_all(cli: Cli, files: dict[str, Path], folder: Path) -> dict[str, Any]:
    """The three sets, sampled, by the command line; what it said of each."""
    told = {}
    for name, count in SAMPLES.items():
        options = ("--sample", str(count), "--seed", str(SEED), "--data-dir", str(folder), "--json")
        told[name] = cli("suite", "import", name, str(files[name]), *options).json
    return told


@pytest.mark.parametrize("files_in", [own_files, public_files], ids=["own files", "public files"])
async def test_the_researcher_s_story(tmp_path: Path, cli: Cli, files_in: Callable[[Path], dict[str, Path]]) -> None:
    files = files_in(tmp_path / "files")
    model = Model()
    told = import_all(cli, files, tmp_path / "data")
    for name in SAMPLES:
        model.learn(tmp_path / "data" / "suites" / f"{name}.jsonl")

    async with open_bench(tmp_path, script=model, models=("alpha",)) as bench, bench.client("auto") as client:
        await client.set_up(bench.fake, "alpha")
        listed = {row["name"]: row for row in (await client.call("suite_list", limit=50))["suites"]}
        assert {name: listed[name]["tasks"] for name in SAMPLES} == SAMPLES
        assert (listed["gsm8k"]["licence"], listed["bfcl"]["licence"]) == ("MIT", "Apache-2.0")

        started = await client.call(
            "run_start",
            models=["alpha"],
            suites=list(SAMPLES),
            parameter_matrix={"temperature": list(TEMPERATURES)},
            repeats=5,
        )
        status = await client.finish(started["run_id"])
        assert (status["state"], status["done"]) == ("completed", 15 * sum(SAMPLES.values()))
        for suite in SAMPLES:
            await at_every_temperature(client, model, suite, tmp_path / "data" / "suites" / f"{suite}.jsonl")

        asked_before = len(bench.fake.prompts)
        mend_the_grading(tmp_path / "data" / "suites" / "gsm8k.jsonl")
        await client.call("run_retry", run_id=started["run_id"], what="regrade")
        assert (await client.finish(started["run_id"]))["state"] == "completed"
        assert len(bench.fake.prompts) == asked_before
        await nothing_right_is_left_of_the_mended(client)

        made = await client.call("results_export", run_ids=[started["run_id"]], format="parquet")
        table = pyarrow.parquet.read_table(made["path"])
        assert table.num_rows == made["rows"] == 15 * sum(SAMPLES.values())
        manifest = json.loads(Path(made["manifest_path"]).read_text(encoding="utf-8"))

    somebody_else_can_repeat_it(cli, manifest, files, (told, tmp_path / "elsewhere"))
    everything = Path(made["path"]).read_bytes() + json.dumps(manifest).encode()
    assert not [
        answer.text for answer in model.answers.values() if len(answer.text) > 30 and answer.text.encode() in everything
    ]


async def at_every_temperature(client: BenchClient, model: Model, suite: str, file: Path) -> None:
    """pass@1 and pass@5, each with its interval, are what the script makes them."""
    prompts = [one.task.prompt for one in read_tasks(file)]
    known = sum(map(model.knows, prompts)) / len(prompts)
    board = await client.call("leaderboard_query", suite=suite, detail="detailed")
    rows = {row["details"]["temperature"]: row for row in board["entries"]}
    assert set(rows) == set(TEMPERATURES)
    for temperature, row in rows.items():
        details = row["details"]
        low, high = details["pass_at_k_interval"]
        assert details["k"] == 5
        assert row["pass_rate"] == pytest.approx(known * OF_FIVE[temperature] / 5, abs=1e-3)
        assert row["interval_low"] <= row["pass_rate"] <= row["interval_high"]
        assert details["pass_at_k"] == pytest.approx(known, abs=1e-3)
        assert low <= details["pass_at_k"] <= high
        assert 0 < high - low < 1


def mend_the_grading(file: Path) -> None:
    """Another grading of the same questions."""
    head, *rest = file.read_text(encoding="utf-8").splitlines()
    tasks = [json.loads(line) for line in rest]
    for task in tasks:
        task["validation"] = {"type": "exact", "expected": "nothing that was said"}
    file.write_text("\n".join([head, *map(json.dumps, tasks)]) + "\n", encoding="utf-8")


async def nothing_right_is_left_of_the_mended(client: BenchClient) -> None:
    board = await client.call("leaderboard_query", suite="gsm8k")
    assert {row["pass_rate"] for row in board["entries"]} == {0.0}


def somebody_else_can_repeat_it(
    cli: Cli, manifest: dict[str, Any], files: dict[str, Path], there: tuple[dict[str, Any], Path]
) -> None:
    """The manifest names the files by their hashes and how the sample was drawn: the same tasks come out elsewhere."""
    told, folder = there
    (run,) = manifest["runs"]
    assert "--repeats 5" in run["repeat_with"]
    assert "temperature=0.0,0.7,1.0" in run["repeat_with"]
    origins = {job["suite"]: job["manifest"]["suite_origin"] for job in manifest["jobs"]}
    again = import_all(cli, files, folder)
    for name, origin in origins.items():
        wish = ImportWish(origin["importer"], str(files[name]), sample=origin["sample"]["size"], seed=SEED)
        assert (wish.sample, origin["sample"]["seed"], origin["licence"]) == (
            SAMPLES[name],
            SEED,
            told[name]["licence"],
        )
        assert again[name]["origin"]["sources_sha256"] == origin["sources_sha256"]
        hashes = {one.task.id: one.task.content_hash() for one in read_tasks(folder / "suites" / f"{name}.jsonl")}
        ran = {task["task_id"]: task["task_hash"] for task in manifest["tasks"][name]}
        assert hashes.keys() == ran.keys()
        assert name == "gsm8k" or hashes == ran
