"""Rows as JSON, CSV and Parquet. Writers block: their work is done in a thread, a page at a time."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Literal, Protocol

from llmbench_mcp.domain.errors import SetupError
from llmbench_mcp.domain.text import visible
from llmbench_mcp.services.export_rows import FORMAT, Column, Row

Format = Literal["json", "csv", "parquet", "html"]
FORMATS: tuple[Format, ...] = ("json", "csv", "parquet", "html")

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a spreadsheet takes for the start of a formula, in some languages in its full-width form, too."""


class Writer(Protocol):
    """Writes one file's rows."""

    def write(self, rows: Sequence[Row]) -> None:
        """Some more."""
        ...

    def close(self) -> None:
        """What has to stand at the end."""
        ...


class JsonWriter:
    """One document: ``{"format", "manifest", "attempts": [...]}``, an attempt a line."""

    def __init__(self, file: BinaryIO, manifest: Mapping[str, Any]) -> None:
        self._file = file
        self._first = True
        head = _line({"format": FORMAT, "manifest": manifest})
        file.write(head[:-1] + b',"attempts":[')

    def write(self, rows: Sequence[Row]) -> None:
        """Some more attempts; what is not known is left out."""
        for row in rows:
            self._file.write(b"\n" if self._first else b",\n")
            self._file.write(_line({name: value for name, value in row.items() if value is not None}))
            self._first = False

    def close(self) -> None:
        """The closing brackets."""
        self._file.write(b"\n]}\n")


def _line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "replace")


class CsvWriter:
    """RFC 4180 in UTF-8 with a header; no cell of it is a formula to a spreadsheet."""

    def __init__(self, file: BinaryIO, columns: Sequence[Column]) -> None:
        self._file = file
        self._names = [column.name for column in columns]
        self.write([dict(zip(self._names, self._names, strict=True))])

    def write(self, rows: Sequence[Row]) -> None:
        """Some more lines."""
        text = io.StringIO(newline="")
        csv.writer(text).writerows([cell(row[name]) for name in self._names] for row in rows)
        self._file.write(text.getvalue().encode("utf-8", "replace"))

    def close(self) -> None:
        """Nothing stands at the end."""


def cell(value: Any) -> str:
    """A value as a CSV cell: harmless text, true and false in words, empty for what is not known."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return str(value)
    # An apostrophe makes it text; it is told by the leading character of the value as it came.
    return ("'" if value.startswith(_FORMULA) else "") + visible(value)


class ParquetWriter:
    """One row group a page; the manifest is among the file's metadata under ``llmbench_manifest``.

    Raises:
        SetupError: pyarrow is not installed.
    """

    def __init__(self, file: BinaryIO, columns: Sequence[Column], manifest: Mapping[str, Any]) -> None:
        pyarrow = parquet_library()
        from pyarrow.parquet import ParquetWriter as Library

        kinds = {"text": pyarrow.string, "integer": pyarrow.int64, "number": pyarrow.float64, "yes_no": pyarrow.bool_}
        fields = [pyarrow.field(column.name, kinds[column.kind]()) for column in columns]
        metadata = {"llmbench_format": FORMAT, "llmbench_manifest": _line(manifest)}
        self._schema = pyarrow.schema(fields, metadata=metadata)
        self._table = pyarrow.Table
        self._writer = Library(file, self._schema, compression="zstd")

    def write(self, rows: Sequence[Row]) -> None:
        """One row group more."""
        self._writer.write_table(self._table.from_pylist(list(rows), schema=self._schema))

    def close(self) -> None:
        """The footer."""
        self._writer.close()


def parquet_library() -> Any:
    """The pyarrow package. Raises SetupError where it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise SetupError(
            "Parquet needs the package pyarrow, which is not installed.",
            "Install the extra 'parquet' (pip install 'llmbench-mcp[parquet]'), or export csv or json.",
        ) from error
    return pyarrow
