"""Tables that fit the terminal without breaking a name or a word: columns are left out, reasons go below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmbench_mcp.domain.text import one_line

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

CELL, SENTENCE = 160, 2_000
_WIDE = 100
_GAP = 2
_LEAST_NOTE, _LEAST_CUT = 30, 20
_INDENT = 2


@dataclass(frozen=True, slots=True)
class Column:
    """A column. Its cells stay whole on one line unless it says otherwise.

    ``wraps``: may go on in the next line, between words. ``cut``: ends with an ellipsis where there is no room.
    ``drop``: left out when there is no room, the lowest number first; 0 is never. ``note``: stands below its row
    over the full width when there is no room for it beside the others.
    """

    name: str
    right: bool = False
    wraps: bool = False
    cut: bool = False
    drop: int = 0
    note: bool = False


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text of any origin, wrapped between words only: what is longer than a line can still be copied."""

    text: str
    indent: int = 0
    label: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """The lines, all beginning where the first does behind the ``label``."""
        margin = self.indent + len(self.label)
        for number, line in enumerate(wrapped(one_line(self.text, SENTENCE), options.max_width - margin)):
            yield _line(" " * (margin if number else self.indent) + ("" if number else self.label) + line)


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of literal text."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    title: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text | Paragraph]:
        """The table, or one block a row where the width does not even hold the columns that must stay."""
        width = options.max_width
        rows = [[_cell(cell, column) for cell, column in zip(row, self.columns, strict=True)] for row in self.rows]
        if self.title:
            yield Paragraph(self.title)
        layout = _Layout.fitting(self.columns, rows, width)
        yield from layout.render(rows, width) if layout else _blocks(self.columns, rows)
        yield _line("")


@dataclass(frozen=True, slots=True)
class _Layout:
    """The columns shown side by side, each with its width, and the one that goes below."""

    columns: Sequence[Column]
    shown: Sequence[int]
    widths: dict[int, int]
    below: int | None

    @classmethod
    def fitting(cls, columns: Sequence[Column], rows: list[list[str]], width: int) -> _Layout | None:
        note = next((i for i, column in enumerate(columns) if column.note), None)
        shown = list(range(len(columns)))
        if note is not None and (width < _WIDE or _need(columns, rows, shown) > width):
            shown.remove(note)
        while _need(columns, rows, shown) > width:
            spare = [i for i in shown if columns[i].drop]
            if not spare:
                return None
            shown.remove(min(spare, key=lambda i: columns[i].drop))
        widths = _widths(columns, rows, shown, width)
        return cls(columns, shown, widths, None if note in shown else note)

    def render(self, rows: list[list[str]], width: int) -> Iterator[Text | Paragraph]:
        from rich.text import Text

        head = next(self._lines([column.name for column in self.columns]))
        yield Text(head, "bold", no_wrap=True, overflow="ignore")
        yield _line("─" * min(width, sum(self.widths.values()) + _GAP * (len(self.shown) - 1)))
        for row in rows:
            yield from map(_line, self._lines(row))
            if self.below is not None and row[self.below]:
                yield Paragraph(row[self.below], 2 * _INDENT)

    def _lines(self, row: list[str]) -> Iterator[str]:
        cells = {i: self._folded(row[i], i) for i in self.shown}
        for number in range(max(map(len, cells.values()))):
            parts = [self._padded(cells[i][number] if number < len(cells[i]) else "", i) for i in self.shown]
            yield (" " * _GAP).join(parts).rstrip()

    def _folded(self, text: str, index: int) -> list[str]:
        column, width = self.columns[index], self.widths[index]
        if column.cut and _cells(text) > width:
            from rich.cells import set_cell_size

            return [set_cell_size(text, width - 1).rstrip() + "…"]
        return wrapped(text, width) if column.wraps or column.note else [text]

    def _padded(self, text: str, index: int) -> str:
        blank = " " * (self.widths[index] - _cells(text))
        return blank + text if self.columns[index].right else text + blank


def wrapped(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width`` terminal cells, except where one word is longer."""
    lines = [""]
    for word in text.split():
        if lines[-1] and _cells(lines[-1]) + 1 + _cells(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _blocks(columns: Sequence[Column], rows: list[list[str]]) -> Iterator[Text | Paragraph]:
    """Every row as its first cell with the others below it, one a line."""
    for row in rows:
        yield _line(row[0])
        for column, cell in zip(columns[1:], row[1:], strict=True):
            if cell:
                yield Paragraph(cell, _INDENT, f"{column.name}: ")


def _need(columns: Sequence[Column], rows: list[list[str]], shown: list[int]) -> int:
    return sum(_least(columns[i], [row[i] for row in rows]) for i in shown) + _GAP * (len(shown) - 1)


def _least(column: Column, cells: list[str]) -> int:
    """The width below which something would break."""
    if column.cut:
        return min(_LEAST_CUT, _natural(column, cells))
    if not (column.wraps or column.note):
        return _natural(column, cells)
    words = max((_cells(word) for text in (*cells, column.name) for word in text.split()), default=0)
    return max(words, min(_LEAST_NOTE, _natural(column, cells))) if column.note else words


def _natural(column: Column, cells: list[str]) -> int:
    return max(map(_cells, (*cells, column.name)))


def _widths(columns: Sequence[Column], rows: list[list[str]], shown: list[int], width: int) -> dict[int, int]:
    """The least widths, and what is left shared among the columns that could use it."""
    cells = {i: [row[i] for row in rows] for i in shown}
    widths = {i: _least(columns[i], cells[i]) for i in shown}
    wanting = {i: _natural(columns[i], cells[i]) - widths[i] for i in shown}
    left = width - sum(widths.values()) - _GAP * (len(shown) - 1)
    for rank, i in enumerate(order := sorted(shown, key=wanting.__getitem__)):
        grant = min(wanting[i], left // (len(order) - rank))
        widths[i], left = widths[i] + grant, left - grant
    return widths


def _cell(text: str, column: Column) -> str:
    return one_line(text, SENTENCE if column.wraps or column.note else CELL)


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _line(text: str) -> Text:
    from rich.text import Text

    return Text(text, no_wrap=True, overflow="ignore")
