"""Rows of JSON and CSV files, each able to say where it stands and what is wrong with it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from llmbench_mcp.catalog.importers.bundle import Bundle
from llmbench_mcp.catalog.source import quoted
from llmbench_mcp.domain.errors import TaskFormatError
from llmbench_mcp.domain.text import is_text

MAX_ROWS = 200_000
MAX_ROW = 8 * 2**20
csv.field_size_limit(MAX_ROW)  # of the whole process; the module's own 128 KiB are less than a long document
_BLANK = re.compile(r"[\s,]*")
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Row:
    """One row's values by column."""

    file: str
    line: int
    values: Mapping[str, Any]

    @property
    def where(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}"

    def error(self, what: str, next_step: str = "") -> TaskFormatError:
        """An error at this row."""
        return TaskFormatError(f"{self.where}: {what}", next_step)

    def text(self, *keys: str, empty: bool = False) -> str:
        """The first of the columns there is, as text, not blank unless ``empty``; a whole number is text, too."""
        value = self.any(*keys)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or not (empty or value.strip()):
            raise self.error(f"{keys[0]} must be text, not {quoted(value)}.", self._have())
        if not is_text(value):
            raise self.error(f"{keys[0]} holds half a surrogate pair.", "Write whole Unicode characters.")
        return value.replace("\r\n", "\n")

    def optional(self, *keys: str) -> str:
        """As ``text``; empty where the column is missing or null."""
        return "" if self.values.get(self._first(keys) or "") is None else self.text(*keys, empty=True)

    def any(self, *keys: str) -> Any:
        """The value of the first of the columns there is."""
        key = self._first(keys)
        if key is None:
            raise self.error(f"has no {keys[0]}.", self._have())
        return self.values[key]

    def items(self, *keys: str) -> Sequence[Any]:
        """The value as a list."""
        value = self.any(*keys)
        if not isinstance(value, list):
            raise self.error(f"{keys[0]} must be a list, not {quoted(value)}.")
        return value

    def texts(self, *keys: str) -> list[str]:
        """The value as a list of text."""
        found = self.items(*keys)
        if not all(isinstance(one, str) and is_text(one) for one in found):
            raise self.error(f"{keys[0]} must be a list of text.")
        return [str(one).replace("\r\n", "\n") for one in found]

    def _first(self, keys: Sequence[str]) -> str | None:
        return next((key for key in keys if key in self.values), None)

    def _have(self) -> str:
        return f"The row has {', '.join(quoted(key) for key in list(self.values)[:12]) or 'nothing'}."


def json_rows(bundle: Bundle, name: str, constants: bool = False) -> Iterator[Row]:
    """The objects of a file of JSON lines, of a JSON list, or of one JSON object after another.

    ``constants`` lets NaN and Infinity pass. Raises TaskFormatError and InputError.
    """
    count = 0
    for line, value in _values(bundle, name, constants):
        if not isinstance(value, dict):
            raise _no_json(name, line) if is_csv(name) else _at(name, line, f"must be an object, not {quoted(value)}.")
        count += 1
        if count > MAX_ROWS:
            raise _at(name, line, f"is beyond the {MAX_ROWS} rows that are read.", "Split the file.")
        yield Row(name, line, value)
    bundle.count_rows(name, count)


def _values(bundle: Bundle, name: str, constants: bool) -> Iterator[tuple[int, Any]]:
    text = bundle.text(name)
    decoder = json.JSONDecoder(parse_constant=None if constants else _refuse)
    at = _SPACE.match(text).end()  # type: ignore[union-attr]  # it matches everywhere
    inside = text[at : at + 1] == "["
    at, line, counted = at + inside, 1, 0
    while True:
        at = (_BLANK if inside else _SPACE).match(text, at).end()  # type: ignore[union-attr]  # likewise
        line, counted = line + text.count("\n", counted, at), at
        if at >= len(text) or (inside and text[at] == "]"):
            break
        value, end = _decoded(decoder, text, at, (name, line))
        if end - at > MAX_ROW:
            raise _at(name, line, f"is longer than {MAX_ROW >> 20} MiB.", "Leave it out.")
        yield line, value
        at = end
    if inside and text[at + 1 :].strip():
        raise _at(name, line, "something follows the end of the list.")


def _decoded(decoder: json.JSONDecoder, text: str, at: int, place: tuple[str, int]) -> tuple[Any, int]:
    try:
        return decoder.raw_decode(text, at)
    except json.JSONDecodeError as error:
        line = 1 + text.count("\n", 0, min(error.pos, len(text.rstrip())))  # of what is cut off, not of the end
        fault = _at(place[0], line, f"is not valid JSON: {error.msg}.", "Fetch the file again.")
        raise (_no_json(*place) if is_csv(place[0]) else fault) from error
    except (ValueError, RecursionError) as error:
        raise _at(
            *place, "holds a value that is not plain JSON.", "NaN, endless numbers and deep nests are not."
        ) from error


def _no_json(name: str, line: int) -> TaskFormatError:
    return _at(
        name,
        line,
        "is not valid JSON: this importer reads JSON lines, and the file is CSV by its name.",
        "Import a table of your own with: suite import table FILE --as NAME",
    )


def is_csv(name: str) -> bool:
    """Whether the file is CSV or TSV by its name."""
    return name.casefold().removesuffix(".gz").endswith((".csv", ".tsv"))


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def csv_rows(bundle: Bundle, name: str, columns: Sequence[str] = ()) -> Iterator[Row]:
    """The rows of a CSV file (TSV by its name), by the columns of its first line, or by ``columns`` where given.

    Raises TaskFormatError for a row with too few or too many cells, and InputError.
    """
    delimiter = "\t" if name.casefold().removesuffix(".gz").endswith(".tsv") else ","
    reader = csv.reader(io.StringIO(bundle.text(name), newline=""), strict=True, delimiter=delimiter)
    count, names = 0, list(columns)
    while (cells := _cells(reader, name)) is not None:
        if not names:
            names = _header(cells, name)
        elif cells:
            count += 1
            if count > MAX_ROWS:
                raise _at(name, reader.line_num, f"is beyond the {MAX_ROWS} rows that are read.", "Split the file.")
            if len(cells) != len(names):
                raise _at(name, reader.line_num, f"has {len(cells)} cells where {len(names)} are expected.", "Mend it.")
            yield Row(name, reader.line_num, dict(zip(names, cells, strict=True)))
    bundle.count_rows(name, count)


def _cells(reader: Any, name: str) -> list[str] | None:
    try:
        found: list[str] | None = next(reader, None)
    except csv.Error as error:
        raise _at(name, reader.line_num, f"is not valid CSV: {error}.", "Mend its quotes.") from error
    return found


def _header(cells: list[str], name: str) -> list[str]:
    names = [cell.strip() for cell in cells]
    if len(set(names)) < len(names) or not all(names):
        raise _at(name, 1, "the first line must name every column once.", "Name the columns in it.")
    return names


def first_line(bundle: Bundle, name: str) -> list[str]:
    """The cells of a CSV file's first line."""
    head = bundle.text(name)[:MAX_ROW]
    return _cells(csv.reader(io.StringIO(head, newline=""), strict=True), name) or []


def _at(name: str, line: int, what: str, next_step: str = "") -> TaskFormatError:
    return TaskFormatError(f"{name}:{line}: {what}", next_step)
