"""``gpu``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from llmbench_mcp.cli.session import session

if TYPE_CHECKING:
    from llmbench_mcp.app import App
    from llmbench_mcp.services.devices import DeviceView


def gpu(context: typer.Context) -> None:
    """Show the devices that models load into, read now."""
    from llmbench_mcp.cli import shapes, tables

    here = session(context)

    async def work(app: App) -> Sequence[DeviceView]:
        return await app.devices.read()

    views = here.use(work)
    here.show({"devices": [shapes.device(view) for view in views]}, lambda: tables.devices(views))
