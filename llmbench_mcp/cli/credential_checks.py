"""What ``doctor`` says of credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmbench_mcp.cli.check import Check

if TYPE_CHECKING:
    from llmbench_mcp.app import App


async def credentials(app: App) -> Check:
    """Where entered keys go, and whether any that is used is missing or expired."""
    views = await app.credentials.views()
    bad = [f"{view.reference} ({view.state})" for view in views if view.state != "set"]
    where = await app.credentials.where()
    found = f"{len(views)} known; the next one entered goes into the {where}"
    if bad:
        return Check("credentials", "warn", f"{found}; of no use: {', '.join(bad)}", "Set them anew: credential set.")
    if where.startswith("nowhere"):
        todo = "Unlock a keyring, or set LLMBENCH_CREDENTIAL_STORE=vault."
        return Check("credentials", "warn", "an entered key could be kept nowhere: no keyring is usable", todo)
    return Check("credentials", "ok", found)
