"""A backend for a while: opened, lent, closed whatever happens, without waiting long for the closing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.ports import Backend, BackendFactory

_CLOSE_S = 2.0


@asynccontextmanager
async def lent(backends: BackendFactory, endpoint: Endpoint) -> AsyncIterator[Backend]:
    """A backend onto ``endpoint``; closed in the end, also when cancelled. Raises SetupError and InputError."""
    backend = backends.open(endpoint)
    try:
        yield backend
    finally:
        with anyio.move_on_after(_CLOSE_S, shield=True):
            await backend.aclose()
