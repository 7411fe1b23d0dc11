"""What a VALIDATION block may hold, as a JSON Schema."""

from __future__ import annotations

from typing import Any

from llmbench_mcp.domain.errors import NotFoundError
from llmbench_mcp.domain.text import nearest, one_line


def block_schema(name: str | None = None) -> dict[str, Any]:
    """Of every block, or of one validator's. Raises NotFoundError for a validator without one."""
    from llmbench_validators import block_schemas

    if name is None:
        return block_schemas.schema()
    if name not in block_schemas.types():
        close = nearest(name, block_schemas.types())
        raise NotFoundError(
            f"There is no schema of a validator '{one_line(name, 60)}'.", f"Nearest: {', '.join(close)}.", close
        )
    return {"$schema": block_schemas.DIALECT, **block_schemas.block_schema(name)}
