"""The block that people paste into their MCP client's configuration."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from llmbench_mcp.config import Settings, load_settings, variable

QUESTION = "what did that benchmark find?"


def client_config(settings: Settings) -> dict[str, Any]:
    """``{"mcpServers": {"llmbench": ...}}`` for this installation and these settings.

    Command and folders are absolute: clients start servers with another PATH, working directory and environment than a
    shell. No setting holds a credential; the variables that do are none.
    """
    script = Path(sys.executable).with_name("llmbench-mcp")
    server: dict[str, Any] = {"command": str(script), "args": []}
    if not script.exists():
        server = {"command": sys.executable, "args": ["-m", "llmbench_mcp"]}
    if changed := _changed(settings):
        server["env"] = changed
    return {"mcpServers": {"llmbench": server}}


def _changed(settings: Settings) -> dict[str, str]:
    """The variables of the settings that are not as usual, without those of ``serve`` alone."""
    usual = load_settings({})
    values = {field.name: getattr(settings, field.name) for field in fields(Settings)}
    return {
        variable(name): _text(value)
        for name, value in values.items()
        if value != getattr(usual, name) and not name.startswith("http_")
    }


def _text(value: object) -> str:
    if isinstance(value, Path):
        return str(value.absolute())
    return str(int(value)) if isinstance(value, bool) else str(value)


def http_client_config(url: str, with_token: bool) -> dict[str, Any]:
    """The same for a server that is reached by ``url``; the client takes the token from its environment."""
    server: dict[str, Any] = {"type": "http", "url": url}
    if with_token:
        server["headers"] = {"Authorization": "Bearer ${LLMBENCH_TOKEN}"}
    return {"mcpServers": {"llmbench": server}}
