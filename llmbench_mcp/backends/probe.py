"""Finding out what serves at an address, with each path asked at most once."""

from __future__ import annotations

from llmbench_mcp.backends.client import Answer, HttpClient

NO, GENERIC, SURE = 0, 1, 2
"""How certain a backend is that a server speaks its dialect; the highest wins."""


class Probe:
    """Answers to GET requests, remembered for one detection."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._answers: dict[str, Answer] = {}

    async def get(self, path: str) -> Answer:
        """The answer whatever its status. Raises UnreachableError, EndpointTimeout or ProtocolError."""
        if path not in self._answers:
            self._answers[path] = await self._client.request("GET", path, total_s=10.0)
        return self._answers[path]
