"""What every command gets: its invocation, a way to call the services, a way to answer."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from llmbench_mcp.cli import output
from llmbench_mcp.cli.invocation import Invocation

if TYPE_CHECKING:
    import typer
    from rich.console import RenderableType

    from llmbench_mcp.app import App
    from llmbench_mcp.config import Settings
    from llmbench_mcp.domain.errors import InputError

T = TypeVar("T")

_WAKING_NOBODY = {("executor",), ("doctor",)}
"""Commands that start no executor though a schedule is due: the first are about executors."""
MOST = 1_000_000
"""The largest number that a paging option takes."""


@dataclass(frozen=True, slots=True)
class Session:
    """One command's call."""

    call: Invocation

    @property
    def as_json(self) -> bool:
        """Whether the answer is one JSON document."""
        return self.call.as_json

    def settings(self, **changes: Any) -> Settings:
        """The settings, with changes that a command's own options ask for."""
        return replace(self.call.settings(), **changes)

    def use(
        self, work: Callable[[App], Awaitable[T]], settings: Settings | None = None, *, measured: bool = False
    ) -> T:
        """Open the application, do ``work`` with it, close it. Raises what the services raise.

        ``measured``: on uvloop, where it is installed, since this work times streams.
        """
        import anyio

        from llmbench_mcp.app import open_app

        async def main() -> T:
            async with open_app(settings or self.settings()) as app:
                if self.call.argv[:1] not in _WAKING_NOBODY:
                    await app.schedules.wake()
                found = await work(app)
                if (fault := app.suites.fault) is not None:
                    _warn(fault)
                return found

        return anyio.run(main, backend_options={"use_uvloop": measured and find_spec("uvloop") is not None})

    def show(self, document: Any, render: Callable[[], Iterable[RenderableType]]) -> None:
        """Answer: as JSON or, for people, what ``render`` gives."""
        output.show(self.as_json, document, render)


def _warn(fault: InputError) -> None:
    """The user's own task folder cannot be read, and what was asked could be done without it."""
    from llmbench_mcp.cli.failures import lines

    what = f"{fault.what} Until that is mended, only the shipped suites are known."
    sys.stderr.write(lines("warning", what, fault.next_step or "llmbench-mcp task check shows every fault."))


def session(context: typer.Context) -> Session:
    """The session that this command's context carries."""
    found = context.find_object(Session)
    assert found is not None, "the root command puts it there"
    return found
