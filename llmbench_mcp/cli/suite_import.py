"""``suite import | list | remove``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llmbench_mcp.cli import output
from llmbench_mcp.cli.session import session
from llmbench_mcp.cli.usage import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from llmbench_mcp.app import App
    from llmbench_mcp.catalog.imported import Scan
    from llmbench_mcp.domain.task import Suite
    from llmbench_mcp.services.imports import Change, ImportWish

_NAME = "What it is: humaneval, gsm8k, bfcl …; or your own table's new name. Without a name, all are listed."
_SOURCE = "A file (.jsonl, .json, .csv, also .gz), a folder, a .zip or .whl, or an installed package."
_MAP = "For your own table, unless its columns are called prompt, expected and so on: which ones hold them."


def import_suite(  # noqa: PLR0913 - a command has one parameter per option
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help=_NAME)] = None,
    source: Annotated[str | None, typer.Argument(help=_SOURCE, metavar="PATH_OR_PACKAGE")] = None,
    sample: Annotated[int | None, typer.Option(help="Draw this many tasks.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed draws the same tasks on every machine.")] = 0,
    limit: Annotated[int | None, typer.Option(help="Only the first tasks.")] = None,
    split: Annotated[str | None, typer.Option(help="Parts of the set, such as test or simple.", metavar="A,B")] = None,
    as_suite: Annotated[str | None, typer.Option("--as", help="The suite's name.", metavar="SUITE")] = None,
    columns: Annotated[str | None, typer.Option("--map", help=_MAP, metavar="prompt=question,expected=answer")] = None,
    title: Annotated[str | None, typer.Option(help="The suite's title.")] = None,
    licence: Annotated[str | None, typer.Option(help="The data's licence, where you know better.")] = None,
    with_marked: Annotated[bool, typer.Option("--with-marked", help="Count items known to be bad, too.")] = False,
) -> None:
    """Import a public benchmark or your own table as a suite; again, to update it."""
    from llmbench_mcp.services.imports import Imports, ImportWish

    here = session(context)
    if name is None:
        here.show({"importers": list(_importers())}, lambda: [_importer_table(_importers())])
        return
    if source is None:
        raise UsageError("Missing argument 'PATH_OR_PACKAGE'.", context)
    parts = tuple(word.strip() for word in (split or "").split(",") if word.strip())
    wish = ImportWish(
        importer=name,
        source=source,
        suite=as_suite,
        parts=parts,
        columns=_mapping(columns, context),
        sample=sample,
        seed=seed,
        limit=limit,
        with_marked=with_marked,
        licence=licence,
        title=title,
    )
    change = Imports(here.settings()).run(wish)
    here.show(_change_shape(change), lambda: [_told(change, wish)])
    if change.runs_tests:
        output.note("Its tests are code that runs with your rights when answers are graded: trust where it is from.")
    for task, reason in change.imported.marked.items():
        output.note(f"Marked, not counted: {task}: {reason}.")


def list_suites(context: typer.Context) -> None:
    """List all suites, the imported ones with their licence."""
    from llmbench_mcp.services.imports import Imports

    here = session(context)

    async def work(app: App) -> list[Suite]:
        return await app.suites.heads(strict=False)

    suites, scan = here.use(work), Imports(here.settings()).scan()
    here.show({"suites": [_suite_shape(suite, scan) for suite in suites]}, lambda: [_suite_table(suites, scan)])
    for problem in scan.problems:
        output.note(f"Cannot be read: {problem}")


def remove(context: typer.Context, name: Annotated[str, typer.Argument(help="An imported suite.")]) -> None:
    """Delete an imported suite; runs and results of it stay."""
    from llmbench_mcp.cli.tables import sentence
    from llmbench_mcp.services.imports import Imports

    here = session(context)
    gone = Imports(here.settings()).remove(name)
    document = {"removed": gone.suite.name, "tasks": len(gone.suite.items)}
    here.show(document, lambda: [sentence(_gone_told(gone.suite.name))])


def _gone_told(name: str) -> str:
    return f"Removed suite {name}. Results of it stay: llmbench-mcp leaderboard {name}, run results, results export."


def _mapping(text: str | None, context: typer.Context) -> dict[str, str]:
    pairs = [word.partition("=") for word in (text or "").split(",") if word.strip()]
    if not all(field.strip() and column.strip() for field, _, column in pairs):
        raise UsageError("--map wants pairs: prompt=question,expected=answer.", context)
    return {field.strip(): column.strip() for field, _, column in pairs}


def _importers() -> Iterable[dict[str, str]]:
    from llmbench_mcp.catalog.importers import registry

    for name in registry.names():
        found = registry.importer(name)
        yield {"name": name, "title": found.title, "licence": found.licence, "split": found.parts}


def _importer_table(rows: Iterable[dict[str, str]]) -> RenderableType:
    from llmbench_mcp.cli.grid import Column
    from llmbench_mcp.cli.tables import table

    columns = (Column("Name"), Column("What"), Column("Licence"), Column("--split", wraps=True, drop=1))
    return table(columns, [(row["name"], row["title"], row["licence"], row["split"]) for row in rows])


def _change_shape(change: Change) -> dict[str, Any]:
    suite = change.imported.suite
    return {
        "suite": suite.name,
        "state": change.word,
        "version": suite.version,
        "version_before": change.before,
        "tasks": len(suite.items),
        "marked": dict(change.imported.marked),
        "added": change.added,
        "changed": change.changed,
        "removed": change.removed,
        "licence": suite.licence,
        "origin": dict(change.imported.origin),
    }


def _told(change: Change, wish: ImportWish) -> RenderableType:
    from llmbench_mcp.cli.figures import count
    from llmbench_mcp.cli.tables import sentence

    suite, marked = change.imported.suite, len(change.imported.marked)
    size = count(len(suite.items), "task") + (f" and {marked} marked as bad" if marked else "")
    size += f", drawn with seed {wish.seed}" if wish.sample else ""
    if change.word == "new":
        told = f"Imported {suite.name}: {size}."
    elif change.word == "unchanged":
        told = f"Suite {suite.name} is as it was, version {suite.version}: {size}."
    else:
        told = f"Updated {suite.name} from version {change.before} to {suite.version}: {size}; "
        told += f"{change.added} added, {change.changed} changed, {change.removed} removed."
    licence = "" if suite.licence == "unknown" else f" Licence: {suite.licence}."
    return sentence(f"{told}{licence} Next: llmbench-mcp run start --model MODEL --suite {suite.name}")


def _suite_shape(suite: Suite, scan: Scan) -> dict[str, Any]:
    shape: dict[str, Any] = {name: getattr(suite, name) for name in ("name", "title", "description", "version")}
    shape |= {"tasks": len(suite.items), "licence": suite.licence, "imported": suite.origin is not None}
    if suite.origin is not None:
        marked = next((one.marked for one in scan.suites if one.suite.name == suite.name), {})
        shape |= {"origin": dict(suite.origin), "marked": dict(marked)}
    return shape


def _suite_table(suites: list[Suite], scan: Scan) -> RenderableType:
    from llmbench_mcp.cli.grid import Column
    from llmbench_mcp.cli.tables import table

    marked = {one.suite.name: len(one.marked) for one in scan.suites}
    columns = (
        Column("Suite"),
        Column("Version", right=True, drop=2),
        Column("Tasks", right=True),
        Column("Marked", right=True, drop=1),
        Column("Licence"),
        Column("From", wraps=True),
    )
    rows = [
        (
            suite.name,
            str(suite.version),
            str(len(suite.items)),
            str(marked.get(suite.name, 0) if suite.origin else 0),
            suite.licence or "MIT",
            str(suite.origin["from"]) if suite.origin else "built in" if "llmbench_datasets" in suite.source else "own",
        )
        for suite in suites
    ]
    return table(columns, rows)


COMMANDS: dict[str, Callable[..., Any]] = {"import": import_suite, "list": list_suites, "remove": remove}
