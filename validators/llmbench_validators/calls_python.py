"""Calls written as Python: ``[f(a=1), g()]``, ``functions.f({"a": 1})``. Parsed, walked, never run."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from llmbench_validators import fences, repair
from llmbench_validators.calls_found import MAX_FOUND, Broken, Call, Parsed, bare_name
from llmbench_validators.tool_schema import Tools

MAX_SNIPPET = 100_000
"""Characters of one piece of Python; more is no call."""

_JSON_NAMES: Mapping[str, Any] = {"true": True, "false": False, "null": None}
_CONSTANTS = (str, int, float, bool, type(None))
_TOOL_FENCES = frozenset({"tool_code", "tool_call", "tool_calls", "tool"})
_PLAIN_FENCES = frozenset({"", "python", "py", "python3", "plaintext", "text"})
_TOKENS = re.compile(
    r"'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|(?P<open>[(\[{])|(?P<close>[)\]}])",
    re.DOTALL,
)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_LINE = re.compile(r"^[ \t]*`?(?P<call>(?:\[\s*)?(?P<name>[A-Za-z_][\w.]*)\()", re.MULTILINE)
_REST = re.compile(r"`?[ \t]*[;,]?[ \t]*(?=\n|$)")
_KEYWORD = re.compile(r"\s*[A-Za-z_]\w*\s*=[^=]")
_MAX_MISSES = 16
_MAX_FENCES = 200
_SHOWN = 400


class _NotPlain(ValueError):
    """An expression that is no literal."""


def literal_at(text: str, start: int) -> tuple[Any, int] | None:
    """The Python literal whose opening bracket is at ``start``, and where it ends."""
    end = closing(text, start)
    tree = repair.parsed(text[start:end]) if end is not None else None
    if end is None or tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        return None
    try:
        return _literal(tree.body[0].value), end
    except (_NotPlain, RecursionError):
        return None


def closing(text: str, start: int) -> int | None:
    """The position after the bracket that closes the first one from ``start`` on; strings are passed over."""
    stack: list[str] = []
    for token in _TOKENS.finditer(text, start, start + MAX_SNIPPET):
        if token["open"]:
            stack.append(token[0])
        elif token["close"]:
            if not stack or stack.pop() != _PAIRS[token[0]]:
                return None
            if not stack:
                return token.end()
    return None


def calls(code: str, tools: Tools) -> Parsed | None:
    """The calls ``code`` consists of, None when it holds anything else or nothing."""
    code = code.strip()
    tree = repair.parsed(code) if len(code) <= MAX_SNIPPET else None
    nodes = [node for statement in tree.body for node in _call_nodes(statement)] if tree is not None else []
    if not nodes or not all(isinstance(node, ast.Call) and _dotted(node.func) for node in nodes):
        return None
    return [_call(node, code, tools) for node in nodes if isinstance(node, ast.Call)]


def whole(text: str, tools: Tools) -> Parsed | None:
    """The calls a text consists of. Functions that are not offered count only with named arguments."""
    parsed = calls(text, tools)
    if parsed is None or _offered(parsed, tools) or all(isinstance(one, Call) for one in parsed):
        return parsed
    return None


def fenced(text: str, tools: Tools) -> Parsed | None:
    """The calls in fenced blocks that consist of calls."""
    found: Parsed = []
    for block in _blocks(text):
        if block.language in _TOOL_FENCES | _PLAIN_FENCES:
            parsed = calls(block.text, tools) or _torn(block.text, tools)
            if block.language in _TOOL_FENCES or _offered(parsed, tools):
                found += parsed
    return found or None


def _blocks(text: str) -> list[fences.Block]:
    """The fenced blocks; none of a text with more fences than an answer has."""
    return fences.blocks(text) if text.count("```") + text.count("~~~") <= _MAX_FENCES else []


def _torn(code: str, tools: Tools) -> Parsed:
    """What begins as a call of an offered function and is no Python."""
    match = _LINE.match(code)
    if match is None or bare_name(match["name"], tools) not in tools or repair.parsed(code) is not None:
        return []
    return [Broken(match["name"] + code[match.end() - 1 :][:_SHOWN], "the call does not parse")]


def lines(text: str, tools: Tools) -> Parsed | None:
    """The calls of offered functions that stand on lines of their own between prose."""
    found: Parsed = []
    position, misses = 0, 0
    for block in _blocks(text):
        text = text.replace(block.text, "\n", 1)
    while misses < _MAX_MISSES and len(found) < MAX_FOUND and (match := _LINE.search(text, position)) is not None:
        position = match.end()
        if bare_name(match["name"], tools) in tools:
            parsed, position = _on_line(text, match, tools)
            misses += not any(isinstance(one, Call) for one in parsed)
            found += parsed
    return found or None


def _on_line(text: str, match: re.Match[str], tools: Tools) -> tuple[Parsed, int]:
    end = closing(text, match.start("call"))
    if end is not None and not _REST.match(text, end):
        return [], match.end()
    named = _KEYWORD.match(text, match.end()) is not None  # without, ``f(city)`` may just be spoken of
    parsed = calls(text[match.start("call") : end], tools) if end is not None else None
    if parsed is not None and (named or all(isinstance(one, Call) for one in parsed)):
        return parsed, end or match.end()
    if named:
        return [Broken(text[match.start() : match.start() + _SHOWN], "the call does not parse")], end or match.end()
    return [], match.end()


def _offered(parsed: Parsed, tools: Tools) -> bool:
    names = (one.name if isinstance(one, Call) else one.text.split("(")[0].strip() for one in parsed)
    return any(bare_name(name, tools) in tools for name in names)


def _call_nodes(statement: ast.stmt) -> list[ast.expr | None]:
    """The expressions of a statement that must be calls; None for anything else."""
    if not isinstance(statement, ast.Expr):
        return [None]
    node = statement.value
    if isinstance(node, ast.List | ast.Tuple):
        return list(node.elts)
    printed = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    if isinstance(node, ast.Call) and printed and node.args and isinstance(node.args[0], ast.Call):
        return list(node.args)
    return [node]


def _dotted(node: ast.expr) -> str:
    """``a.b.c`` of a name or attribute, empty for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _call(node: ast.Call, code: str, tools: Tools) -> Call | Broken:
    name = bare_name(_dotted(node.func), tools)
    try:
        return Call(name, _arguments(node))
    except (_NotPlain, RecursionError) as exc:
        reason = str(exc) if isinstance(exc, _NotPlain) else "nested too deep"
        return Broken((ast.get_source_segment(code, node) or code)[:_SHOWN], reason)


