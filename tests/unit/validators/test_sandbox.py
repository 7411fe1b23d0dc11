from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from llmbench_validators import asserts, probe, registry, sandbox, wire
from llmbench_validators.session import Ended, Reply, Started
from llmbench_validators.types import SandboxFault

from .code_support import needs_full_isolation, square

pytestmark = needs_full_isolation

SQUARE = "def f(x):\n    return x * x\n"

FORGE_ALL = """
import os
for d in range(3, 64):
    try: os.write(d, b'\\0\\0\\0\\x0f{"passed":true}')
    except OSError: pass
os._exit(0)
"""
FORGE_TAG = """
import socket, struct
def f(x):
    for d in range(3, 64):
        try: s = socket.socket(fileno=d)
        except OSError: continue
        b = b'{"value":{"zz":1}}'
        s.sendall(struct.pack('!I', len(b)) + b)
    while True: pass
"""
READ_FRAME = """
import sys
def f(x):
    g = sys._getframe(1)
    return g.f_locals.get('expected', g.f_globals.get('EXPECTED'))
"""
SWALLOW = """
def f(x):
    while True:
        try:
            while True: pass
        except BaseException: pass
"""
IGNORE = """
import signal
for s in (signal.SIGTERM, signal.SIGINT, signal.SIGXCPU): signal.signal(s, signal.SIG_IGN)
def f(x):
    while True: pass
"""
OWN_PROGRAM = """
import os
def f(x):
    open('p', 'w').write('#!/bin/sh')
    os.chmod('p', 0o755)
    os.execv('p', ['p'])
"""

CHEATS = {
    "always equal": ("class E:\n    def __eq__(s, o): return True\ndef f(x): return E()", "wrong_answer"),
    "sly int": ("class I(int):\n    def __eq__(s, o): return True\ndef f(x): return I(0)", "wrong_answer"),
    "patched builtins": ("import builtins\nbuiltins.all = lambda i: True\ndef f(x): return 0", "wrong_answer"),
    "patched json": ("import json\njson.dumps = lambda *a, **k: '{}'\ndef f(x): return 0", "wrong_answer"),
    "poisoned modules": ("import sys\nsys.modules['unittest'] = None\ndef f(x): return 0", "wrong_answer"),
    "leaves with 0": ("import os\nos._exit(0)\n" + SQUARE, "cheating"),
    "leaves in the call": ("import os\ndef f(x): os._exit(0)", "cheating"),
    "writes to every descriptor": (FORGE_ALL, "cheating"),
    "forged value tag": (FORGE_TAG, "cheating"),
    "closes the channel": ("import os, time\nos.closerange(3, 64)\ntime.sleep(600)\n" + SQUARE, "cheating"),
    "reads the caller's frame": (READ_FRAME, "wrong_answer"),
}

LIMITS = {
    "loop": ("def f(x):\n    while True: pass", "timeout"),
    "sleep": ("import time\ndef f(x): time.sleep(600)", "timeout"),
    "loop at import": ("while True: pass\n" + SQUARE, "timeout"),
    "swallows exceptions": (SWALLOW, "timeout"),
    "ignores signals": (IGNORE, "timeout"),
    "regular expression": ("import re\ndef f(x): return re.match('(a+)+$', 'a' * 40 + 'b')", "timeout"),
    "deadlock": ("import threading\nL = threading.Lock()\ndef f(x):\n    L.acquire(); L.acquire()", "timeout"),
    "one large allocation": ("def f(x): return len(bytearray(8 << 30))", "memory_limit"),
    "growing string": ("def f(x):\n    s = 'a'\n    while True: s += s", "memory_limit"),
    "large value": ("def f(x): return 'x' * (9 << 20)", "output_limit"),
    "endless generator": ("import itertools\ndef f(x): return map(str, itertools.repeat('x' * 100))", "output_limit"),
    "bottomless list": ("def f(x):\n    l = []\n    l.append(l)\n    return l", "output_limit"),
    "null pointer": ("import ctypes\ndef f(x): return ctypes.string_at(0)", "runtime_error"),
    "reads standard input": ("n = int(input())\n" + SQUARE, "runtime_error"),
    "leaves with 3": ("import os\ndef f(x): os._exit(3)", "runtime_error"),
}

