"""A block of YAML whose every value knows its line in the file.

Scalars follow the YAML 1.2 core schema, not 1.1: ``no``, ``12:30`` and ``2024-03-05`` stay text, because a
task's right answer must not turn into a boolean, a count of seconds or a date. Keys are text, no key comes
twice, and anchors are refused (a few lines of nested aliases would unfold into gigabytes).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import yaml

from llmbench_mcp.catalog.source import Source, listed, quoted
from llmbench_mcp.domain.errors import TaskFormatError
from llmbench_mcp.domain.text import one_line

_BaseLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_T = TypeVar("_T")
_MAX_DEPTH = 60
_MAX_DIGITS = 1000


class _CoreLoader(_BaseLoader):  # type: ignore[misc]  # the C loader exists only where libyaml was built in
    """A safe loader with the 1.2 core schema's scalars."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  # PyYAML's own shape


_PREFIX = "tag:yaml.org,2002:"
for _tag, _pattern, _first in (
    ("null", r"(?:null|Null|NULL|~|)\Z", ["n", "N", "~", ""]),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)\Z", list("tTfF")),
    ("int", r"[-+]?[0-9]+\Z|0x[0-9a-fA-F]+\Z|0o[0-7]+\Z", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z|[-+]?\.(?:inf|nan)\Z",
        list("-+.0123456789"),
    ),
):
    _CoreLoader.add_implicit_resolver(_PREFIX + _tag, re.compile(_pattern), _first)


@dataclass(frozen=True, slots=True)
class Block:
    """One YAML value: a node, the file it stands in and how many lines precede its block there."""

    source: Source
    node: yaml.Node
    offset: int

    @property
    def line(self) -> int:
        """The value's first line in the file, from 1."""
        return int(self.node.start_mark.line) + 1 + self.offset

    def error(self, what: str, next_step: str = "") -> TaskFormatError:
        """An error at this value's line."""
        return self.source.error(self.line, what, next_step)

    def fields(self, allowed: Sequence[str] | None, what: str, example: str = "") -> dict[str, Block]:
        """The mapping's fields in order; unknown keys are refused when ``allowed`` is given.

        ``example``: the next step where it is no mapping.
        """
        if not isinstance(self.node, yaml.MappingNode):
            raise self.error(f"{what} must be a mapping of keys to values.", example)
        found: dict[str, Block] = {}
        for key_node, value_node in self.node.value:
            at = Block(self.source, key_node, self.offset)
            key = at._key()
            if key in found:
                raise at.error(f"{what} has the key {quoted(key)} twice.")
            if allowed is not None and key not in allowed:
                raise at.error(f"{what} has an unknown key {quoted(key)}.", f"Allowed: {listed(allowed)}.")
            found[key] = Block(self.source, value_node, self.offset)
        return found

    def items(self, what: str, example: str = "") -> list[Block]:
        """The list's values. ``example``: the next step where it is no list."""
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.error(f"{what} must be a list.", example)
        return [Block(self.source, node, self.offset) for node in self.node.value]

    def plain(self, depth: int = 0) -> object:
        """The value as plain data that JSON can hold."""
        if depth > _MAX_DEPTH:
            raise self.error(f"is nested deeper than {_MAX_DEPTH} levels.")
        if isinstance(self.node, yaml.MappingNode):
            return {key: value.plain(depth + 1) for key, value in self.fields(None, "this mapping").items()}
        if isinstance(self.node, yaml.SequenceNode):
            return [value.plain(depth + 1) for value in self.items("this list")]
        return self._scalar()

    def text(self, what: str) -> str:
        """The value as non-empty text."""
        return self._typed(str, what, "text", "Quote it if it looks like a number.")

    def whole(self, what: str) -> int:
        """The value as a whole number of at least 1."""
        number = self._typed(int, what, "a whole number")
        if number < 1:
            raise self.error(f"{what} must be at least 1, not {number}.")
        return number

    def positive(self, what: str) -> float:
        """The value as a finite number above 0."""
        value = self.plain()
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(f"{what} must be a number, not {quoted(value)}.")
        if value <= 0:
            raise self.error(f"{what} must be above 0, not {value}.")
        return float(value)

    def choice(self, options: Sequence[str], what: str) -> str:
        """The value as one of ``options``."""
        value = self.plain()
        if value not in options:
            raise self.error(f"{what} is {quoted(value)}.", f"Allowed: {listed(options)}.")
        return str(value)

    def _typed(self, kind: type[_T], what: str, called: str, next_step: str = "") -> _T:
        value = self.plain()
        if not isinstance(value, kind) or isinstance(value, bool) or value == "":
            raise self.error(f"{what} must be {called}, not {quoted(value)}.", next_step)
        return value

    def _key(self) -> str:
        if not isinstance(self.node, yaml.ScalarNode) or self.node.tag != _PREFIX + "str":
            raise self.error("a key must be text.", "Quote it if it looks like a number.")
        return str(self.node.value)

    def _scalar(self) -> str | int | float | bool | None:
        tag, text = self.node.tag.removeprefix(_PREFIX), str(self.node.value)
        if tag == "str":
            return text
        if tag == "null":
            return None
        if tag == "bool":
            return text.casefold() == "true"
        if tag == "int":
            return self._integer(text)
        if tag == "float":
            return self._finite(text)
        raise self.error(f"the tag {quoted(self.node.tag)} is not allowed here.", "Write plain YAML.")

    def _integer(self, text: str) -> int:
        if len(text) > _MAX_DIGITS:
            raise self.error(f"a number of {len(text)} digits is too long.", "Quote it if it is text.")
        return int(text, {"0x": 16, "0o": 8}.get(text[:2], 10))

    def _finite(self, text: str) -> float:
        number = float(text.replace(".inf", "inf").replace(".nan", "nan"))
        if not math.isfinite(number):
            raise self.error(f"{text} is not a finite number.", "Quote it if it is text.")
        return number


def parse_block(source: Source, text: str, offset: int = 0) -> Block | None:
    """Parse one YAML document that begins after line ``offset`` of the file; None when it holds nothing.

    Raises TaskFormatError at the line of a syntax error, an anchor or a second document.
    """
    try:
        node = yaml.compose(text, Loader=_CoreLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = offset + 1 + (mark.line if mark else 0)
        raise source.error(line, f"is not valid YAML: {one_line(str(error.problem or error.context))}.") from error
    except yaml.YAMLError as error:
        raise source.error(offset + 1, f"is not valid YAML: {quoted(error)}.") from error
    except RecursionError as error:
        raise source.error(offset + 1, "is nested too deeply.") from error
    if node is None:
        return None
    block = Block(source, node, offset)
    _refuse_aliases(block)
    return block


def _refuse_aliases(root: Block) -> None:
    seen: set[int] = set()
    waiting = [root.node]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            at = Block(root.source, node, root.offset)
            raise at.error("anchors and aliases are not allowed.", "Write it out.")
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            waiting.extend(part for pair in node.value for part in pair)
        elif isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)
