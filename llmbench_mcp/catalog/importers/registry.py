"""The importers that are installed, by the entry-point group ``llmbench.importers``."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from llmbench_mcp.catalog.importers.importer import Importer
from llmbench_mcp.domain.errors import NotFoundError, SetupError
from llmbench_mcp.domain.text import nearest, one_line

GROUP = "llmbench.importers"
_OWN = (
    "For a table of your own, tell its columns with --map prompt=question,expected=answer,"
    " or call them prompt and expected; then also: suite import table FILE --as NAME"
)


def names() -> list[str]:
    """The names of all importers, sorted; none is imported for it."""
    return sorted(_points())


def importer(name: str) -> Importer:
    """The importer of that name.

    Raises:
        NotFoundError: no such importer. SetupError: a plug-in cannot be loaded or is no importer.
    """
    point = _points().get(name)
    if point is None:
        close = nearest(name, _points())
        step = f"There are: {', '.join(names())}. {_OWN}"
        raise NotFoundError(f"There is no importer '{one_line(name, 60)}'.", step, close)
    try:
        found = point.load()
    except (ImportError, AttributeError) as error:
        raise SetupError(f"The importer {name!r} cannot be loaded: {one_line(str(error))}.", "Reinstall it.") from error
    if not isinstance(found, Importer):
        raise SetupError(f"The entry point {name!r} of {GROUP} is no importer.", "Remove that package.")
    return found


@cache
def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}
