"""A name server and a look at every connection: where names lead, and where this process went."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import Any

import pytest

RealSocket = socket.socket


class Resolver:
    """Answers for the names a test gives it, each time with the next of their answers, the last one for ever.

    Numbers and ``localhost`` are what they are. Whatever this process connects to is noted in ``reached``.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: dict[str, list[Sequence[str]]] = {}
        self.asked: list[str] = []
        self.reached: list[str] = []
        self._real = socket.getaddrinfo
        connect = socket.socket.connect

        def noting(sock: RealSocket, where: Any) -> None:
            if sock.family in (socket.AF_INET, socket.AF_INET6):
                self.reached.append(where[0])
            connect(sock, where)

        monkeypatch.setattr(socket, "getaddrinfo", self._found)
        monkeypatch.setattr(socket.socket, "connect", noting)

    def leads(self, name: str, *answers: Sequence[str]) -> None:
        """What ``name`` leads to the first time, the second time, and so on."""
        self.answers[name] = list(answers)

    def _found(self, host: Any, port: Any, *more: Any, **named: Any) -> Any:
        name = host.decode("ascii") if isinstance(host, bytes) else str(host)
        if name == "localhost" or _is_number(name):
            return self._real(host, port, *more, **named)
        self.asked.append(name)
        left = self.answers.get(name)
        if not left:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        numbers = left.pop(0) if len(left) > 1 else left[0]
        return [entry for number in numbers for entry in self._real(number, port, *more, **named)]


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True
