"""Where in a file the things lie that a message is about."""

from __future__ import annotations

import re

import yaml

from llmbench_mcp.catalog.block import Block

_STEP = re.compile(r"\[(\d+)\]|([A-Za-z_][\w:-]*)(?: (\d+)\b)?")


def line_of(block: Block, message: str) -> int:
    """The line of the deepest value of ``block`` that ``message`` names, the block's own when it names none.

    Values are named as validators do: ``base_tests[3].expected`` from 0, ``rubric 2`` from 1, or a key alone.
    """
    place = block
    for step in _STEP.finditer(message):
        if step[1] is not None:
            place = _item(place, int(step[1]))
        elif (inner := _field(place, step[2])) is not None:
            place = _item(inner, int(step[3]) - 1) if step[3] else inner
    return place.line


def _item(place: Block, index: int) -> Block:
    if isinstance(place.node, yaml.SequenceNode) and 0 <= index < len(place.node.value):
        return Block(place.source, place.node.value[index], place.offset)
    return place


def _field(place: Block, name: str) -> Block | None:
    if not isinstance(place.node, yaml.MappingNode):
        return None
    for key, value in place.node.value:
        if key.value == name:
            return Block(place.source, value if _is_nested(value) else key, place.offset)
    return None


def _is_nested(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode)
