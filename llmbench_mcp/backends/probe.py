"""Finding out what serves at an address, with each path asked at most once."""

from __future__ import annotations

from collections import defaultdict

import anyio

from llmbench_mcp.backends.client import Answer, HttpClient
from llmbench_mcp.domain.errors import EndpointError

NO, GENERIC, SURE = 0, 1, 2
"""How certain a backend is that a server speaks its dialect; the highest wins."""

ANSWER_S = 10.0
"""So long may the answer to one path take."""


class Probe:
    """Answers to GET requests, remembered for one detection, whoever asks and however many at once."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._answers: dict[str, Answer | EndpointError] = {}
        self._asking: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)

    async def get(self, path: str) -> Answer:
        """The answer whatever its status. Raises UnreachableError, EndpointTimeout or ProtocolError."""
        async with self._asking[path]:
            if path not in self._answers:
                self._answers[path] = await self._ask(path)
        known = self._answers[path]
        if isinstance(known, EndpointError):
            raise known
        return known

    async def _ask(self, path: str) -> Answer | EndpointError:
        try:
            return await self._client.request("GET", path, total_s=ANSWER_S)
        except EndpointError as error:
            return error
