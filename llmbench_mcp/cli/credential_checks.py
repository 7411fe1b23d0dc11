"""What ``doctor`` says of credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmbench_mcp.cli.check import Check
from llmbench_mcp.domain.credential import stored_name

if TYPE_CHECKING:
    from llmbench_mcp.app import App
    from llmbench_mcp.services.credentials import CredentialView


async def credentials(app: App) -> Check:
    """Where entered keys go, and whether any that is used is missing or expired."""
    views = [await _tried(app, view) for view in await app.credentials.views()]
    bad = [f"{view.reference} ({view.problem or view.state})" for view in views if view.problem or view.state != "set"]
    where = await app.credentials.where()
    found = f"{len(views)} known; the next one entered goes into the {where}"
    if bad:
        return Check("credentials", "warn", f"{found}; of no use: {', '.join(bad)}", "Set them anew: credential set.")
    if where.startswith("nowhere"):
        todo = "Unlock a keyring, or set LLMBENCH_CREDENTIAL_STORE=vault."
        return Check("credentials", "warn", "an entered key could be kept nowhere: no keyring is usable", todo)
    return Check("credentials", "ok", found)


async def _tried(app: App, view: CredentialView) -> CredentialView:
    """With what keeps it from being read. A keyring is left alone: it might ask its owner for a password."""
    name = stored_name(view.reference)
    return await app.credentials.view(name) if name and view.place == "vault" else view
