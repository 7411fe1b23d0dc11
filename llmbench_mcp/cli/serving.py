"""The bare call: MCP over stdio. Imports neither typer nor rich, because a client waits for the start."""

from __future__ import annotations

import sys
from typing import Any

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.cli.invocation import Invocation
from llmbench_mcp.config import load_settings


def serving_options(call: Invocation) -> dict[str, Any] | None:
    """Setting overrides when the arguments ask for nothing but serving; None when a command is meant."""
    options: dict[str, Any] = {"data_dir": call.data_dir}
    words = list(call.argv)
    while words and not call.as_json:
        word = words.pop(0)
        if word == "--read-only":
            options["read_only"] = True
        elif word == "--toolsets" and words and not words[0].startswith("-"):
            options["toolsets"] = words.pop(0)
        elif word.startswith("--toolsets="):
            options["toolsets"] = word.partition("=")[2]
        else:
            return None
    return None if call.as_json else options


def serve(call: Invocation, options: dict[str, Any]) -> int:
    """Serve until the client closes stdin."""
    settings = load_settings(**options)
    if "toolsets" in options and (wrong := _wrong_toolsets(options["toolsets"])):
        from llmbench_mcp.cli import failures

        failures.tell("usage", *wrong, call.as_json)
        return exit_codes.USAGE
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write("This is an MCP server waiting for a client on stdin; for the commands see --help.\n")
    from llmbench_mcp.server.stdio import serve_stdio

    serve_stdio(settings)
    return exit_codes.OK


def _wrong_toolsets(text: str) -> tuple[str, str] | None:
    """What is wrong with the list and what to do, None for nothing."""
    from llmbench_mcp.domain.errors import InputError
    from llmbench_mcp.server.build import chosen_toolsets
    from llmbench_mcp.server.spec import TOOLSETS

    try:
        chosen_toolsets(text)
    except InputError as error:
        return error.what, f"Use --toolsets with one or more of: {','.join(TOOLSETS)}. See: llmbench-mcp --help"
    return None
