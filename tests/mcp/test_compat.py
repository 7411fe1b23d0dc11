"""What the SDK gets wrong on the wire, as clients see it mended."""

from __future__ import annotations

from pathlib import Path

from mcp import Client
from mcp.server.apps import Apps
from mcp.server.mcpserver import MCPServer

from llmbench_mcp.server.build import BenchServer, build_server
from llmbench_mcp.server.holder import AppHolder
from tests.mcp.bench import Era, settings_in

UI = "io.modelcontextprotocol/ui"


async def test_the_servers_extensions_are_declared_in_both_eras(tmp_path: Path, era: Era) -> None:
    server = BenchServer(AppHolder(settings_in(tmp_path)), extensions=[Apps()])
    async with Client(server, mode=era) as client:
        assert set(client.server_capabilities.extensions or {}) == {UI}


async def test_no_extension_is_declared_that_there_is_not(tmp_path: Path, era: Era) -> None:
    async with Client(build_server(AppHolder(settings_in(tmp_path))), mode=era) as client:
        assert not client.server_capabilities.extensions


async def test_the_sdk_still_needs_help_to_declare_extensions() -> None:
    """When this fails the SDK declares them itself: remove declare_extensions from the server."""
    async with Client(MCPServer("plain", extensions=[Apps()]), mode="legacy") as client:
        assert not client.server_capabilities.extensions


async def test_runs_can_be_subscribed_to_in_both_eras(tmp_path: Path, era: Era) -> None:
    async with Client(build_server(AppHolder(settings_in(tmp_path))), mode=era) as client:
        capabilities = client.server_capabilities
    assert capabilities.resources is not None
    assert capabilities.resources.subscribe is True
    assert capabilities.prompts is not None
    assert capabilities.completions is not None