FORBIDDEN = {
    "internet socket": "import socket\ndef f(x): socket.create_connection(('127.0.0.1', 9), 1)",
    "datagram socket": "import socket\ndef f(x): socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "unix socket": "import socket\ndef f(x): socket.socket(socket.AF_UNIX)",
    "foreign file": "def f(x): return open('{secret}').read()",
    "account list": "def f(x): return open('/etc/passwd').read()",
    "listing the root": "import os\ndef f(x): return os.listdir('/')",
    "environment of the parent": "import os\ndef f(x): return open(f'/proc/{{os.getppid()}}/environ', 'rb').read()",
    "deleting outside": "import os\ndef f(x): os.remove('{secret}')",
    "writing outside": "def f(x): open('{folder}/written', 'w')",
    "writing outside by a link": "import os\ndef f(x):\n    os.symlink('{folder}', 'l')\n    open('l/written', 'w')",
    "fork": "import os\ndef f(x):\n    if os.fork() == 0: os._exit(0)",
    "subprocess": "import subprocess\ndef f(x): subprocess.run(['/bin/true'])",
    "own program": OWN_PROGRAM,
    "signal to the parent": "import os\ndef f(x): os.kill(os.getppid(), 0)",
    "signal to the group of all": "import os\ndef f(x): os.kill(-1, 0)",
    "ptrace": "import ctypes, os\nl = ctypes.CDLL(None, use_errno=True)\ndef f(x):\n"
    "    if l.ptrace(16, os.getppid(), 0, 0): raise OSError(ctypes.get_errno(), 'ptrace')",
    "large file": "def f(x):\n    with open('big', 'wb') as t:\n        for _ in range(99): t.write(b'x' * (1 << 20))",
    "new name space": "import ctypes\nl = ctypes.CDLL(None, use_errno=True)\ndef f(x):\n"
    "    if l.unshare(0x10000000): raise OSError(ctypes.get_errno(), 'unshare')",
    "other account": "import os\ndef f(x): os.setuid(0)\n"
    if os.geteuid() == 0
    else "import os\ndef f(x): os.setuid(1)\n",
}


@pytest.mark.parametrize(("code", "failure"), CHEATS.values(), ids=CHEATS.keys())
def test_cheats_do_not_pass(code: str, failure: str) -> None:
    verdict = square(code, timeout_s=2)

    assert (verdict.passed, verdict.failure) == (False, failure)


@pytest.mark.parametrize(("code", "failure"), LIMITS.values(), ids=LIMITS.keys())
def test_limits_end_the_code_and_name_the_limit(code: str, failure: str) -> None:
    timeout = 0.3 if failure == "timeout" else 10
    verdict = square(code, timeout_s=timeout, memory_mb=256)

    assert (verdict.passed, verdict.failure) == (False, failure)


