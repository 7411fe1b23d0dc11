"""Grading as root and as an ordinary account: the same verdicts, the same isolation, nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from llmbench_validators import lines, registry

from tests.support.collected import COLLECTED, NOTICE

from . import test_order
from .code_support import needs_full_isolation
from .test_collected_scores import right
from .test_sandbox import FORBIDDEN

ACCOUNT = 1234
SOURCE = Path(registry.__file__).parent
SHOW_LEVEL = "import json; from llmbench_validators import registry; print(json.dumps(registry.isolation_report()))"
NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 11))"

pytestmark = [needs_full_isolation, pytest.mark.timeout(900)]


@dataclass
class Account:
    """An ordinary account with a copy of the package, an interpreter and a folder for temporary files."""

    home: Path
    python: str

    def run(self, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        environment = {"PYTHONPATH": str(self.home), "TMPDIR": str(self.home / "tmp"), "PATH": "/usr/bin:/bin"}
        environment |= {"OPENAI_API_KEY": "sk-canary", "BENCH_SECRET": "canary", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [self.python, *arguments]
        return subprocess.run(command, input=given, capture_output=True, env=environment, cwd="/", **as_account())

    def graded(self, given: list[bytes]) -> list[bytes]:
        done = self.run("-m", "llmbench_validators", "--jobs", "2", given=b"\n".join(given))
        assert done.stderr == b""
        return done.stdout.splitlines()


def as_account() -> dict[str, Any]:
    """Arguments of subprocess.run that leave root behind; none where the tests run as an ordinary account."""
    return {"user": ACCOUNT, "group": ACCOUNT, "extra_groups": []} if os.geteuid() == 0 else {}


@pytest.fixture(scope="module")
def account() -> Iterator[Account]:
    home = Path(tempfile.mkdtemp())
    home.chmod(0o755)
    (home / "tmp").mkdir()
    if os.geteuid() == 0:
        os.chown(home / "tmp", ACCOUNT, ACCOUNT)
    shutil.copytree(SOURCE, home / SOURCE.name, ignore=shutil.ignore_patterns("__pycache__"))
    yield Account(home, interpreter())
    shutil.rmtree(home)


def interpreter() -> str:
    """A Python that the account may execute: a virtual environment below root's home is none."""
    found = [sys.executable, os.path.realpath(sys.executable), "/usr/bin/python3", "/usr/local/bin/python3"]
    for python in filter(os.path.exists, found):
        try:
            if subprocess.run([python, "-c", NEW_ENOUGH], check=False, cwd="/", **as_account()).returncode == 0:
                return python
        except PermissionError:
            continue
    pytest.skip(f"no Python 3.11 here that account {ACCOUNT} may execute")


def test_an_ordinary_account_reaches_the_same_isolation(account: Account) -> None:
    report = json.loads(account.run("-c", SHOW_LEVEL).stdout)

    assert report["level"] == registry.isolation_level() == "full"
    assert all(report["guarantees"].values())


def test_an_ordinary_account_gets_the_same_verdicts(account: Account) -> None:
    given = [line for line in test_order.own() if json.loads(line)["validation"]["type"] == "coding"]
    theirs = [json.loads(line) for line in account.graded(given)]

    assert list(map(verdict, theirs)) == list(map(verdict, lines.grade_lines(given, jobs=2)))


def verdict(result: dict[str, Any]) -> dict[str, Any]:
    """All but what another release of Python may put into other words."""
    return {name: value for name, value in result.items() if name not in {"findings", "error"}}


def test_what_is_forbidden_is_blocked_and_nothing_is_left_behind(account: Account, tmp_path: Path) -> None:
    """Other than the attempt on another account: the number that is another differs."""
    open_folder = account.home / "tmp" / "canary"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    secret = open_folder / "secret"
    secret.write_text("key")
    secret.chmod(0o666)
    task = {"type": "coding", "function_name": "f", "base_tests": [{"args": [1], "expected": 1}], "timeout_s": 5}
    codes = [
        code.format(secret=secret, folder=open_folder) for name, code in FORBIDDEN.items() if "account" not in name
    ]
    given = [json.dumps({"validation": task, "completion": f"```python\n{code}\n```"}).encode() for code in codes]

    results = [json.loads(line) for line in account.graded(given)]

    assert [result["failure"] for result in results] == ["blocked"] * len(codes)
    assert [path.name for path in open_folder.iterdir()] == ["secret"]
    assert secret.read_text() == "key"
    shutil.rmtree(open_folder)
    assert list((account.home / "tmp").iterdir()) == []
    assert processes_of_account() == []


@pytest.mark.parametrize("name", ["sandbox.jsonl", "score/coding_extraction.jsonl", "score/coding_humaneval.jsonl"])
def test_the_collected_answers_come_out_right_for_an_ordinary_account(name: str, account: Account) -> None:
    file = COLLECTED / "cases" / name
    if not file.exists():
        pytest.skip(NOTICE)
    given = file.read_bytes().splitlines()
    results = [json.loads(line) for line in account.graded(given)]
    cases = [json.loads(line) for line in given]

    assert [case["id"] for case, result in zip(cases, results, strict=True) if not right(case, result)] == []
    assert list((account.home / "tmp").iterdir()) == []


def processes_of_account() -> list[str]:
    """What still runs as the account, where it is one that only these tests use."""
    if os.geteuid() != 0:
        return []
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and entry.stat().st_uid == ACCOUNT:
                found.append((entry / "comm").read_text().strip())
        except OSError:
            continue
    return found
