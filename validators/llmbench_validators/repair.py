"""Damage that a chat template, a web page or a typographic keyboard does to code, undone where that makes it parse."""

from __future__ import annotations

import ast
import html
import re
import textwrap
import warnings
from collections.abc import Callable

from llmbench_validators import trees

_NAME = "<answer>"
# Odd escapes in a model's code are its own affair; without this they would be printed as ours.
for _category in (SyntaxWarning, DeprecationWarning):
    warnings.filterwarnings("ignore", category=_category, module=re.escape(_NAME))

# Both the plain bar and the full-width one (U+FF5C, with U+2581 for blanks) are in use.
SPECIAL_TOKEN = re.compile("<[|\uff5c][\\w\u2581 ]{1,40}[|\uff5c]>|</?s>|<(?:end_of_turn|start_of_turn|eos|bos|pad)>")
_DOUBLE, _SINGLE = "\u201c\u201d\u201e\u00ab\u00bb", "\u2018\u2019\u201a"
_QUOTES = str.maketrans(dict.fromkeys(_DOUBLE, '"') | dict.fromkeys(_SINGLE, "'"))
_BLANKS = str.maketrans({"\u00a0": " ", "\u2007": " ", "\u202f": " ", "\u3000": " "})
_INVISIBLE = dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060"))
_PROMPT = re.compile(r"(>>>|\.\.\.)( |$)")

Repair = Callable[[str], str]


def parsed(code: str) -> ast.Module | None:
    """The syntax tree of ``code``, None when it is no Python."""
    try:
        return trees.tree(code, _NAME)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def why_not(code: str) -> str:
    """What the parser says about ``code``, with the line; empty when it parses."""
    try:
        trees.tree(code, _NAME)
    except SyntaxError as exc:
        return f"line {exc.lineno}: {exc.msg}"
    except (ValueError, MemoryError, RecursionError) as exc:
        return str(exc) or type(exc).__name__
    return ""


def _transcript(code: str) -> str:
    """The input lines of an interpreter session."""
    lines = [line for line in code.split("\n") if _PROMPT.match(line)]
    return "\n".join(_PROMPT.sub("", line, count=1) for line in lines) + "\n"


_REPAIRS: dict[str, Repair] = {
    "dedent": textwrap.dedent,
    "invisible": lambda code: code.translate(_INVISIBLE),
    "blanks": lambda code: code.translate(_BLANKS),
    "tokens": lambda code: SPECIAL_TOKEN.sub("", code),
    "html": html.unescape,
    "quotes": lambda code: code.translate(_QUOTES),
    "transcript": _transcript,
}


def repaired(code: str) -> tuple[str, str, ast.Module] | None:
    """``code`` so that it parses, the repair's name (empty when none was needed) and the tree; None if hopeless."""
    tree = parsed(code)
    if tree is not None:
        return code, "", tree
    for name, repair in _REPAIRS.items():
        if (tree := parsed(fixed := repair(code))) is not None:
            return fixed, name, tree
    for name, repair in _REPAIRS.items():
        if name != "transcript":
            code = repair(code)
    tree = parsed(code)
    return None if tree is None else (code, "several", tree)
