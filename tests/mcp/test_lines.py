"""Lines on standard input that are no message, and an output that nobody reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from tests.mcp.bench import settings_in
from tests.mcp.test_stdio import environment

COMMAND = [sys.executable, "-m", "llmbench_mcp"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
LONE_SURROGATE = r'{"jsonrpc":"2.0","id":83,"method":"tools/call","params":{"name":"x","arguments":{"text":"\ud800"}}}'
DEEP = "[" * 5000 + "]" * 5000
PARSE, INVALID = -32700, -32600


def frame(method: str, id_: int, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})


@contextmanager
def speaking(folder: Path, stdout: IO[bytes] | int = subprocess.PIPE) -> Iterator[subprocess.Popen[bytes]]:
    env, pipe = environment(settings_in(folder)), subprocess.PIPE
    with subprocess.Popen(COMMAND, env=env, stdin=pipe, stdout=stdout, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def say(process: subprocess.Popen[bytes], *lines: str) -> None:
    assert process.stdin is not None
    process.stdin.write("".join(line + "\n" for line in lines).encode())
    process.stdin.flush()


def pipe_of(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def answers_to(folder: Path, *lines: str) -> list[dict[str, Any]]:
    """All that a server says to these lines after its handshake; the last frame answers a ping of id 99."""
    with speaking(folder) as process:
        say(process, json.dumps(HELLO), '{"jsonrpc":"2.0","method":"notifications/initialized"}', *lines)
        say(process, frame("ping", 99))
        found = [json.loads(pipe_of(process.stdout).readline())]
        while found[-1].get("id") != 99:
            found.append(json.loads(pipe_of(process.stdout).readline()))
        pipe_of(process.stdin).close()
        assert process.wait(30) == 0
        assert b"Traceback" not in pipe_of(process.stderr).read()
    return found[1:-1]


def test_a_line_that_is_no_message_is_answered_with_its_id_where_that_can_be_read(tmp_path: Path) -> None:
    bad = {
        LONE_SURROGATE: (83, PARSE),
        "{": (None, PARSE),
        "garbage": (None, PARSE),
        DEEP: (None, PARSE),
        "[]": (None, INVALID),
        "null": (None, INVALID),
        f"[{frame('ping', 5)}]": (None, INVALID),
        '{"jsonrpc":"1.0","id":"a","method":"ping"}': ("a", INVALID),
        '{"jsonrpc":"2.0","id":6,"method":7}': (6, INVALID),
        '{"jsonrpc":"2.0","id":8,"method":"ping","params":[1]}': (8, INVALID),
        '{"jsonrpc":"2.0","id":9}': (9, INVALID),
        r'{"jsonrpc":"2.0","id":"\ud800","method":"ping"}': (None, PARSE),
    }
    answers = answers_to(tmp_path, *bad)
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == list(bad.values())


def test_blank_lines_and_broken_replies_are_met_with_silence(tmp_path: Path) -> None:
    assert answers_to(tmp_path, "", "  ", '{"jsonrpc":"2.0","id":5,"result":4}', '{"id":5,"error":null}') == []


def test_a_bad_line_before_the_handshake_is_answered_too(tmp_path: Path) -> None:
    with speaking(tmp_path) as process:
        say(process, "garbage", json.dumps(HELLO))
        refusal, greeting = (json.loads(pipe_of(process.stdout).readline()) for _ in range(2))
    assert (refusal["id"], refusal["error"]["code"]) == (None, PARSE)
    assert greeting["result"]["serverInfo"]


@pytest.mark.parametrize("line", ["", frame("tools/call", 2, name="model_list", arguments={})])
def test_the_server_ends_quietly_when_nobody_reads_its_output(tmp_path: Path, line: str) -> None:
    with speaking(tmp_path) as process:
        say(process, json.dumps(HELLO))
        pipe_of(process.stdout).readline()
        say(process, line)
        pipe_of(process.stdout).close()
        assert process.wait(30) == 0
        assert pipe_of(process.stderr).read() == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_output_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full, speaking(tmp_path, stdout=full) as process:
        _, said = process.communicate(json.dumps(HELLO).encode() + b"\n", timeout=60)
    assert process.returncode == 1
    assert said.decode() == f"error: Standard input or output failed: [Errno 28] {os.strerror(28)}.\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_standard_input_or_output_the_server_says_what_it_lacks(tmp_path: Path, closed: str) -> None:
    shell = ["sh", "-c", f'"$0" -m llmbench_mcp {closed}', sys.executable]
    done = subprocess.run(shell, env=environment(settings_in(tmp_path)), capture_output=True, input=b"", timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: Standard input or output is closed.")
