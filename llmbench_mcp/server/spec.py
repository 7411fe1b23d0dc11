"""What a tool is to the server: its function, its title, its hints, its toolset."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations

from llmbench_mcp.server.holder import AppHolder

if TYPE_CHECKING:
    from llmbench_mcp.app import App

Toolset = Literal["core", "manage"]
TOOLSETS: tuple[Toolset, ...] = ("core", "manage")

Call = Context[AppHolder, Any]
"""The context of one tool call."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool; its name and description are its function's name and docstring."""

    run: Callable[..., Awaitable[CallToolResult | InputRequiredResult]]
    title: str
    hints: ToolAnnotations
    toolset: Toolset = "core"

    @property
    def name(self) -> str:
        """The function's name."""
        return self.run.__name__

    @property
    def description(self) -> str:
        """The docstring on one line."""
        return " ".join((self.run.__doc__ or "").split())

    @property
    def writes(self) -> bool:
        """Whether it changes anything; such tools are absent from a read-only server."""
        return not self.hints.read_only_hint


def reads(*, asks_servers: bool = False) -> ToolAnnotations:
    """Hints of a tool that changes nothing; ``asks_servers``: it talks to inference servers."""
    return ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=asks_servers
    )


def writes(*, destructive: bool = False, idempotent: bool = False, asks_servers: bool = False) -> ToolAnnotations:
    """Hints of a tool that changes something."""
    return ToolAnnotations(
        read_only_hint=False,
        destructive_hint=destructive,
        idempotent_hint=idempotent,
        open_world_hint=asks_servers,
    )


async def app_of(ctx: Call) -> App:
    """The App behind a call. Raises StorageError when it cannot be opened."""
    return await ctx.request_context.lifespan_context.get()
