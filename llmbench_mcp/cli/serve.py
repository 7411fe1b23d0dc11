"""``serve``: MCP over HTTP, for several people or machines."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from llmbench_mcp.cli import output
from llmbench_mcp.cli.session import session

if TYPE_CHECKING:
    from llmbench_mcp.server.http_auth import Access

DEFAULT_PORT = 8421
_SEVERAL = "May be given several times."


def serve(  # noqa: PLR0913 - a command has one parameter per option
    context: typer.Context,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this machine need a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65_535)] = DEFAULT_PORT,
    allow_host: Annotated[
        list[str] | None, typer.Option(help=f"A name clients reach this server by. {_SEVERAL}", metavar="NAME")
    ] = None,
    allow_origin: Annotated[
        list[str] | None, typer.Option(help=f"A site whose pages may ask. {_SEVERAL}", metavar="ORIGIN")
    ] = None,
    token_env: Annotated[
        list[str] | None,
        typer.Option(help=f"Environment variable with a bearer token, or WHO=VAR. {_SEVERAL}", metavar="VAR"),
    ] = None,
    token_file: Annotated[
        list[Path] | None,
        typer.Option(help=f"File with a token, or lines WHO TOKEN; nobody else may read it. {_SEVERAL}"),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Serve only tools that change nothing.")] = False,
    toolsets: Annotated[str | None, typer.Option(help="Serve only these sets of tools.", metavar="A,B")] = None,
) -> None:
    """Serve MCP over HTTP until SIGTERM or Ctrl-C: /mcp, /sse for older clients, /healthz, /metrics."""
    from llmbench_mcp.server.http_auth import checked_access
    from llmbench_mcp.server.http_serve import Address, serve_http
    from llmbench_mcp.server.http_tokens import load_tokens

    here = session(context)
    settings = here.settings(
        **({"read_only": True} if read_only else {}), **({} if toolsets is None else {"toolsets": toolsets})
    )
    tokens = load_tokens(token_env or (), token_file or ())
    access = checked_access(host, allow_host or (), allow_origin or (), tokens)
    serve_http(settings, Address(host, port), access, _Notice(access, here.as_json))


@dataclass(frozen=True, slots=True)
class _Notice:
    """Tells where the server is and what a client's configuration wants: on stderr, or as JSON on stdout."""

    access: Access
    as_json: bool

    def __call__(self, url: str) -> None:
        from llmbench_mcp.cli.client_config import http_client_config

        reached = self._reached_by(url)
        block = http_client_config(f"{reached}/mcp", bool(self.access.tokens))
        if self.as_json:
            self._tell_json(url, block)
            return
        output.note(f"Serving MCP at {url}/mcp, for older clients at {url}/sse. Ctrl-C ends it.")
        output.note(f"For a client's configuration:\n{json.dumps(block, indent=2)}")
        if self.access.tokens:
            output.note("The client takes its token from its environment variable LLMBENCH_TOKEN, or write it there.")

    def _tell_json(self, url: str, block: dict[str, Any]) -> None:
        output.show(True, {"url": url, "mcp": f"{url}/mcp", "sse": f"{url}/sse", "client": block}, list)
        sys.stdout.flush()

    def _reached_by(self, url: str) -> str:
        """The URL as clients elsewhere write it: by the first name that was allowed."""
        from llmbench_mcp.server.http_auth import is_loopback

        if not self.access.hosts:
            return url
        name, at = self.access.hosts[0], urlsplit(url)
        if is_loopback(at.hostname or ""):
            return f"https://{name}"  # only a proxy reaches this machine by another name, and TLS is the proxy's
        return f"http://{name}:{at.port}"
