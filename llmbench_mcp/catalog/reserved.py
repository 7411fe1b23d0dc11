"""Names that an imported suite must not take."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from llmbench_mcp.catalog.folder import HIDDEN, SUITES
from llmbench_mcp.catalog.source import read_source
from llmbench_mcp.domain.run import CUSTOM_SUITE


def reserved_names(own: Path | None = None) -> frozenset[str]:
    """Categories and suites of the shipped folder and of the user's own, read in a glance.

    Raises TaskFormatError for a suite file that cannot be read.
    """
    found = {CUSTOM_SUITE, HIDDEN}
    roots: list[Traversable] = [files("llmbench_datasets"), *([own] if own else [])]
    for root in roots:
        if root.is_dir():
            found |= {entry.name for entry in root.iterdir() if entry.is_dir()} | _suites(root / SUITES)
    return frozenset(found)


def _suites(file: Traversable) -> set[str]:
    if not file.is_file():
        return set()
    from llmbench_mcp.catalog.block import parse_block

    source = read_source(file)
    block = parse_block(source, source.text)
    entries = [entry.fields(None, "a suite") for entry in block.items("a suite file")] if block else []
    return {entry["name"].text("name") for entry in entries if "name" in entry}
