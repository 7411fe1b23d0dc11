"""What an importer is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from llmbench_mcp.catalog.importers.bundle import Bundle
from llmbench_mcp.catalog.item import Item


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of a data set. ``parts``: names of its splits, categories or files; empty for the usual.

    ``columns``: by field of a task, the column of a user's table that holds it.
    """

    parts: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Importer:
    """One data set's format.

    ``licence`` is what its publishers state, ``parts`` which words ``--split`` takes. ``forgiving``: an item that its
    validator could not grade is marked as bad; else it is an error, since the user can mend it. ``read`` raises
    TaskFormatError (``file:line: what``) for a bad row and InputError for files that are missing.
    """

    title: str
    description: str
    licence: str
    read: Callable[[Bundle, Wish], Iterator[Item]]
    parts: str = ""
    forgiving: bool = True
