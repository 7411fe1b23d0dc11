from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from llmbench_validators import sandbox

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.scoring.warmup import start_early
from tests.cli.conftest import Cli
from tests.cli.support import environment
from tests.unit.validators.code_support import needs_full_isolation

EXACT = {"type": "exact", "expected": "yes"}
OWN_TASK = """\
PROMPT:
List the steps of a release, briefly: tests come first.

VALIDATION:
```yaml
type: planning
rubric:
  - {criterion: Tests, keywords: [test]}
```
"""


def line(**fields: Any) -> str:
    return json.dumps({"validation": EXACT, "completion": "yes", **fields}) + "\n"


@pytest.fixture
def given(tmp_path: Path) -> Path:
    return tmp_path / "in.jsonl"


def results(text: str) -> list[dict[str, Any]]:
    return [json.loads(part) for part in text.splitlines()]


def test_every_line_gets_its_verdict_in_order(cli: Cli, given: Path) -> None:
    given.write_text(line(id="a", unknown=[1]) + "\n" + line(id="b", completion="no"))
    said = cli("score", str(given))
    assert said.code == exit_codes.OK
    first, second = results(said.out)
    assert (first["id"], first["passed"], first["score"], first["confidence"]) == ("a", True, 1.0, "high")
    assert (second["id"], second["passed"], second["failure"]) == ("b", False, "wrong_answer")
    keys = "id passed score confidence failure validator extractor subscores stages findings"
    assert list(first) == keys.split()
    assert said.err == ""


def test_a_line_that_cannot_be_read_is_named_and_the_rest_is_graded(cli: Cli, given: Path) -> None:
    given.write_text(line(id=1) + "{broken\n" + line(id=3, validation={"type": "exact"}) + line(id=4))
    said = cli("score", str(given), "--jobs", "3")
    assert said.code == exit_codes.FAILED
    one, two, three, four = results(said.out)
    assert (one["passed"], four["passed"]) == (True, True)
    assert two["id"] is None
    assert two["error"].startswith("line 2: ")
    assert three == {"id": 3, "error": "line 3: exact: expected is missing"}


def test_verdicts_go_to_the_output_file(cli: Cli, given: Path, tmp_path: Path) -> None:
    given.write_text(line(id=1))
    said = cli("score", str(given), "--output", str(tmp_path / "out.jsonl"))
    assert (said.code, said.out) == (exit_codes.OK, "")
    assert results((tmp_path / "out.jsonl").read_text())[0]["passed"]


def test_a_dash_reads_standard_input(data_dir: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "llmbench_mcp", "score", "-"],
        input=line(id=7),
        env=environment(data_dir),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (exit_codes.OK, "")
    assert results(done.stdout)[0]["id"] == 7
    assert not data_dir.exists()


def test_a_shipped_task_is_found_by_its_id(cli: Cli, given: Path) -> None:
    task = {"validation": None, "task": "reasoning/two_plus_two"}
    given.write_text(
        line(id=1, completion="The answer is 4.", **task) + line(id=2, completion="The answer is 5.", **task)
    )
    right, wrong = results(cli("score", str(given)).out)
    assert (right["passed"], wrong["passed"], right["validator"]) == (True, False, "reasoning")


@pytest.mark.parametrize("name", ["reasoning/two_plus_too", "nonsense", "hidden/coding", "../../etc/passwd", "a/b/c"])
def test_an_unknown_task_is_that_lines_error(cli: Cli, given: Path, name: str) -> None:
    given.write_text(line(id=1, validation=None, task=name))
    said = cli("score", str(given))
    assert said.code == exit_codes.FAILED
    assert results(said.out)[0]["error"].startswith("line 1: There is no task ")


