"""A small exam, an asynchronous cache whose entries expire, with one good answer and ways to spoil it."""

from __future__ import annotations

from typing import Any

from llmbench_validators import registry
from llmbench_validators.types import Completion, Verdict

MODULE = '''"""A cache for coroutines whose entries expire."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any


class TTLCache:
    """Keeps what a loader returned for ``ttl`` seconds; each key is loaded once at a time."""

    def __init__(self, ttl: float, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` returns seconds."""
        if ttl <= 0:
            raise ValueError("ttl must be above 0")
        self._ttl = ttl
        self._clock = clock
        self._entries: dict[Any, tuple[float, Any]] = {}
        self._locks: dict[Any, asyncio.Lock] = {}

    async def get(self, key: Any, load: Callable[[], Awaitable[Any]]) -> Any:
        """The value of ``key``, loaded when it is missing or too old."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            entry = self._entries.get(key)
            if entry is not None and self._clock() < entry[0]:
                return entry[1]
            value = await load()
            self._entries[key] = (self._clock() + self._ttl, value)
            return value

    def __len__(self) -> int:
        """The number of entries that have not expired."""
        now = self._clock()
        return sum(1 for expires, _ in self._entries.values() if now < expires)
'''

OWN_TESTS = """import asyncio
import unittest

from ttl_cache import TTLCache


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class TTLCacheTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.clock = Clock()
        self.cache = TTLCache(10, self.clock)
        self.loads = 0

    async def load(self):
        self.loads += 1
        await asyncio.sleep(0)
        return self.loads

    async def test_loads_once_while_fresh(self):
        self.assertEqual(await self.cache.get("a", self.load), 1)
        self.clock.now = 9.9
        self.assertEqual(await self.cache.get("a", self.load), 1)

    async def test_loads_again_at_the_end_of_its_time(self):
        await self.cache.get("a", self.load)
        self.clock.now = 10
        self.assertEqual(await self.cache.get("a", self.load), 2)

    async def test_concurrent_callers_share_a_load(self):
        values = await asyncio.gather(*(self.cache.get("a", self.load) for _ in range(5)))
        self.assertEqual(values, [1] * 5)

    async def test_length_counts_fresh_entries(self):
        await self.cache.get("a", self.load)
        self.clock.now = 4
        await self.cache.get("b", self.load)
        self.assertEqual(len(self.cache), 2)
        self.clock.now = 10
        self.assertEqual(len(self.cache), 1)

    def test_time_to_live_is_checked(self):
        with self.assertRaises(ValueError):
            TTLCache(0)
        TTLCache(0.5)
"""

_COMMON = """
import asyncio
from ttl_cache import TTLCache

now = 0.0
loads = []

async def load():
    loads.append(now)
    await asyncio.sleep(0)
    return len(loads)
"""
CONCURRENT = (
    _COMMON
    + """
async def probe():
    cache = TTLCache(10, lambda: now)
    values = await asyncio.gather(*(cache.get("k", load) for _ in range(20)))
    return {"values": sorted(set(values)), "loads": len(loads)}
"""
)
INDEPENDENT = (
    _COMMON
    + """
async def probe():
    cache = TTLCache(10, lambda: now)
    started = []
    gate = asyncio.Event()
    async def slow():
        started.append(1)
        await gate.wait()
    tasks = [asyncio.ensure_future(cache.get(key, slow)) for key in range(3)]
    for _ in range(10):
        await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*tasks)
    return len(started)
"""
)
BEHAVIOUR = """
import unittest
from ttl_cache import TTLCache


class Behaviour(unittest.IsolatedAsyncioTestCase):
    async def test_expiry(self):
        times = [0.0]
        count = []
        async def load():
            count.append(1)
            return len(count)
        cache = TTLCache(5, lambda: times[0])
        self.assertEqual(await cache.get("x", load), 1)
        times[0] = 4.99
        self.assertEqual(await cache.get("x", load), 1)
        times[0] = 5.0
        self.assertEqual(await cache.get("x", load), 2)

    async def test_a_failed_load_is_not_kept(self):
        cache = TTLCache(5, lambda: 0.0)
        async def broken():
            raise KeyError("no")
        async def sound():
            return "ok"
        with self.assertRaises(KeyError):
            await cache.get("x", broken)
        self.assertEqual(await cache.get("x", sound), "ok")

    def test_a_wrong_time_to_live_is_refused(self):
        for ttl in (0, -1):
            with self.assertRaises(ValueError):
                TTLCache(ttl)
"""


def block(**changes: Any) -> dict[str, Any]:
    """The VALIDATION block of the exam."""
    pillars = {
        "correctness": [{"tests": BEHAVIOUR, "name": "behaviour", "points": 4}],
        "concurrency": [
            {"probe": CONCURRENT, "expected": {"values": [1], "loads": 1}, "name": "one load", "points": 3},
            {"probe": INDEPENDENT, "expected": 3, "name": "keys do not wait for each other", "points": 1},
            {"rule": "no_blocking_in_async"},
        ],
        "structure": [
            {"rule": "require_definitions", "names": ["TTLCache", "async TTLCache.get", "TTLCache.__len__"]},
            {"rule": "max_complexity", "value": 6},
            {"rule": "max_nesting", "value": 3},
            {"rule": "forbid_nodes", "names": ["Global"]},
        ],
        "readability": [
            {"rule": "min_docstrings", "value": 0.8},
            {"rule": "min_annotations", "value": 0.8},
            {"rule": "no_bare_except"},
            {"rule": "no_mutable_defaults"},
        ],
        "test coverage integrity": [{"own_tests": 4}, {"mutation": 10, "kill": 0.7, "points": 3}],
    }
    return {
        "type": "exam",
        "module": "ttl_cache.py",
        "tests": "test_ttl_cache.py",
        "pillars": pillars,
        "pass_mark": 70,
        "pillar_minimum": 10,
        "timeout_s": 5,
        **changes,
    }


def answer(module: str = MODULE, tests: str = OWN_TESTS) -> str:
    """An answer with both files."""
    return f"```python ttl_cache.py\n{module}```\n\n```python test_ttl_cache.py\n{tests}```\n"


def sat(text: str, **changes: Any) -> Verdict:
    """The verdict on an answer."""
    return registry.grade(block(**changes), Completion(text))
