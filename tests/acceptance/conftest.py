"""The command line in this process, as its own tests use it."""

from __future__ import annotations

from tests.cli.conftest import cli, data_dir

__all__ = ["cli", "data_dir"]
