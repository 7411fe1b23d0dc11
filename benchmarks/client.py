"""How exactly, quickly and sparingly the measured path reads streams, beside httpx2 and aiohttp in the same run.

    python benchmarks/client.py [--repeats 3] [--streams 1 32 256]

True times are the mock server's own log (one clock, one machine). Every figure is the median of the repeats; each
repeat runs all clients in turn, each in its own process. aiohttp and uvloop are used where they are installed (the
dependency group ``bench``, the extra ``fast``). Exit code 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.request import urlopen

HERE = Path(__file__).parent
SPACED = {"ttft_ms": 200, "itl_ms": 10, "tokens": 128}
BURST = {"ttft_ms": 20, "burst": True, "tokens": 10_000}
VARIED = BURST | {"tokens": 3000, "vary": True}
ROUNDS = {1: 8, 32: 2}
TTFT_MS = {1: 1.0, 32: 3.0, 256: 15.0}
ITL_PERCENT = 0.5
EVENTS_PER_CPU_S = 200_000
MEGABYTES = 60.0


@dataclass(frozen=True, slots=True)
class Contender:
    """A client on an event loop."""

    client: str
    loop: str

    @property
    def name(self) -> str:
        """For the table."""
        return f"{self.client} ({self.loop})"


@dataclass(frozen=True, slots=True)
class Result:
    """One process's answers and what the server did at the same time, by name of the request."""

    answers: dict[str, dict[str, Any]]
    truths: dict[str, dict[str, Any]]
    cpu_s: float
    memory_mb: float

    @property
    def warm(self) -> list[str]:
        """The names of all requests but the first."""
        return [name for name in self.answers if name != "cold"]

    def ttft_error_ms(self) -> float:
        """Mean over requests of how much later the client saw the first token than the server wrote it."""
        return statistics.fmean(self._late(name) for name in self.warm) * 1000

    def _late(self, name: str) -> float:
        truth = self.truths[name]
        return float(self.answers[name]["ttft_s"] - (truth["first_at"] - truth["read_at"]))

    def itl_error_percent(self) -> float:
        """Relative error of the mean gap between deltas over all requests."""
        told = statistics.fmean(self.answers[name]["itl_s"] for name in self.warm)
        return (told / self.true_itl_s() - 1) * 100

    def true_itl_s(self) -> float:
        """The mean gap between the server's writes."""
        truths = [self.truths[name] for name in self.warm]
        return statistics.fmean((truth["last_at"] - truth["first_at"]) / (truth["events"] - 1) for truth in truths)

    def events_per_cpu_s(self) -> float:
        """Deltas taken per second of the client's processor time."""
        return float(sum(self.answers[name]["deltas"] for name in self.warm) / self.cpu_s)


