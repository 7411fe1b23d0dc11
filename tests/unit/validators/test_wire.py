from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import socket
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llmbench_validators import wire

scalars = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary()),
    st.complex_numbers(allow_nan=False),
)
hashable = st.recursive(scalars, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.lists(inner, max_size=4), st.dictionaries(hashable, inner, max_size=4))


values = st.recursive(scalars | hashable | st.sets(hashable, max_size=4), containers, max_leaves=12)


@given(values)
def test_plain_data_comes_back_as_it_was(value: Any) -> None:
    back = wire.decode(wire.unpack(wire.pack(wire.encode(value))[4:]))

    assert back == value
    assert repr(type(back)) == repr(type(value))


UNCOMMON = {
    "range": range(2, 9, 3),
    "decimal": decimal.Decimal("1.10"),
    "fraction": fractions.Fraction(1, 3),
    "date": datetime.date(2024, 2, 29),
    "time": datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=datetime.UTC),
    "bytearray": bytearray(b"x"),
    "huge int": 10**5000,
    "int at the edge": -(2**53),
}


@pytest.mark.parametrize("value", UNCOMMON.values(), ids=UNCOMMON.keys())
def test_less_common_builtin_data_comes_back_too(value: Any) -> None:
    assert wire.decode(wire.encode(value)) == value


def test_subclasses_travel_as_the_builtin_they_derive_from() -> None:
    class Sly(int):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = int.__hash__

    class Colour(enum.IntEnum):
        RED = 1

    class Point(NamedTuple):
        x: int
        y: int

    sent = [Sly(0), Colour.RED, Point(1, 2), collections.Counter("aa"), collections.OrderedDict(a=1)]

    back = wire.decode(wire.encode(sent))

    assert [type(item) for item in back] == [int, int, tuple, dict, dict]
    assert back == [0, 1, (1, 2), {"a": 2}, {"a": 1}]
    assert back[0] != 5, "the sender's own __eq__ stays behind"


def test_iterators_arrive_as_iterators() -> None:
    assert list(wire.decode(wire.encode(x * x for x in range(3)))) == [0, 1, 4]
    assert list(wire.decode(wire.encode({"a": 1}.items()))) == [("a", 1)]


def test_objects_are_refused_by_the_name_of_their_type() -> None:
    with pytest.raises(wire.NotPlain, match="object"):
        wire.encode([object()])


def test_nesting_without_end_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)

    with pytest.raises(wire.TooLarge):
        wire.encode(loop)


FORGED: tuple[dict[str, Any], ...] = (
    *({"x": 1}, {"i": "zz"}, {"s": [[1]]}, {"d": [1]}, {"a": 1, "b": 2}),
    *({"f": []}, {"r": [1, 2, 0]}, {"c": [1]}, {"n": "x"}, {"day": 5}),
)


@pytest.mark.parametrize("data", FORGED)
def test_forged_tags_are_malformed(data: Any) -> None:
    with pytest.raises(wire.Malformed):
        wire.decode(data)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000])
def test_bytes_that_are_no_json_are_malformed(body: bytes) -> None:
    with pytest.raises(wire.Malformed):
        wire.unpack(body)


def test_a_frame_over_the_limit_is_not_read_and_a_closed_channel_is_noticed() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"\xff\xff\xff\xff")
        with pytest.raises(wire.TooLarge):
            wire.receive(ours, 1000)
        theirs.sendall(b"\x00\x00")
        theirs.close()
        with pytest.raises(wire.Closed):
            wire.receive(ours, 1000)
