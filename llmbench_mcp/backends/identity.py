"""Whether the model that answered is the one that was asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from llmbench_mcp.backends.client import HttpClient
from llmbench_mcp.domain.errors import IdentityError
from llmbench_mcp.domain.text import one_line

NameGroups = Callable[[], Awaitable[Iterable[frozenset[str]]]]
"""Asks the server for its models, each as the set of all names that mean it."""


class Identity:
    """Compares the name in an answer with the name asked for; two names of one model are the same."""

    def __init__(self, client: HttpClient, groups: NameGroups) -> None:
        self._client = client
        self._groups = groups
        self._same: set[tuple[str, str]] = set()

    async def check(self, asked: str, answered: str | None) -> None:
        """Raises IdentityError when another model answered; an answer without a name proves nothing either way."""
        if answered is None or answered == asked or (asked, answered) in self._same:
            return
        if any({asked, answered} <= group for group in await self._groups()):
            self._same.add((asked, answered))
            return
        raise IdentityError(
            f"{self._client.address.base} answered as '{self._client.clean(answered, 80)}',"
            f" not as '{one_line(asked, 80)}'.",
            "Assign the model the server really serves, or start the server with the other one.",
        )