@pytest.mark.parametrize("code", FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_forbidden_acts_are_blocked_and_without_effect(code: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    secret = tmp_path / "secret"
    secret.write_text("key")
    secret.chmod(0o666)

    verdict = square(code.format(secret=secret, folder=tmp_path))

    assert (verdict.passed, verdict.failure) == (False, "blocked"), verdict.findings
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]
    assert "key" not in repr(verdict.findings)


def test_deep_recursion_in_c_does_not_harm_the_next_answer() -> None:
    code = "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __getattr__(s, n): return getattr(s, n + 'x')\n"
    verdict = square(code + "def f(x): return A().a")

    assert verdict.failure in {"runtime_error", "memory_limit", "timeout"}
    assert square(SQUARE).passed


def test_a_crash_in_one_call_leaves_the_other_tests_their_chance() -> None:
    verdict = square("import os\ndef f(x):\n    if x == 3: os._exit(3)\n    return x * x")

    assert verdict.stages["base"].passed == 2


def test_the_environment_holds_no_secret_and_is_the_same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-live")
    code = "import os, time\ndef f(x): return sorted(os.environ), time.tzname[0], hash('a') == hash('a')"
    verdict = square(code, base_tests=[{"args": [1], "expected": []}])

    assert "API_KEY" not in verdict.findings[0]
    assert "'UTC'" in verdict.findings[0]


def test_string_hashing_is_the_same_in_every_run() -> None:
    code = "def f(x):\n    return list({'a', 'b', 'c', 'd', 'e'})"
    seen = {square(code, base_tests=[{"args": [1], "expected": 0}]).findings for _ in range(3)}

    assert len(seen) == 1


def test_nothing_is_left_of_one_answer_for_the_next() -> None:
    square("open('left', 'w').close()\nimport os\nos.makedirs('../beside/x')\ndef f(x): return 1")
    square("import os\nfor _ in range(1200):\n    os.mkdir('d'); os.chdir('d')\ndef f(x): return 1")
    code = "import os\ndef f(x): return [sorted(os.listdir('.')), len(os.listdir('..'))]"

    assert square(code, base_tests=[{"args": [1], "expected": [[], 1]}]).passed


def test_files_left_behind_cost_no_process() -> None:
    assert square(SQUARE).passed
    before = _children(os.getpid())
    for _ in range(3):
        assert square("open('left', 'w').close()\n" + SQUARE).passed
        assert square(SQUARE).passed

    assert _children(os.getpid()) == before


def test_what_was_right_before_a_call_without_end_still_counts() -> None:
    verdict = square("def f(x):\n    while x == -1: pass\n    return x * x", timeout_s=0.3)

    assert (verdict.stages["base"].passed, verdict.failure) == (2, "timeout")


@pytest.mark.parametrize("size", [5_000, 70_000, 3_000_000])
def test_values_larger_than_a_pipe_arrive(size: int) -> None:
    tests = [{"args": [n], "expected": "x" * n} for n in (size, 1, size)]

    assert square("def f(n):\n    return 'x' * n", base_tests=tests).passed


def test_many_threads_grade_at_once_and_get_their_own_verdicts() -> None:
    def one(number: int) -> bool:
        verdict = square(f"def f(x):\n    return {number}", base_tests=[{"args": [0], "expected": number}])
        return verdict.passed

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(40)))


def test_a_killed_sandbox_process_is_replaced_and_never_becomes_a_verdict() -> None:
    assert square(SQUARE).passed
    for process in _children(os.getpid()):
        os.kill(process, signal.SIGKILL)

    assert square(SQUARE).passed


def test_a_process_killed_by_somebody_is_replaced_and_never_becomes_a_verdict() -> None:
    assert square(SQUARE).passed
    for process in _until(_started_ahead, bool):
        os.kill(process, signal.SIGKILL)

    assert square(SQUARE).passed


def test_a_process_that_kills_itself_again_and_again_has_its_verdict() -> None:
    verdict = square("import os\ndef f(x): os.kill(os.getpid(), 9)")

    assert (verdict.failure, square(SQUARE).passed) == ("memory_limit", True)


def test_a_sandbox_that_fails_in_the_middle_of_a_test_is_not_the_candidates_failure() -> None:
    def broken(_args: object, _kwargs: object) -> Reply:
        raise SandboxFault("gone")

    for tests in ("assert candidate(1) == 1", "try:\n    candidate(1)\nexcept BaseException:\n    pass"):
        with pytest.raises(SandboxFault, match="gone"):
            asserts.run(tests, "", "f", asserts.Proxy("f", broken), is_async=False)


def test_the_isolation_report_names_what_was_tried() -> None:
    report = registry.isolation_report()

    assert report["level"] == "full"
    assert report["guarantees"] == dict.fromkeys(("files", "network", "processes", "signals", "memory"), True)
    assert report["reason"] is None