def test_a_task_of_the_users_own_folder_is_graded_with_its_prompt(
    cli: Cli, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tasks" / "plans").mkdir(parents=True)
    (tmp_path / "tasks" / "plans" / "release.md").write_text(OWN_TASK)
    monkeypatch.setenv("LLMBENCH_TASKS_DIR", str(tmp_path / "tasks"))
    task = {"validation": None, "task": "plans/release"}
    echo = "List the steps of a release, briefly: tests come first."
    given.write_text(line(id=1, completion="First run every test.", **task) + line(id=2, completion=echo, **task))
    planned, echoed = results(cli("score", str(given)).out)
    assert (planned["passed"], echoed["passed"]) == (True, False)


@pytest.mark.parametrize(
    "argv",
    [
        ("score",),
        ("score", "none.jsonl"),
        ("score", "."),
        ("score", "-", "--jobs", "0"),
        ("score", "-", "--jobs", "many"),
        ("score", "{in}", "--output", "{in}"),
        ("score", "{in}", "--output", "no/such/folder/out.jsonl"),
        ("score", "{in}", "--frobnicate"),
    ],
)
def test_wrong_arguments_are_told_with_exit_code_2(cli: Cli, given: Path, argv: tuple[str, ...]) -> None:
    given.write_text(line(id=1))
    said = cli(*(word.replace("{in}", str(given)) for word in argv))
    assert (said.code, said.out) == (exit_codes.USAGE, "")
    assert len(said.err.splitlines()) == 2
    assert given.read_text() == line(id=1)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file that opens and cannot be read")
def test_a_file_that_opens_and_cannot_be_read_is_told(cli: Cli) -> None:
    said = cli("score", "/proc/self/mem")
    assert (said.code, said.out) == (exit_codes.FAILED, "")
    assert said.err.startswith("error: /proc/self/mem cannot be read on: ")


def test_nothing_in_gives_nothing_out(cli: Cli, given: Path) -> None:
    given.write_text("\n\n")
    said = cli("score", str(given))
    assert (said.code, said.out) == (exit_codes.OK, "")


def test_progress_is_shown_on_a_terminal_only(cli: Cli, given: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    given.write_text(line(id=1) + line(id=2, completion="no") + "{\n")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert len(results(cli("score", str(given)).out)) == 3
    assert terminal.getvalue().endswith("3 graded: 1 passed, 1 failed, 1 errors\n")


def test_a_verdict_is_out_before_the_next_line_is_in(data_dir: Path) -> None:
    command = [sys.executable, "-m", "llmbench_mcp", "score", "-", "--jobs", "1"]
    with subprocess.Popen(
        command, env=environment(data_dir), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            process.stdin.write(line(id=number))
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        process.stdin.close()
        assert process.wait(60) == exit_codes.OK


def test_an_interrupted_command_ends_quietly_though_its_input_is_open(data_dir: Path) -> None:
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "llmbench_mcp", "score", "-"]
    with subprocess.Popen(
        command, env=environment(data_dir), stdin=follower, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        os.write(leader, line(id=1).encode())
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(2)
        _, said = process.communicate(timeout=60)
    os.close(follower)
    os.close(leader)
    assert process.returncode == exit_codes.INTERRUPTED
    assert said == b""


ENDLESS = {"type": "coding", "function_name": "f", "base_tests": [{"args": [1], "expected": 1}], "timeout_s": 300}


@needs_full_isolation
def test_an_interrupted_command_leaves_no_process_though_code_is_running(data_dir: Path, tmp_path: Path) -> None:
    started = tmp_path / "tmp"
    started.mkdir()
    given = tmp_path / "in.jsonl"
    loop = "def f(x):\n    open('here', 'w').close()\n    while True: pass"
    given.write_text(line(id=1) + line(id=2, validation=ENDLESS, completion=loop) * 3)
    command = [sys.executable, "-m", "llmbench_mcp", "score", str(given), "--output", str(tmp_path / "out.jsonl")]
    environ = {**environment(data_dir), "TMPDIR": str(started)}
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE) as process:
        while not list(started.rglob("here")):
            os.sched_yield()
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(2)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (exit_codes.INTERRUPTED, b"")
    assert [result["id"] for result in results((tmp_path / "out.jsonl").read_text())] == [1]
    assert len(family) >= 3, "a checker, what it forks from, and the code"
    assert [member for member in family if member.is_running()] == []
    assert list(started.iterdir()) == []


def test_lines_without_code_start_no_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(sandbox, "prepare", lambda: asked.append(True))
    code, plain = tmp_path / "code.jsonl", tmp_path / "plain.jsonl"
    code.write_text(line(validation=ENDLESS))
    plain.write_text(line())
    start_early(["score", str(plain)])
    start_early(["run", str(code)])
    start_early(["score", str(tmp_path / "none")])
    assert asked == []
    start_early(["--json", "score", "--jobs", "2", str(code)])
    assert asked == [True]
