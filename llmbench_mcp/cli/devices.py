"""``gpu``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from llmbench_mcp.cli.session import session

if TYPE_CHECKING:
    from llmbench_mcp.app import App
    from llmbench_mcp.cli.session import Session
    from llmbench_mcp.domain.hardware import DeviceSample
    from llmbench_mcp.services.devices import DeviceView


def gpu(
    context: typer.Context,
    minutes: Annotated[
        float, typer.Option("--minutes", min=0, max=1_000_000, help="What was kept while work ran, this far back.")
    ] = 0,
) -> None:
    """Show the devices that models load into, read now; with --minutes, what they showed while work ran."""
    from llmbench_mcp.cli import device_tables, shapes

    here = session(context)
    if minutes:
        _history(here, minutes)
        return

    async def work(app: App) -> Sequence[DeviceView]:
        return await app.devices.read()

    views = here.use(work)
    here.show({"devices": [shapes.device(view) for view in views]}, lambda: device_tables.devices(views))


def _history(here: Session, minutes: float) -> None:
    from llmbench_mcp.cli import device_tables

    async def work(app: App) -> Sequence[DeviceSample]:
        return await app.devices.history(minutes)

    samples = here.use(work)
    here.show({"samples": samples}, lambda: [device_tables.samples(samples)])