def test_a_machine_below_the_required_level_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    weak = {"level": "process", "guarantees": {"files": False, "memory": True}, "mechanisms": {}}
    monkeypatch.setattr(sandbox.Pool, "report", lambda self: weak)

    with pytest.raises(SandboxFault, match=r"process only \(not kept apart: files\).*LLMBENCH_MIN_ISOLATION=process"):
        square(SQUARE)
    monkeypatch.setenv("LLMBENCH_MIN_ISOLATION", "process")
    assert square(SQUARE).isolation == "process"
    with pytest.raises(ValueError, match="process, partial, full"):
        sandbox.require("none")


class OpenHouse:
    """Starts candidates as ordinary processes without any confinement."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, budget: tuple[int, int]) -> Started:
        serve = "import sys; from llmbench_validators import candidate as c; "
        serve += "c.serve(int(sys.argv[1]), int(sys.argv[2]))"
        ours, theirs = socket.socketpair()
        replies, end = os.pipe2(os.O_NONBLOCK)
        passed = [theirs.fileno(), end]
        command = [sys.executable, "-c", serve, *map(str, passed)]
        process = self._process = subprocess.Popen(command, pass_fds=passed, cwd=self._folder)
        theirs.close()
        os.close(end)
        return Started(ours, replies, lambda: process.pid)

    def end(self, pid: int, grace_s: float) -> Ended:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        return Ended(0, True, True)

    def leave(self, pid: int, budget: tuple[int, int]) -> None:
        self.end(pid, 0)

    def clean(self) -> None:
        raise AssertionError


def test_the_level_is_what_was_seen_to_hold_not_what_was_hoped(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)

    report = probe.isolation(OpenHouse(inner), {"landlock": True, "seccomp": True})

    assert report["level"] == "process"
    assert not any(report["guarantees"].values())


SERVER = """
import sys, threading
from llmbench_validators import registry
from llmbench_validators.types import Completion
def grade(code):
    block = {"type": "coding", "function_name": "f", "base_tests": [{"args": [1], "expected": 1}], "timeout_s": 60}
    return registry.grade(block, Completion("```python\\n" + code + "\\n```"))
assert grade("def f(x): return x").passed
threading.Thread(target=grade, args=("def f(x):\\n    while True: pass",), daemon=True).start()
"""


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "while code runs"])
def test_no_process_or_folder_outlives_a_server_that_was_killed(busy: bool, tmp_path: Path) -> None:
    script = SERVER if busy else SERVER.rsplit("\n", 2)[0]
    script += "\nprint('ready', flush=True)\nsys.stdin.read()\n"
    server = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert server.stdout is not None
    assert server.stdin is not None
    with server, server.stdout, server.stdin:
        assert server.stdout.readline() == b"ready\n"
        family = _until(lambda: _family(server.pid), lambda found: len(found) >= (3 if busy else 2))
        server.kill()

    assert _until(lambda: [pid for pid in family if _alive(pid)], lambda left: not left) == []
    assert _until(lambda: list(tmp_path.iterdir()), lambda left: not left) == []


def test_a_server_that_ends_by_itself_leaves_nothing(tmp_path: Path) -> None:
    script = SERVER.rsplit("\n", 2)[0]
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "TMPDIR": str(tmp_path)})

    assert list(tmp_path.iterdir()) == []


def test_the_channel_between_the_processes_refuses_oversized_frames() -> None:
    assert len(wire.pack({"value": "x" * wire.MAX_REPLY})) > wire.MAX_REPLY


def _until(look: Any, good: Any, seconds: float = 30) -> Any:
    """What ``look`` gives once it is ``good``, or at the end of the time allowed."""
    end = time.monotonic() + seconds
    while not good(found := look()) and time.monotonic() < end:
        os.sched_yield()
    return found


def _started_ahead() -> list[int]:
    return [pid for checker in _children(os.getpid()) for zygote in _children(checker) for pid in _children(zygote)]


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def _family(pid: int) -> list[int]:
    try:
        children = _children(pid)
    except FileNotFoundError:
        return []
    return children + [below for child in children for below in _family(child)]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