def _arguments(node: ast.Call) -> dict[str, Any]:
    if node.args:
        value = _literal(node.args[0]) if len(node.args) == 1 and not node.keywords else None
        if not isinstance(value, dict):
            raise _NotPlain("arguments without names")
        return value
    arguments: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in arguments:
            raise _NotPlain("an argument is given twice or unpacked")
        arguments[keyword.arg] = _literal(keyword.value)
    return arguments


def _literal(node: ast.expr) -> Any:
    reader = _READERS.get(type(node))
    if reader is None:
        raise _NotPlain("an argument is no literal")
    return reader(node)


def _constant(node: Any) -> Any:
    if not isinstance(node.value, _CONSTANTS):
        raise _NotPlain("an argument is no JSON value")
    return node.value


def _name(node: Any) -> Any:
    """JSON's own words for Python's True, False and None, which serving layers take as well."""
    if node.id not in _JSON_NAMES:
        raise _NotPlain("an argument is a name")
    return _JSON_NAMES[node.id]


def _signed(node: Any) -> Any:
    value = _literal(node.operand)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isinstance(node.op, ast.USub | ast.UAdd):
        raise _NotPlain("an argument is no literal")
    return -value if isinstance(node.op, ast.USub) else value


def _object(node: Any) -> dict[str, Any]:
    return {_key(key): _literal(value) for key, value in zip(node.keys, node.values, strict=True)}


def _key(node: ast.expr | None) -> str:
    key = _literal(node) if node is not None else None
    if not isinstance(key, str):
        raise _NotPlain("a key is no text")
    return key


_READERS: Mapping[type[ast.expr], Callable[[Any], Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.UnaryOp: _signed,
    ast.List: lambda node: [_literal(item) for item in node.elts],
    ast.Tuple: lambda node: [_literal(item) for item in node.elts],
    ast.Dict: _object,
}
