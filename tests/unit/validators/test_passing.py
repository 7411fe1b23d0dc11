"""Messages that bring descriptors with them, by the prepared call and by the portable way."""

from __future__ import annotations

import os
import socket
from array import array
from collections.abc import Iterator

import pytest
from llmbench_validators import passing

SIZE = 5


@pytest.fixture(params=["as it is here", "portable"])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, passing.Receive]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        if request.param == "portable":
            receive = passing._portable(os.dup(theirs.fileno()), SIZE, 2)
            with receive.__dict__["kept"]:
                yield ours, receive
        else:
            yield ours, passing.receiver(theirs.fileno(), SIZE, 2)


def test_a_message_brings_its_descriptors(ends: tuple[socket.socket, passing.Receive]) -> None:
    ours, receive = ends
    reading, writing = os.pipe()
    ours.sendmsg([b"order"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", (reading, writing)))])
    data, passed = receive()
    assert data == b"order"
    os.write(passed[1], b"through")
    assert os.read(reading, 10) == b"through"
    for descriptor in (reading, writing, *passed):
        os.close(descriptor)


def test_a_message_without_descriptors_after_one_with_them_has_none(
    ends: tuple[socket.socket, passing.Receive],
) -> None:
    ours, receive = ends
    ours.sendmsg([b"order"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", (0, 1)))])
    for descriptor in receive()[1]:
        os.close(descriptor)
    ours.send(b"plain")
    assert receive() == (b"plain", ())


def test_the_end_is_an_empty_message(ends: tuple[socket.socket, passing.Receive]) -> None:
    ours, receive = ends
    ours.close()
    assert receive() == (b"", ())
