from __future__ import annotations

import pytest

from tests.cli.conftest import cli, data_dir
from tests.mcp.conftest import era
from tests.security.resolver import Resolver

__all__ = ["cli", "data_dir", "era", "resolver"]


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Resolver:
    return Resolver(monkeypatch)
