"""Suites as callers may see them: prompts and levels, never tests, expected values or references."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import anyio

from llmbench_mcp.domain.task import Suite, Task


class CatalogView(Protocol):
    """The part of a loaded catalog that services read."""

    def suites(self) -> tuple[Suite, ...]:
        """All suites."""
        ...

    def suite(self, name: str) -> Suite:
        """One, or NotFoundError."""
        ...

    def tasks_of(self, suite: Suite) -> tuple[Task, ...]:
        """Its tasks in order."""
        ...


@dataclass(frozen=True, slots=True)
class SuiteView:
    """A suite with its tasks resolved."""

    suite: Suite
    tasks: tuple[Task, ...]

    @property
    def weights(self) -> dict[str, float]:
        """Weight by task id."""
        return {item.task_id: item.weight for item in self.suite.items}

    @property
    def hashes(self) -> dict[str, str]:
        """Content hash by task id."""
        return {task.id: task.content_hash() for task in self.tasks}


class _Holder:
    def __init__(self, load: Callable[[], CatalogView]) -> None:
        self._load = load

    @cached_property
    def catalog(self) -> CatalogView:
        return self._load()


class Suites:
    """Use cases about suites; the catalog is read from disk at the first call, in a thread."""

    def __init__(self, load: Callable[[], CatalogView]) -> None:
        self._load = load
        self._holder = _Holder(load)
        self._lock = anyio.Lock()

    async def _catalog(self) -> CatalogView:
        async with self._lock:
            return await anyio.to_thread.run_sync(lambda: self._holder.catalog)

    def forget(self) -> None:
        """Read the files again at the next call: a process that lives for weeks sees what was changed."""
        self._holder = _Holder(self._load)

    async def all(self) -> list[SuiteView]:
        """Every suite. Raises TaskFormatError when a task or suite file is malformed."""
        catalog = await self._catalog()
        return [SuiteView(suite, catalog.tasks_of(suite)) for suite in catalog.suites()]

    async def get(self, name: str) -> SuiteView:
        """One suite. Raises NotFoundError with the nearest names."""
        catalog = await self._catalog()
        suite = catalog.suite(name)
        return SuiteView(suite, catalog.tasks_of(suite))
