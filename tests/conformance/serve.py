"""Serves the product over HTTP as ``llmbench-mcp serve`` does, with the conformance fixtures on the same server.

Usage: ``python -m tests.conformance.serve DATA_DIR [PORT]``; the first line of output is the base URL.
"""

from __future__ import annotations

import sys
from pathlib import Path

from llmbench_mcp.config import load_settings
from llmbench_mcp.server import http
from llmbench_mcp.server.build import BenchServer, build_server
from llmbench_mcp.server.holder import AppHolder
from llmbench_mcp.server.http_auth import Access
from llmbench_mcp.server.http_serve import Address, serve_http
from tests.conformance.fixtures import register


def with_fixtures(holder: AppHolder) -> BenchServer:
    server = build_server(holder)
    register(server)
    return server


def main(data_dir: str, port: str = "0") -> None:
    vars(http)["build_server"] = with_fixtures  # the one place where the product makes its server
    settings = load_settings({}, data_dir=Path(data_dir), discover_ports="none")
    serve_http(settings, Address("127.0.0.1", int(port)), Access(), _tell)


def _tell(url: str) -> None:
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
