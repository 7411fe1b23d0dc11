from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from llmbench_mcp.backends.embedded.launcher import _TAIL_LINES
from tests.live.support import WEIGHTS, needs_model

pytestmark = [pytest.mark.live, needs_model]

PARENT = """
import anyio, sys
from pathlib import Path
from llmbench_mcp.backends.embedded.launcher import embedded_server

async def main():
    async with embedded_server(Path(sys.argv[1]), alias="smol", context=512, log_path=Path(sys.argv[2])) as server:
        print(server.pid, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


def test_the_server_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(WEIGHTS), str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    gone, alive = psutil.wait_procs([child], timeout=20)
    assert gone
    assert not alive


CHILD = [sys.executable, "-m", "llmbench_mcp.backends.embedded.server_child", "--port=0"]


def test_the_server_ends_when_its_standard_input_does() -> None:
    command = [*CHILD, f"--model={WEIGHTS}", "--ctx=512"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert b"listening" in child.stdout.readline()
        child.stdin.close()
        assert child.wait(timeout=20) == 0


def test_a_server_that_cannot_start_says_so_in_its_last_lines() -> None:
    command = [*CHILD, "--model=/nonexistent.gguf"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stderr is not None
        errors = child.stderr.read()
        assert child.wait(timeout=20) == 4
    # Not in the very last: llama.cpp writes its log from a thread of its own, which may be later.
    assert b"the server did not start" in b"".join(errors.splitlines()[-_TAIL_LINES:])
