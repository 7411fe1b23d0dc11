from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from llmbench_mcp.backends.registry import EntryPointBackends
from llmbench_mcp.domain.endpoint import Resident
from tests.backends.lmstudio_support import studio_at
from tests.backends.support import ask


@pytest.fixture
def urls() -> Iterator[list[str]]:
    command = [sys.executable, "-m", "llmbench_mcp.testing.fake_lmstudio", "--port", "0", "--port", "0"]
    command += ["--model", "big=20", "--model", "m"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield json.loads(process.stdout.readline())["servers"]
        process.kill()


async def test_two_simulated_servers_in_another_process_share_one_gpu(urls: list[str]) -> None:
    assert (await EntryPointBackends().detect(urls[0])).backend == "lmstudio"
    async with studio_at(urls[0]) as one, studio_at(urls[1]) as other:
        await one.load("big")
        await other.load("m")
        assert await one.residents() == [Resident("big", "big", context_length=4096)]
        assert (await ask(other, "hello")).text == "You said: hello"
        await other.unload(Resident("m", "m"))
        with pytest.raises(Exception, match="insufficient system resources"):
            await other.load("big")
