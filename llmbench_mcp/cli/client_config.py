"""The block that people paste into their MCP client's configuration."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from llmbench_mcp.config import Settings, default_data_dir

QUESTION = "what did that benchmark find?"


def client_config(settings: Settings) -> dict[str, Any]:
    """``{"mcpServers": {"llmbench": ...}}`` for this installation and data directory.

    The command is absolute: clients start servers with another PATH and working directory than a shell.
    """
    script = Path(sys.executable).with_name("llmbench-mcp")
    server: dict[str, Any] = {"command": str(script), "args": []}
    if not script.exists():
        server = {"command": sys.executable, "args": ["-m", "llmbench_mcp"]}
    if settings.data_dir != default_data_dir().absolute():
        server["env"] = {"LLMBENCH_DATA_DIR": str(settings.data_dir)}
    return {"mcpServers": {"llmbench": server}}


def http_client_config(url: str, with_token: bool) -> dict[str, Any]:
    """The same for a server that is reached by ``url``; the client takes the token from its environment."""
    server: dict[str, Any] = {"type": "http", "url": url}
    if with_token:
        server["headers"] = {"Authorization": "Bearer ${LLMBENCH_TOKEN}"}
    return {"mcpServers": {"llmbench": server}}
