"""Suites as callers may see them: prompts and levels, never tests, expected values or references."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import anyio

from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.task import Suite, Task
from llmbench_mcp.domain.variants import DEFAULT_SEED, drawn_name, split_name

_KEPT = 8
"""Drawn suites kept at hand."""
_SOURCES_TOLD = 20


class CatalogView(Protocol):
    """The part of a loaded catalog that services read."""

    @property
    def fault(self) -> InputError | None:
        """Why the user's folder could not be read; then only shipped suites are known."""
        ...

    def suites(self) -> tuple[Suite, ...]:
        """All suites."""
        ...

    def suite(self, name: str) -> Suite:
        """One, or NotFoundError, or the fault."""
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

    @property
    def draw_seed(self) -> int | None:
        """What the generated tasks were drawn with; None for a suite that has none."""
        if self.suite.seed is not None:
            return self.suite.seed
        return DEFAULT_SEED if any(task.template for task in self.tasks) else None

    @property
    def origin(self) -> dict[str, Any] | None:
        """Of an imported suite, for manifests: what it was made of; of many files the first, beside the hash of all."""
        if self.suite.origin is None:
            return None
        sources = self.suite.origin.get("sources", ())
        return {**self.suite.origin, "licence": self.suite.licence, "sources": sources[:_SOURCES_TOLD]}

    def drawn(self, seed: int) -> SuiteView:
        """The suite with its generated tasks made anew; the same seed makes the same tasks on every machine.

        Raises InputError for a suite without generated tasks.
        """
        if self.draw_seed is None:
            raise InputError(f"Suite {self.suite.name!r} has no generated tasks to draw.", "Run it without a seed.")
        tasks = tuple(task.template.draw(seed) if task.template else task for task in self.tasks)
        return SuiteView(replace(self.suite, name=drawn_name(self.suite.name, seed), seed=seed), tasks)


class _Holder:
    def __init__(self, load: Callable[[], CatalogView]) -> None:
        self._load = load
        self.loaded: CatalogView | None = None
        self._drawn: dict[str, SuiteView] = {}
        self.seen: dict[str, SuiteView] = {}
        """Views asked for lately, by name: no thread is needed for them."""

    @property
    def catalog(self) -> CatalogView:
        if self.loaded is None:
            self.loaded = self._load()
        return self.loaded

    def heads(self, *, strict: bool) -> list[Suite]:
        if strict and self.catalog.fault is not None:
            self.loaded = self._load()  # it may have been mended since
        if strict and self.catalog.fault is not None:
            raise self.catalog.fault
        return list(self.catalog.suites())

    def view(self, name: str) -> SuiteView:
        view = self._view(name)
        if view.suite.origin is not None:
            return view  # it may be imported again at any time; its tasks are at hand in the catalog
        while len(self.seen) >= _KEPT:
            self.seen.pop(next(iter(self.seen)))
        return self.seen.setdefault(name, view)

    def _view(self, name: str) -> SuiteView:
        base, seed = split_name(name)
        if name in self._drawn:
            return self._drawn[name]
        suite = self._suite(base)
        view = SuiteView(suite, self.catalog.tasks_of(suite))
        if seed is None:
            return view
        while len(self._drawn) >= _KEPT:
            self._drawn.pop(next(iter(self._drawn)))
        return self._drawn.setdefault(name, view.drawn(seed))

    def _suite(self, name: str) -> Suite:
        try:
            return self.catalog.suite(name)
        except InputError:
            if self.catalog.fault is None:
                raise
            self.loaded = self._load()  # it may have been mended since
            return self.catalog.suite(name)


class Suites:
    """Use cases about suites; the catalog is read from disk at the first call, in a thread."""

    def __init__(self, load: Callable[[], CatalogView]) -> None:
        self._load = load
        self._holder = _Holder(load)
        self._lock = anyio.Lock()

    def forget(self) -> None:
        """Read the files again at the next call: a process that lives for weeks sees what was changed."""
        self._holder = _Holder(self._load)

    @property
    def fault(self) -> InputError | None:
        """Why what was read of the suites so far is only the shipped ones: the user's folder cannot be read."""
        return self._holder.loaded.fault if self._holder.loaded else None

    async def heads(self, *, strict: bool = True) -> list[Suite]:
        """Every suite without its tasks, of which an imported one may have thousands.

        Raises InputError when a task or suite file of the user is malformed, or, unless ``strict``, has the shipped
        ones alone then, see ``fault``; imported files that are malformed do not show.
        """
        async with self._lock:
            return await anyio.to_thread.run_sync(lambda: self._holder.heads(strict=strict))

    async def listed(self) -> list[SuiteView]:
        """Every suite, imported ones without their tasks; only the shipped ones while there is a ``fault``."""
        heads = await self.heads(strict=False)
        return [SuiteView(suite, ()) if suite.origin else await self.get(suite.name) for suite in heads]

    async def get(self, name: str) -> SuiteView:
        """One suite; ``NAME@SEED`` is one whose generated tasks are drawn with that seed.

        Raises:
            NotFoundError: no such suite; has the nearest names.
            InputError: a bad seed, a suite with nothing to draw, or one that is not shipped while there is a ``fault``.
        """
        async with self._lock:
            if name in self._holder.seen:
                return self._holder.seen[name]
            return await anyio.to_thread.run_sync(self._holder.view, name)
