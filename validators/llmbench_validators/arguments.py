"""What a call did to the lists, dicts, sets and bytearrays it was given, as plain data.

Both sides number the containers in the arguments in the same way. The candidate's side tells the new content of
those that changed, where an item that is itself one of them is named by its number, so that the other side can put
the content into its own objects and every name the tests hold for one of them sees the change.

changes: list of ``[number, content]``; content is a list of items (list and set), a list of pairs (dict) or hex text
(bytearray), or ``{"odd": type}`` when something in it is no plain data. An item is on the wire's own form or
``{"ref": number}``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from llmbench_validators import wire

_KINDS = (list, dict, set, bytearray)


class Odd:
    """Stands for content that is no plain data; equal to nothing but itself."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<a {self.name} object>"


def containers(value: Any) -> list[Any]:
    """Every changeable container in ``value``, outermost first, in the order of its content."""
    found: list[Any] = []
    _collect(value, found)
    return found


def _collect(value: Any, found: list[Any]) -> None:
    if isinstance(value, _KINDS):
        found.append(value)
    if isinstance(value, dict):
        for item in dict.values(value):
            _collect(item, found)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect(item, found)


# --- in the candidate's process


class Watched:
    """The containers of the decoded arguments as they are before the call."""

    def __init__(self, value: Any) -> None:
        self._containers = containers(value)
        self._before = [_content(container) for container in self._containers]
        self._numbers = {id(container): number for number, container in enumerate(self._containers)}

    def changes(self) -> list[Any]:
        """What is different now, in the form described above."""
        together = zip(self._containers, self._before, strict=True)
        return [
            [number, self._told(container)]
            for number, (container, before) in enumerate(together)
            if not _same(_content(container), before)
        ]

    def _told(self, container: Any) -> Any:
        try:
            if isinstance(container, bytearray):
                return container.hex()
            if isinstance(container, dict):
                return [[wire.encode(key), self._item(value)] for key, value in dict.items(container)]
            return [self._item(item) for item in container]
        except (wire.NotPlain, wire.TooLarge) as exc:
            return {"odd": str(exc)[:100]}

    def _item(self, item: Any) -> Any:
        number = self._numbers.get(id(item))
        return wire.encode(item) if number is None else {"ref": number}


def _content(container: Any) -> Any:
    return bytes(container) if isinstance(container, bytearray) else _flat(container)


def _flat(container: Any) -> list[Any]:
    if isinstance(container, dict):
        return [part for item in dict.items(container) for part in item]
    return list(container)


def _same(now: Any, before: Any) -> bool:
    if isinstance(now, bytes):
        return bool(now == before)
    return len(now) == len(before) and all(map(_is, now, before))


def _is(one: Any, other: Any) -> bool:
    return one is other


# --- on the trusted side


def apply(value: Any, changes: Any) -> None:
    """Put ``changes``, which a candidate told, into the containers of ``value``. Raises wire.Malformed."""
    own = containers(value)
    try:
        for number, content in changes:
            if type(number) is not int or number < 0:
                raise wire.Malformed("no number of a container")
            _put(own[number], content, own)
    except (TypeError, ValueError, IndexError, AttributeError, RecursionError) as exc:
        raise wire.Malformed("no change of the arguments") from exc


def _put(container: Any, content: Any, own: list[Any]) -> None:
    if isinstance(content, dict):
        _spoil(container, Odd(str(content["odd"])[:100]) if "odd" in content else Odd("foreign"))
    elif isinstance(container, dict):
        items = [(wire.decode(key), _found(item, own)) for key, item in content]
        dict.clear(container)
        dict.update(container, items)
    elif isinstance(container, bytearray):
        container[:] = bytes.fromhex(content)
    else:
        _filled(container)(_found(item, own) for item in content)


def _filled(container: Any) -> Callable[[Iterator[Any]], None]:
    def fill_list(items: Iterator[Any]) -> None:
        list.__setitem__(container, slice(None), items)

    def fill_set(items: Iterator[Any]) -> None:
        new = set(items)
        set.clear(container)
        set.update(container, new)

    return fill_list if isinstance(container, list) else fill_set


def _found(item: Any, own: list[Any]) -> Any:
    if isinstance(item, dict) and "ref" in item:
        return own[item["ref"]]
    return wire.decode(item)


def _spoil(container: Any, odd: Odd) -> None:
    if isinstance(container, dict):
        dict.clear(container)
        dict.update(container, {odd: odd})
    elif isinstance(container, bytearray):
        container[:] = b"\0odd"
    else:
        _filled(container)(iter([odd]))
