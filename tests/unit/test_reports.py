"""Reports and exports in the small: advice by rule, pillars, escaping, whole files."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llmbench_mcp.domain.chat import Sampling
from llmbench_mcp.domain.errors import StorageError
from llmbench_mcp.domain.leaderboard import Row, TaskResult, rank
from llmbench_mcp.services.advice import advice
from llmbench_mcp.services.export_manifest import repeat_with
from llmbench_mcp.services.export_writers import cell
from llmbench_mcp.services.html import el
from llmbench_mcp.services.report_data import Area, ModelPart, Part, Portion, RunPart
from llmbench_mcp.services.report_page import report
from llmbench_mcp.store.export_files import WholeFile
from llmbench_mcp.store.exports import JobFindings, SelectedJob

MANIFEST = {"sampling": Sampling().as_dict(), "backend": "ollama", "server_version": "0.12"}


def job(**facts: Any) -> SelectedJob:
    plain: dict[str, Any] = dict.fromkeys(SelectedJob.__dataclass_fields__, None)
    counts = {"planned": 20, "done": 20, "errors": 0, "passed": 18, "tokens": 1}
    names = {
        "id": "job_1",
        "run_id": "run_1",
        "model": "m",
        "endpoint": "box",
        "device": "cpu",
        "suite": "s",
        "key": "k",
    }
    return SelectedJob(**{**plain, **counts, **names, "sampling": Sampling(), "manifest": MANIFEST, **facts})


def portion(passed: int, *, failures: dict[str, int] | None = None, speed: float = 30.0) -> Portion:
    tasks = tuple(TaskResult(f"coding/t{n}", 1, 0, float(n < passed), float(n < passed), decode_tps=speed, ttft_s=0.5)
                  for n in range(20))  # fmt: skip
    (entry,) = rank([Row("k", "m", "box", "cpu", "s", MANIFEST, 1, tasks)], 20)
    rows = [{"task_id": t.task_id, "graded": 1, "passed": t.passed, "score": t.score} for t in tasks]
    area = Area("coding", 20, passed / 20, entry.interval)
    return Portion(job(passed=passed), entry, JobFindings(rows, failures or {}, [], []), (), (area,))


@pytest.mark.parametrize(
    ("passed", "said"),
    [
        (20, "Recommended for coding: 100%"),
        (2, "Not recommended for coding"),
        (11, "Open whether to use it for coding"),
    ],
)
def test_a_model_is_recommended_only_where_the_interval_says_so(passed: int, said: str) -> None:
    assert advice(ModelPart("m", "box", (portion(passed),)))[0].startswith(said)


def test_advice_tells_speed_and_what_failures_mean() -> None:
    told = advice(ModelPart("m", "box", (portion(10, failures={"budget_exhausted": 6, "loop": 1, "auth": 2}),)))
    assert any("Quick enough to talk with: 30 tokens/s" in sentence for sentence in told)
    assert any(sentence.startswith("6 of 20 answers were cut off at their token budget") for sentence in told)
    assert not any("circles" in sentence for sentence in told)
    assert any("2 of 20 attempts have no verdict" in sentence for sentence in told)
    slow = advice(ModelPart("m", "box", (portion(10, speed=3.0),)))
    assert any("nobody waits for" in sentence for sentence in slow)


def test_the_pillars_of_an_exam_stand_first() -> None:
    pillars = tuple(Part("exam", f"pillar_{n}", 4.0 * n, 20, 6) for n in range(1, 6))
    whole = portion(12)
    shown = Portion(whole.job, whole.entry, whole.findings, pillars, whole.areas)
    run = RunPart({"id": "run_1", "state": "completed"}, {"s": [whole.entry] if whole.entry else []},
                  (ModelPart("m", "box", (shown,)),))  # fmt: skip
    text = report([run], {"exported_at": "now"}, lambda value: value)
    assert text.index("Pillars") < text.index("What went right")
    assert '<meter min="0" max="20" value="8.0"></meter> 8 of 20' in text


def test_a_part_that_is_best_at_zero_says_so() -> None:
    parts = (Part("coding", "hardcoding", 0.0025, 1, 8), Part("coding", "correctness", 0.5, 1, 8))
    run = RunPart({"id": "run_1"}, {}, (ModelPart("m", "box", (replace(portion(12), parts=parts),)),))
    text = report([run], {"exported_at": "now"}, str)
    assert 'optimum="0"></meter> 0.00 (0 is best)' in text
    assert 'value="0.5"></meter> 0.5 of 1' in text


def test_counts_of_one_are_worded_and_no_interval_is_made_of_nothing() -> None:
    wrong = [{"number": 1, "task_id": "coding/t", "failure": "wrong_answer", "message": "no"}]
    findings = JobFindings([], {"wrong_answer": 1}, wrong, [])
    broken = Row("k", "m", "box", "cpu", "s", MANIFEST, 1, (TaskResult("coding/t", 0, 1, 0.0, 0.0),))
    models = (ModelPart("m", "box", (replace(portion(0), findings=findings),)),)
    text = report([RunPart({"id": "run_1"}, {"s": rank([broken], 1)}, models)], {"exported_at": "now"}, str)
    assert "1 wrong answer<" in text
    assert "0% to 100%" not in text


def test_text_can_be_no_markup() -> None:
    assert el("p", "<b>&", title='"x') == '<p title="&quot;x">&lt;b&gt;&amp;</p>'
    assert "\u202e" not in el("p", "\u202e")


@pytest.mark.parametrize(
    ("value", "shown"),
    [("=1", "'=1"), ("@a", "'@a"), ("-1", "'-1"), (-1, "-1"), ("\tx", "'\tx"), ("a=1", "a=1"), (None, ""),
     (True, "true"), ("\x1b[31m", "\\x1b[31m"), ("\r=1", "'\\x0d=1"), ("", "")],
)  # fmt: skip
def test_a_cell_is_what_it_says_and_nothing_more(value: Any, shown: str) -> None:
    assert cell(value) == shown


def test_the_command_that_repeats_a_run_asks_the_same() -> None:
    sampling = {"temperature": None, "seed": 0}
    request: dict[str, Any] = {"models": ["a b"], "suites": ["s"], "endpoint": None, "repeats": 2, "sampling": sampling}
    told = repeat_with({**request, "matrix": {"top_p": [0.5, None]}})
    assert told == (
        "llmbench-mcp run start --model 'a b' --suite s --repeats 2 --seed 0 "
        "--param temperature=default --param top_p=0.5,default"
    )
    assert repeat_with({**request, "custom_tasks": [["custom/1", "hash"]]}) is None


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    target = tmp_path / "deep" / "a.csv"
    whole = WholeFile(target)
    whole.open().write(b"half")
    with pytest.raises(StorageError, match="No space left.*Free space"):
        whole.commit()
    whole.discard()
    assert list(target.parent.iterdir()) == []


def test_a_file_that_was_there_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    target.write_bytes(b"old")
    whole = WholeFile(target)
    whole.open().write(b"new")
    assert target.read_bytes() == b"old"
    assert whole.commit() == 3
    whole.discard()
    assert target.read_bytes() == b"new"
