"""What ``endpoint probe`` asks: which server, which of its models."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from llmbench_mcp.domain.address import parse_address
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
    from llmbench_mcp.app import real_doors

    doors = real_doors()
    if credential_ref is not None:
        doors.check_credential(credential_ref, False)
    endpoint = await known_or_address(app, where)
    if endpoint is None:
        url = parse_address(where).base
        info = await doors.backends.detect(url, credential_ref)
        endpoint = Endpoint("probe", "probe", url, info.backend)
    backend = doors.backends.open(replace(endpoint, credential_ref=credential_ref or endpoint.credential_ref))
    try:
        names = sorted(offered.served_name for offered in await backend.list_models())
    finally:
        await backend.aclose()
    if len(names) == 1:
        return names[0]
    if not names:
        raise InputError(f"The server at {endpoint.url} offers no model.", "Load or pull one there first.")
    told = ", ".join(one_line(name, 80) for name in names[:_MOST_TOLD])
    raise InputError(f"The server at {endpoint.url} offers {len(names)} models: {told}.", "Choose: --model NAME")
