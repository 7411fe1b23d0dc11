from __future__ import annotations

import pytest

from tests.mcp.bench import Era


@pytest.fixture(params=["auto", "legacy"])
def era(request: pytest.FixtureRequest) -> Era:
    """Both protocol eras: stateless 2026-07-28 and the handshake before it."""
    chosen: Era = request.param
    return chosen
