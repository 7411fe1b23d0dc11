"""The error of a wrong command line."""

from __future__ import annotations

import typer

# Typer exports only subclasses of its usage error: UsageError <- BadParameter.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