@contextmanager
def mock_server() -> Iterator[int]:
    """Its port."""
    command = [sys.executable, str(HERE / "mock_server.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline().split()[1])
        finally:
            process.kill()


def measure(who: Contender, port: int, streams: int, rounds: int, script: dict[str, Any]) -> Result:
    """Run one contender in a process of its own."""
    arguments = [who.client, who.loop, str(port), str(streams), str(rounds), json.dumps(script)]
    command = [sys.executable, str(HERE / "contenders.py"), *arguments]
    told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    with urlopen(f"http://127.0.0.1:{port}/log") as answer:
        truths = {truth["user"]: truth for truth in json.load(answer)}
    return Result(told["answers"], truths, told["cpu_s"], told["pss_mb"] or told["rss_mb"])


def contenders() -> list[Contender]:
    """All that can run here."""
    loops = ["asyncio", *(["uvloop"] if find_spec("uvloop") else [])]
    clients = ["ours", "httpx2", *(["aiohttp"] if find_spec("aiohttp") else [])]
    return [Contender(client, loop) for client in clients for loop in loops]


def figures(who: Contender, port: int, counts: list[int]) -> dict[str, float]:
    """All figures of one contender, once."""
    found: dict[str, float] = {}
    for streams in counts:
        result = measure(who, port, streams, ROUNDS.get(streams, 1), SPACED)
        found[f"TTFT error ms @{streams}"] = result.ttft_error_ms()
        found[f"ITL error % @{streams}"] = result.itl_error_percent()
        found[f"true ITL ms @{streams}"] = result.true_itl_s() * 1000
        found[f"memory MB @{streams}"] = result.memory_mb
    found["burst events/CPU s"] = measure(who, port, 32, 1, BURST).events_per_cpu_s()
    found["  all different"] = measure(who, port, 32, 1, VARIED).events_per_cpu_s()
    return found


def missed(found: dict[str, float]) -> list[str]:
    """The targets that these figures of ours miss."""
    limits = {f"TTFT error ms @{streams}": limit for streams, limit in TTFT_MS.items()}
    limits |= {f"ITL error % @{streams}": ITL_PERCENT for streams in TTFT_MS} | {"memory MB @256": MEGABYTES}
    over = [
        f"{name}: {found[name]:.3g} > {limit:g}" for name, limit in limits.items() if abs(found.get(name, 0)) > limit
    ]
    events = found["burst events/CPU s"]
    return over + ([f"burst: {events:.0f} < {EVENTS_PER_CPU_S}"] if events < EVENTS_PER_CPU_S else [])


def show(table: dict[str, dict[str, float]]) -> None:
    """One column per contender."""
    print(f"{'':22}" + "".join(f"{name:>18}" for name in table))
    for row in next(iter(table.values())):
        cells = (
            f"{column[row]:>18,.0f}" if column[row] > 1000 else f"{column[row]:>18.3f}" for column in table.values()
        )
        print(f"{row:22}" + "".join(cells))


SPECIAL: dict[str, dict[str, Any]] = {
    "4 tokens per event": {"ttft_ms": 100, "itl_ms": 10, "tokens": 64, "per_event": 4},
    "characters cut in two": {"ttft_ms": 100, "itl_ms": 10, "tokens": 32, "text": " tök€n🙂", "split": True},
    "reasoning first": {"ttft_ms": 100, "itl_ms": 10, "tokens": 32, "reasoning": 32},
    "cold first request": {"ttft_ms": 100, "itl_ms": 10, "tokens": 32, "cold_ms": 1000},
}


def special(who: Contender) -> None:
    """What is told and what is true where clients are known to go wrong; ms, and tokens as the server counts them."""
    print(f"\n{who.name}: told / true")
    head = ("first token", "first answer", "gap", "tokens", "events", "characters")
    print(f"{'':28}" + "".join(f"{name:>18}" for name in head))
    for title, script in SPECIAL.items():
        with mock_server() as port:
            result = measure(who, port, 1, 1, script)
        for name in ["cold", "0.0"] if "cold_ms" in script else ["0.0"]:
            cells = _told_and_true(result.answers[name], result.truths[name], script)
            print(
                f"{title + (', warm' if name != 'cold' and 'cold_ms' in script else ''):28}"
                + "".join(f"{c:>18}" for c in cells)
            )


def _told_and_true(told: dict[str, Any], truth: dict[str, Any], script: dict[str, Any]) -> list[str]:
    first, answer = truth["first_at"] - truth["read_at"], truth["first_answer_at"] - truth["read_at"]
    gap = (truth["last_at"] - truth["first_at"]) / (truth["events"] - 1)
    times = [("ttft_s", first), ("ttfat_s", answer), ("itl_s", gap)]
    cells = [f"{told[name] * 1000:.1f} / {true * 1000:.1f}" for name, true in times]
    tokens = script["tokens"] + script.get("reasoning", 0)
    characters = script["tokens"] * len(script.get("text", " tok"))
    return [
        *cells,
        f"{told['tokens']} / {tokens}",
        f"{told['deltas']} / {truth['events']}",
        f"{told['characters']} / {characters}",
    ]


def main() -> int:
    """Measure, print, judge."""
    options = _options()
    everybody = [who for who in contenders() if not options.only or who.client in options.only]
    runs: dict[str, list[dict[str, float]]] = {who.name: [] for who in everybody}
    for _ in range(options.repeats):
        for who in everybody:
            with mock_server() as port:
                runs[who.name].append(figures(who, port, options.streams))
    table = {name: {row: statistics.median(run[row] for run in done) for row in done[0]} for name, done in runs.items()}
    show(table)
    own = [who for who in everybody if who.client == "ours"]
    for who in own[-1:]:
        special(who)
    misses = {who.name: missed(table[who.name]) for who in own}
    for name, over in misses.items():
        print(f"\n{name}: " + ("all targets met" if not over else "missed " + "; ".join(over)))
    return int(all(misses.values()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 32, 256])
    parser.add_argument("--only", nargs="*", help="clients: ours, httpx2, aiohttp")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
