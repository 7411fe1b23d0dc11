"""One client's share of ``benchmarks/client.py``, in a process of its own so that its memory and CPU are its own.

    python benchmarks/contenders.py CLIENT LOOP PORT STREAMS ROUNDS SCRIPT     prints one JSON object

CLIENT is ours, httpx2 or aiohttp; LOOP asyncio or uvloop. All three parse with the program's own parsers, so that
what differs is the way from the socket to them.
"""

from __future__ import annotations

import asyncio
import gc
import json
import re
import resource
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llmbench_mcp.backends.openai_stream import ChatStream
from llmbench_mcp.backends.sse import SseParser
from llmbench_mcp.domain.chat import Completion

Ask = Callable[[dict[str, Any]], Awaitable[Completion]]
CHAT = "/v1/chat/completions"


@asynccontextmanager
async def ours(base: str) -> AsyncIterator[Ask]:
    """The way every backend asks."""
    from llmbench_mcp.backends.client import HttpClient
    from llmbench_mcp.backends.openai_wire import Patience, ask
    from llmbench_mcp.domain.address import parse_address

    client = HttpClient(parse_address(base))

    async def once(body: dict[str, Any]) -> Completion:
        return await ask(client, body, Patience(total_s=120.0, stall_s=60.0))

    yield once
    await client.aclose()


@asynccontextmanager
async def httpx2(base: str) -> AsyncIterator[Ask]:
    """The httpx2 way, without limits on connections."""
    import httpx2 as library

    limits = library.Limits(max_connections=None, max_keepalive_connections=0)
    async with library.AsyncClient(base_url=base, limits=limits, timeout=60, trust_env=False) as client:

        async def once(body: dict[str, Any]) -> Completion:
            chat, parser = ChatStream(), SseParser()
            sent: list[float] = []

            async def trace(event: str, info: Any) -> None:
                if event == "http11.send_request_body.complete":
                    sent.append(time.monotonic())

            async with client.stream("POST", CHAT, json=body, extensions={"trace": trace}) as response:
                async for piece in response.aiter_raw():
                    _take(chat, parser, piece)
            chat.timer.origin = sent[0]
            return chat.finish()

        yield once


@asynccontextmanager
async def aiohttp(base: str) -> AsyncIterator[Ask]:
    """The aiohttp way, chunk by chunk as they come, without limits on connections."""
    import aiohttp as library

    trace = library.TraceConfig()

    async def on_sent(session: Any, context: Any, params: Any) -> None:
        context.trace_request_ctx.append(time.monotonic())

    trace.on_request_chunk_sent.append(on_sent)
    connector = library.TCPConnector(limit=0, force_close=True)
    async with library.ClientSession(
        base, connector=connector, trace_configs=[trace], auto_decompress=False
    ) as session:

        async def once(body: dict[str, Any]) -> Completion:
            chat, parser = ChatStream(), SseParser()
            sent: list[float] = []
            async with session.post(CHAT, json=body, trace_request_ctx=sent) as response:
                async for piece in response.content.iter_any():
                    _take(chat, parser, piece)
            chat.timer.origin = sent[-1]
            return chat.finish()

        yield once


CLIENTS = {"ours": ours, "httpx2": httpx2, "aiohttp": aiohttp}


def _take(chat: ChatStream, parser: SseParser, piece: bytes) -> None:
    stamp = time.monotonic()
    chat.timer.read(stamp)
    chat.feed(parser.feed(piece), stamp)


@dataclass(frozen=True, slots=True)
class Load:
    """``streams`` at once, ``rounds`` times one after the other."""

    streams: int
    rounds: int
    script: dict[str, Any]


async def compete(name: str, base: str, load: Load) -> dict[str, Any]:
    """Ask once alone to warm up, then as the load says."""
    async with CLIENTS[name](base) as ask:

        async def one(user: str) -> tuple[str, Completion]:
            body = {"model": f"m-{name}", "user": user, "messages": [], "stream": True, "script": load.script}
            return user, await ask(body)

        answers = [await one("cold")]
        gc.collect()
        gc.freeze()  # as the executor does while it measures
        memory: list[float] = []
        watch = asyncio.create_task(_watch(memory))
        wall, cpu = time.monotonic(), time.process_time()
        for number in range(load.rounds):
            answers += await asyncio.gather(*(one(f"{number}.{stream}") for stream in range(load.streams)))
        wall, cpu = time.monotonic() - wall, time.process_time() - cpu
        watch.cancel()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = {user: _figures(completion) for user, completion in answers}
    return {"answers": told, "cpu_s": cpu, "wall_s": wall, "pss_mb": max(memory, default=0), "rss_mb": peak}


def _figures(completion: Completion) -> dict[str, Any]:
    timing, usage = completion.timing, completion.usage
    return {
        "ttft_s": timing.ttft_s,
        "ttfat_s": timing.ttfat_s,
        "itl_s": statistics.fmean(timing.itl_s) if timing.itl_s else None,
        "deltas": len(timing.itl_s) + 1,
        "tokens": usage.completion_tokens if usage else None,
        "decode_tps": timing.decode_tps,
        "characters": len(completion.text),
        "complete": completion.complete,
    }


async def _watch(memory: list[float]) -> None:
    while True:
        memory.append(_pss_mb())
        await asyncio.sleep(0.25)


def _pss_mb() -> float:
    """Proportional memory of this process; 0 where the system does not tell."""
    try:
        told = Path("/proc/self/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0.0
    found = re.search(r"^Pss:\s+(\d+)", told, re.M)
    return int(found[1]) / 1024 if found else 0.0


def main() -> None:
    """Run and print."""
    name, loop, port, streams, rounds, script = sys.argv[1:]
    factory = None
    if loop == "uvloop":
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        load = Load(int(streams), int(rounds), json.loads(script))
        print(json.dumps(runner.run(compete(name, f"http://127.0.0.1:{port}", load))))


if __name__ == "__main__":
    main()
