"""Results written to a file for others: JSON, CSV, Parquet or a page to read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import anyio
from anyio.to_thread import run_sync

from llmbench_mcp.config import Settings
from llmbench_mcp.domain.errors import InputError, NotFoundError
from llmbench_mcp.domain.ids import new_id
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.domain.results import Selected
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.services.export_manifest import manifest_of
from llmbench_mcp.services.export_rows import Column, Redactor, columns, row_of
from llmbench_mcp.services.export_writers import (
    CsvWriter,
    Format,
    JsonWriter,
    ParquetWriter,
    Writer,
    parquet_library,
)
from llmbench_mcp.services.reports import Reports
from llmbench_mcp.services.runs import Runs
from llmbench_mcp.store.export_files import WholeFile, mapped_errors
from llmbench_mcp.store.exports import ExportStore, SelectedJob

OnExported = Callable[[int, int], Awaitable[None]]
"""Told of (attempts written, attempts in all)."""


@dataclass(frozen=True, slots=True)
class Exported:
    """The file that was written, and the manifest beside it where the format has no room for one inside."""

    path: Path
    format: Format
    rows: int
    size_bytes: int
    manifest: Path | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Job:
    """One export under way."""

    wanted: Selected
    jobs: Sequence[SelectedJob]
    format: Format
    columns: Sequence[Column]
    with_answers: bool
    manifest: Mapping[str, Any]


class Exports:
    """Use cases about what leaves this program as a file."""

    def __init__(
        self, store: ExportStore, reports: Reports, runs: Runs, redactor: Redactor, settings: Settings, clock: Clock
    ) -> None:
        self._store = store
        self._reports = reports
        self._runs = runs
        self._redactor = redactor
        self._folder = settings.data_dir / "exports"
        self._clock = clock

    async def export(
        self,
        wanted: Selected,
        format: Format = "json",  # noqa: A002 - what it is called everywhere else
        *,
        include_completions: bool = False,
        out: Path | None = None,
        on_progress: OnExported | None = None,
    ) -> Exported:
        """Write the selected results to ``out``, or to a new file among this data directory's exports.

        The file appears whole or not at all. What models wrote is in it only with ``include_completions``, under names
        that begin with ``untrusted_``; hidden tests and reference solutions never are.

        Raises:
            NotFoundError: no such run, or no results of that model or suite.
            SetupError: Parquet, and pyarrow is not installed. StorageError: the file cannot be written.
        """
        if format == "parquet":
            await run_sync(parquet_library)
        if format == "html" and include_completions:
            raise InputError("A report holds no answers.", "Export json, csv or parquet to have them.")
        jobs = await self._jobs(wanted)
        target = Path.cwd() / out if out else self._folder / self._name(format)
        if format == "html":
            return await self._page(wanted, jobs, target)
        told = columns(with_answers=include_completions)
        manifest = await manifest_of(self._store, wanted, jobs, told, self._clock.utc_now(), self._redactor())
        job = _Job(wanted, jobs, format, told, include_completions, manifest)
        return await self._rows(job, target, on_progress)

    async def _jobs(self, wanted: Selected) -> list[SelectedJob]:
        for run_id in wanted.runs:
            await self._runs.get(run_id)
        jobs = await self._store.jobs(wanted)
        if not jobs:
            raise NotFoundError(
                f"There are no results of {one_line(wanted.told(), 120)}.",
                "run_list (run list) shows the runs with their models and suites.",
            )
        return jobs

    def _name(self, format: Format) -> str:  # noqa: A002 - as in export
        stamp = self._clock.utc_now()[:19].replace("-", "").replace(":", "")
        kind = "report" if format == "html" else "results"
        return f"{kind}-{stamp}Z-{new_id('x')[2:]}.{format}"

    async def _rows(self, job: _Job, target: Path, on_progress: OnExported | None) -> Exported:
        total = await self._store.extent(job.jobs)
        beside = target.with_name(f"{target.name}.manifest.json") if job.format != "json" else None
        count = 0
        async with _whole(target) as (file, whole):
            with mapped_errors(target):
                writer = await run_sync(_writer, job, file)
            async for rows in self._pages(job):
                with mapped_errors(target):
                    await run_sync(writer.write, rows)
                count += len(rows)
                if on_progress is not None:
                    await on_progress(count, max(count, total))
            with mapped_errors(target):
                await run_sync(writer.close)
            await run_sync(whole.settle)
            if beside is not None:
                await _write_text(beside, json.dumps({**job.manifest, "rows": count}, indent=2, default=str))
            size = await run_sync(whole.commit)
        return Exported(target, job.format, count, size, beside, _remarks(job.jobs))

    async def _pages(self, job: _Job) -> AsyncIterator[list[dict[str, Any]]]:
        redact = self._redactor()
        for one in job.jobs:
            async for stored in self._store.attempts(one.id, with_answers=job.with_answers):
                yield [row_of(one, row, redact) for row in stored]

    async def _page(self, wanted: Selected, jobs: Sequence[SelectedJob], target: Path) -> Exported:
        manifest = await manifest_of(self._store, wanted, jobs, (), self._clock.utc_now(), self._redactor())
        page, remarks = await self._reports.page(jobs, manifest)
        size = await _write_text(target, page)
        rows = await self._store.extent(jobs)
        return Exported(target, "html", rows, size, None, (*_remarks(jobs), *remarks))


def _writer(job: _Job, file: BinaryIO) -> Writer:
    if job.format == "json":
        return JsonWriter(file, job.manifest)
    if job.format == "csv":
        return CsvWriter(file, job.columns)
    return ParquetWriter(file, job.columns, job.manifest)


def _remarks(jobs: Sequence[SelectedJob]) -> tuple[str, ...]:
    going_on = [job.run_id for job in jobs if job.run_state in ("queued", "running", "paused")]
    return tuple(f"{run_id} is not over: what it has so far was written" for run_id in dict.fromkeys(going_on))


@asynccontextmanager
async def _whole(target: Path) -> AsyncIterator[tuple[BinaryIO, WholeFile]]:
    """A file to be committed inside the block; whatever happens there, nothing half written stays."""
    whole = WholeFile(target)
    try:
        yield await run_sync(whole.open), whole
    finally:
        with anyio.CancelScope(shield=True):
            await run_sync(whole.discard)


async def _write_text(target: Path, text: str) -> int:
    async with _whole(target) as (file, whole):
        with mapped_errors(target):
            await run_sync(file.write, text.encode("utf-8", "replace"))
        return await run_sync(whole.commit)
