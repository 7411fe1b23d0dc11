"""An MCP agent over bare HTTP, in both protocol eras: light enough that hundreds do not disturb what they measure."""

from __future__ import annotations

import asyncio
import json
from typing import Any

_ACCEPT = "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
_WHO = {"name": "load", "version": "1"}
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": _WHO,
}


class RefusedError(Exception):
    """The server answered with an error."""


class Agent:
    """One client of a server on this machine."""

    def __init__(self, port: int, modern: bool) -> None:
        self._port = port
        self._modern = modern
        self._session = ""
        self._number = 0
        self._streams: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def connect(self) -> None:
        """Connect; before 2026 also shake hands and listen to the session's stream."""
        await self._open()
        if self._modern:
            return
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _WHO}
        headers, _ = await self._post("", {"id": 0, "method": "initialize", "params": params})
        self._session = f"mcp-session-id: {headers['mcp-session-id']}\r\nmcp-protocol-version: 2025-11-25\r\n"
        await self._post(self._session, {"method": "notifications/initialized"})
        await self._open()
        _, listening = self._streams[1]
        listening.write(f"GET /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n{_ACCEPT}{self._session}\r\n".encode())

    async def call(self, tool: str, arguments: dict[str, Any]) -> None:
        """Call a tool. Raises RefusedError unless it answered well."""
        self._number += 1
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        headers = self._session
        if self._modern:
            params["_meta"] = _META
            headers = f"mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\n"
        _, body = await self._post(headers, {"id": self._number, "method": "tools/call", "params": params})
        result = json.loads(body.rpartition(b"data: ")[2] if body.startswith(b"event") else body).get("result")
        if not result or result.get("isError"):
            raise RefusedError(body[:200].decode(errors="replace"))

    async def close(self) -> None:
        """End the session and hang up."""
        if self._session:
            _, writer = self._streams[0]
            writer.write(f"DELETE /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n{self._session}\r\n".encode())
            await self._answer()
        for _, writer in self._streams:
            writer.close()

    async def _open(self) -> None:
        self._streams.append(await asyncio.open_connection("127.0.0.1", self._port))

    async def _post(self, headers: str, message: dict[str, Any]) -> tuple[dict[str, str], bytes]:
        body = json.dumps({"jsonrpc": "2.0"} | message).encode()
        _, writer = self._streams[0]
        head = f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n{_ACCEPT}{headers}content-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        return await self._answer()

    async def _answer(self) -> tuple[dict[str, str], bytes]:
        reader, _ = self._streams[0]
        status, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        if "chunked" in headers.get("transfer-encoding", ""):
            body = await self._chunks(reader)
        else:
            body = await reader.readexactly(int(headers.get("content-length", 0)))
        if status.split()[1][0] != "2":
            raise RefusedError(f"{status}: {body[:100]!r}")
        return headers, body

    async def _chunks(self, reader: asyncio.StreamReader) -> bytes:
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readexactly(2)
        return body
