"""A validator that somebody else installed, through the doors every grading takes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from llmbench_validators import lines, registry

from llmbench_mcp.domain.chat import Completion
from llmbench_mcp.domain.errors import ValidatorFault
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.domain.task import Task
from llmbench_mcp.scoring.grader import Grader
from llmbench_mcp.store.attempts import AttemptFilter
from llmbench_mcp.testing.scripted import completion
from tests.support.rooms import assigned, opened, server
from tests.support.work import URL, finished, working

PLUG_IN = """
import sys
from llmbench_validators.types import Verdict

VERSION = "1"


def validate(spec, completion):
    verdict = {"passed": False, "score": 0.0, "confidence": "high", "validator": "moody", "version": VERSION}
    verdict["failure"] = "wrong_answer"
    how = completion.text
    if how == "raise":
        raise ZeroDivisionError("of the plug-in")
    if how == "value":
        raise ValueError("of the plug-in")
    if how == "recurse":
        return validate(spec, completion)
    if how == "exit":
        sys.exit(0)
    if how == "nothing":
        return None
    verdict.update(OTHERS.get(how, {}))
    return Verdict(**verdict)


OTHERS = {
    "high score": {"score": 5.0},
    "no number": {"score": float("nan")},
    "odd confidence": {"confidence": "sure"},
    "passed and failed": {"passed": True, "score": 1.0},
    "right": {"passed": True, "score": 1.0, "failure": None},
}
"""
CRASHES = [
    *("raise", "value", "recurse", "exit", "nothing"),
    *("high score", "no number", "odd confidence", "passed and failed"),
]
TASK = "PROMPT:\nSay {word}.\n\nVALIDATION:\n```yaml\ntype: moody\n```\n"


@pytest.fixture
def moody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The plug-in, installed as packages are: found by its entry point."""
    site = tmp_path / "site"
    about = site / "moody-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "moody_validator.py").write_text(PLUG_IN)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: moody\nVersion: 1.0\n")
    points = "moody = moody_validator:validate\nabsent = moody_absent:validate\n"
    (about / "entry_points.txt").write_text(f"[llmbench.validators]\n{points}")
    monkeypatch.syspath_prepend(str(site))
    registry._plug_ins.cache_clear()
    yield
    registry._plug_ins.cache_clear()
    sys.modules.pop("moody_validator", None)


@pytest.mark.usefixtures("moody")
@pytest.mark.parametrize("how", CRASHES)
async def test_a_crash_is_a_fault_of_the_validator_and_never_a_verdict(how: str) -> None:
    with pytest.raises(ValidatorFault, match="validator"):
        await Grader().grade(Task("own/q", "Say it.", {"type": "moody"}), Completion(how))


@pytest.mark.usefixtures("moody")
async def test_a_plug_in_that_cannot_be_imported_is_a_fault_too() -> None:
    with pytest.raises(ValidatorFault, match="moody_absent"):
        await Grader().grade(Task("own/q", "Say it.", {"type": "absent"}), Completion("right"))


@pytest.mark.usefixtures("moody")
def test_a_line_whose_validator_crashes_is_an_error_and_the_others_are_graded() -> None:
    given = [
        f'{{"id": "{how}", "validation": {{"type": "moody"}}, "completion": "{how}"}}' for how in [*CRASHES, "right"]
    ]
    *crashed, right = lines.grade_lines([line.encode() for line in given], jobs=2)

    assert [result["id"] for result in crashed] == CRASHES
    assert all("validator_error" in result["error"] and "passed" not in result for result in crashed)
    assert right["passed"] is True


@pytest.mark.usefixtures("moody")
@pytest.mark.timeout(120)
async def test_a_run_records_a_crash_as_validator_error_beside_the_verdicts(tmp_path: Path) -> None:
    root = tmp_path / "tasks" / "own"
    root.mkdir(parents=True)
    words = [*CRASHES, "right", "wrong"]
    for number, word in enumerate(words):
        (root / f"q{number}.md").write_text(TASK.format(word=word))
    listed = "".join(f"    - own/q{number}\n" for number in range(len(words)))
    head = "- name: moods\n  title: Moods\n  description: Own.\n  version: 1\n  tasks:\n"
    (tmp_path / "tasks" / "suites.yaml").write_text(head + listed)
    asked = server("m", answer=lambda request, times: completion(request.prompt.strip()[4:-1]))

    async with opened(tmp_path, {URL: asked}) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("moods",)))).run.id)
        records, _ = await app.runs.results(run.id, AttemptFilter(), 50)

    states = {record.task_id: (record.state, record.facts.get("failure")) for record in records}
    wanted = {f"own/q{number}": ("error", "validator_error") for number in range(len(CRASHES))}
    assert states == {
        **wanted,
        f"own/q{len(CRASHES)}": ("done", None),
        f"own/q{len(CRASHES) + 1}": ("done", "wrong_answer"),
    }
