"""What ``endpoint probe`` asks: which server, which of its models."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.errors import InputError, NotFoundError
from llmbench_mcp.domain.text import one_line

if TYPE_CHECKING:
    from llmbench_mcp.app import App

_ADDRESS = re.compile(r".*[.:/].*|localhost", re.IGNORECASE | re.DOTALL)
_MOST_TOLD = 20


async def known_or_address(app: App, where: str) -> Endpoint | None:
    """The endpoint of that name, id or address; None for an address nobody has added.

    Raises NotFoundError for a word that is no address and names no endpoint.
    """
    try:
        return await app.endpoints.get(where)
    except NotFoundError:
        if _ADDRESS.fullmatch(where):
            return None
        raise


async def only_model(app: App, where: str, credential_ref: str | None) -> str:
    """The name of the one model offered there.

    Raises InputError when there are several or none, and EndpointError.
    """
    names = await app.endpoints.offered(where, credential_ref)
    if len(names) == 1:
        return names[0]
    if not names:
        raise InputError(f"The server at {one_line(where, 80)} offers no model.", "Load or pull one there first.")
    told = ", ".join(one_line(name, 80) for name in names[:_MOST_TOLD])
    raise InputError(f"The server at {one_line(where, 80)} offers {len(names)} models: {told}.", "Choose: --model NAME")
