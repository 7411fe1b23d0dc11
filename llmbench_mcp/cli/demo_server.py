"""The server that a demo asks: the user's own, or an embedded one that lives as long as the demo."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from llmbench_mcp.cli.progress import activity
from llmbench_mcp.domain.errors import NotFoundError, SetupError
from llmbench_mcp.domain.text import one_line

if TYPE_CHECKING:
    from llmbench_mcp.app import App
    from llmbench_mcp.config import Settings
    from llmbench_mcp.domain.endpoint import Endpoint

NAME = "demo"


@dataclass(frozen=True, slots=True)
class Wish:
    """What the demo shall run on; ``weights`` and ``endpoint`` None mean the default model, embedded."""

    suite: str
    weights: Path | None = None
    endpoint: str | None = None
    model_name: str | None = None
    context: int = 4096
    port: int | None = None


def default_weights(settings: Settings) -> Path | None:
    """The default model's file where it is installed or cached."""
    from llmbench_mcp.backends.embedded.weights import find_default_weights

    return find_default_weights(_cache(settings))


def _cache(settings: Settings) -> Path:
    return settings.cache_dir / "models"


@asynccontextmanager
async def serving_endpoint(app: App, wish: Wish) -> AsyncIterator[Endpoint]:
    """The endpoint to ask, answering for as long as the block lasts.

    Raises:
        InputError: the address or the model file is none. EndpointError: the user's server does not answer.
        SetupError: the embedded server or its weights cannot be had. When the server dies later, the block is
            cancelled, and this error comes in an ExceptionGroup.
    """
    if wish.endpoint is not None:
        yield await _users(app, wish.endpoint)
        return
    from llmbench_mcp.backends.embedded.launcher import embedded_server

    weights, alias = await _weights(app.settings, wish)
    log = app.settings.log_dir / "embedded.log"
    async with (
        embedded_server(weights, alias=alias, context=wish.context, port=wish.port, log_path=log) as server,
        anyio.create_task_group() as group,
    ):
        group.start_soon(server.fail_when_dead)
        yield await app.endpoints.serve(NAME, server.url, "llamacpp", None)
        group.cancel_scope.cancel()


async def _users(app: App, key: str) -> Endpoint:
    from llmbench_mcp.services.endpoints import NewEndpoint

    try:
        return await app.endpoints.get(key)
    except NotFoundError:
        endpoint, _ = await app.endpoints.add(NewEndpoint(key))
        return endpoint


async def _weights(settings: Settings, wish: Wish) -> tuple[Path, str]:
    """The model file and the name to serve it under."""
    from llmbench_mcp.backends.embedded.gguf import check_gguf
    from llmbench_mcp.backends.embedded.weights import DEFAULT_ALIAS, fetch_default_weights

    if wish.weights is not None:
        check_gguf(wish.weights)
    if find_spec("xllamacpp") is None:
        raise SetupError(
            "The demo's own inference server needs the package xllamacpp.",
            "Run: pip install 'llmbench-mcp[embedded]' (or name a server of yours with --endpoint URL).",
        )
    if wish.weights is not None:
        return wish.weights.absolute(), wish.model_name or one_line(wish.weights.stem, 64)
    found = default_weights(settings)
    if found is None:
        with activity("Looking for the default model") as tell:
            found = await fetch_default_weights(_cache(settings), tell)
    return found, wish.model_name or DEFAULT_ALIAS
