"""People's agents at an HTTP server that runs as a process of its own, each by another door, and a scraper."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult
from prometheus_client.parser import text_string_to_metric_families

from tests.mcp.bench import BenchClient, Era
from tests.mcp.sites import bearer

TOKENS = {
    "anna": "tk-ANNA-3f/9a1c+77e2-55",
    "bert": "tk-BERT-8d/04b6+19fa-21",
    "carl": "tk-CARL-c2/e85d+60b3-94",
    "grafana": "tk-GRAFANA-71/bb+0e4a-38",
}
DOORS: dict[str, tuple[Literal["http", "sse"], Era]] = {
    "anna": ("http", "auto"),
    "bert": ("sse", "auto"),
    "carl": ("http", "legacy"),
}
"""By person, how their client talks."""


def write_tokens(folder: Path) -> Path:
    """The file of tokens, which is no part of what may not hold them."""
    folder.mkdir()
    file = folder / "tokens"
    file.write_text("".join(f"{who} {token}\n" for who, token in TOKENS.items()), encoding="utf-8")
    file.chmod(0o600)
    return file


@dataclass(frozen=True, slots=True)
class Agent(BenchClient):
    """A person's client; ``told`` collects all that it was ever answered."""

    told: list[str]

    async def result(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """One call."""
        answer = await BenchClient.result(self, tool, arguments)
        self.told.append(answer.model_dump_json())
        return answer

    async def over(self, run_id: str) -> dict[str, Any]:
        """Follow a run to its end."""
        with anyio.fail_after(120):
            return await self.finish(run_id)

    async def read(self, uri: str) -> None:
        """Read a resource."""
        self.told.append((await self.raw.read_resource(uri)).model_dump_json())


@asynccontextmanager
async def agent(url: str, who: str, told: list[str]) -> AsyncIterator[Agent]:
    """The agent of that person, connected by their door."""
    door, era = DOORS[who]
    headers = bearer(TOKENS[who])
    if door == "sse":
        async with Client(sse_client(f"{url}/sse", headers=headers), mode=era) as client:
            yield Agent(client, told)
        return
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as web,
        Client(streamable_http_client(f"{url}/mcp", http_client=web), mode=era) as client,
    ):
        yield Agent(client, told)


Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


async def scrape(url: str, told: list[str]) -> Samples:
    """What Prometheus gets, by name and labels; what is not its format fails."""
    async with httpx2.AsyncClient(headers=bearer(TOKENS["grafana"]), timeout=30) as web:
        page = (await web.get(f"{url}/metrics")).raise_for_status().text
    told.append(page)
    families = text_string_to_metric_families(page)
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def sample(samples: Samples, name: str, /, **labels: str) -> float:
    """One of them."""
    return samples[name, tuple(sorted(labels.items()))]


async def command(environment: dict[str, str], told: list[str], *argv: str) -> str:
    """What a person's command says on standard output; it must succeed."""
    line = [sys.executable, "-m", "llmbench_mcp", *argv, "--json"]
    done = await anyio.run_process(line, env=environment, check=False)
    told += [done.stdout.decode(), done.stderr.decode()]
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()
