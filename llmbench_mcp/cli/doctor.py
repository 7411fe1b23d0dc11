"""``doctor``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.cli.session import session

if TYPE_CHECKING:
    from llmbench_mcp.cli.check import Check
    from llmbench_mcp.cli.grid import Paragraph

_INDENT = 5


def doctor(context: typer.Context) -> int:
    """Check this installation and say what to do about what is wrong."""
    import anyio

    from llmbench_mcp.cli.checks import examine

    here = session(context)
    checks = anyio.run(examine, here.call)
    sound = all(check.state != "fail" for check in checks)
    here.show({"ok": sound, "checks": checks}, lambda: _lines(checks))
    return exit_codes.OK if sound else exit_codes.FAILED


def _lines(checks: Sequence[Check]) -> Iterator[Paragraph]:
    """Every check in a line or more, what to do in lines of its own."""
    from llmbench_mcp.cli.grid import Paragraph

    for check in checks:
        yield Paragraph(f"{check.name}: {check.found}", label=f"{check.state:<{_INDENT}}")
        if check.todo:
            yield Paragraph(check.todo, _INDENT, "-> ")
