"""``doctor``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.cli.session import session

if TYPE_CHECKING:
    from llmbench_mcp.cli.checks import Check


def doctor(context: typer.Context) -> int:
    """Check this installation and say what to do about what is wrong."""
    import anyio

    from llmbench_mcp.cli.checks import examine

    here = session(context)
    checks = anyio.run(examine, here.call)
    sound = all(check.state != "fail" for check in checks)
    here.show({"ok": sound, "checks": checks}, lambda: [_table(checks)])
    return exit_codes.OK if sound else exit_codes.FAILED


def _table(checks: Sequence[Check]) -> Any:
    from llmbench_mcp.cli.tables import table

    rows = [(check.state, check.name, check.found, check.todo) for check in checks]
    return table("", ("!State", "!Check", "Found", "What to do"), rows)
