"""The checks of ``doctor`` that load every plug-in and read every task file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from llmbench_mcp.cli.check import Check
from llmbench_mcp.domain.errors import BenchError, InputError
from llmbench_mcp.domain.text import one_line

if TYPE_CHECKING:
    from llmbench_mcp.app import App
    from llmbench_mcp.config import Settings

_MOST_TOLD = 5


async def validators(settings: Settings) -> Check:
    """Every entry point of ``llmbench.validators``, loaded."""
    import anyio

    from llmbench_mcp.scoring.plugins import load_validator, validator_names

    return await anyio.to_thread.run_sync(lambda: _loaded("validators", validator_names(), load_validator))


async def backends(settings: Settings) -> Check:
    """Every entry point of ``llmbench.backends``, loaded."""
    import anyio

    from llmbench_mcp.backends.registry import EntryPointBackends

    known = EntryPointBackends()
    return await anyio.to_thread.run_sync(lambda: _loaded("backends", known.names(), known.load))


def _loaded(what: str, names: Iterable[str], load: Callable[[str], None]) -> Check:
    sound, errors = [], list[BenchError]()
    for name in names:
        try:
            load(name)
            sound.append(one_line(name, 60))
        except BenchError as error:
            errors.append(error)
    if errors:
        return Check(what, "fail", " ".join(error.what for error in errors), errors[0].next_step)
    return Check(what, "ok", ", ".join(sound))


async def suites(app: App) -> Check:
    """Every task file there is, and whether its block could grade anything; runs no code."""
    import anyio

    try:
        heads = await app.suites.heads()
    except InputError as error:
        todo = f"Mend it; llmbench-mcp task check shows every fault. {error.next_step}"
        return Check("suites", "fail", error.what, todo.strip())
    problems = await anyio.to_thread.run_sync(lambda: list(_problems(app.settings)))
    if problems:
        more = f"; and {len(problems) - _MOST_TOLD} more" if len(problems) > _MOST_TOLD else ""
        todo = "Mend those files; llmbench-mcp task check tells more."
        return Check("suites", "fail", "; ".join(problems[:_MOST_TOLD]) + more, todo)
    tasks = {item.task_id for suite in heads for item in suite.items}
    return Check("suites", "ok", f"{len(heads)} suites with {len(tasks)} tasks")


def _problems(settings: Settings) -> Iterator[str]:
    from llmbench_mcp.catalog.imported import ImportedSuites
    from llmbench_mcp.catalog.review import review
    from llmbench_mcp.scoring.blocks import block_fault

    found = review((), (settings.tasks_dir,) if settings.tasks_dir else ())
    faults = (reviewed.problem(fault, fault) for reviewed in found.tasks if (fault := block_fault(reviewed.task)))
    for problem in (*found.problems, *faults):
        yield f"{problem.path}:{problem.line}: {one_line(problem.what)}"
    yield from (one_line(str(error), 300) for error in ImportedSuites(settings.imports_dir).scan().problems)
