"""Paths in answers: which words are one, and which lead out of the project."""

from __future__ import annotations

import re
from collections.abc import Iterable

_MAX_LENGTH = 200
_WORD = re.compile(r"~?[\w.\\/@+:-]*\.[A-Za-z]\w{0,11}|[\w.\\/@+-]*/[\w.\\/@+-]*[\w-]")
_DECORATION = "`*\"'()[]<>,"
_KEYED = re.compile(r"(?:file(?:[ _-]?name|[ _-]?path)?|path|title|name)\s*[:=]\s*(?P<rest>.+)", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:[-*+]|\d+[.)])\s+")


def normal(path: str) -> str:
    """``path`` with plain slashes and without a leading ``./``."""
    path = path.replace("\\", "/")
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return path


def refused(path: str) -> str:
    """Why a normal path may not be written, empty when it may: it must stay inside the project and be visible."""
    parts = path.split("/")
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:", path):
        return "absolute"
    if ".." in parts:
        return "outside the project"
    if any(part.startswith(".") for part in parts):
        return "hidden"
    odd = not path or any(not part or len(part) > _MAX_LENGTH // 2 for part in parts) or not path.isprintable()
    return "no usable path" if odd or len(path) > _MAX_LENGTH else ""


def in_word(word: str, known: Iterable[str] = ()) -> str | None:
    """The path a single word is, None when it is none."""
    word = word.strip().strip(_DECORATION).rstrip(":").strip(_DECORATION)
    if not word or len(word) > 2 * _MAX_LENGTH or "://" in word:
        return None
    path = normal(word)
    return path if path in set(known) or _WORD.fullmatch(word) else None


def in_line(line: str, known: Iterable[str]) -> str | None:
    """The path a heading line names: the whole line, what follows ``path:``, or the one known path among words."""
    line = _NUMBERED.sub("", line.strip().lstrip("#").strip(), count=1).strip("=-* ")
    if len(line) > 500:
        return None
    keyed = _KEYED.fullmatch(line)
    if keyed:
        line = keyed["rest"]
    whole = in_word(line, known)
    if whole is not None:
        return whole
    named = {path for word in line.split() if (path := in_word(word, known))}
    familiar = named & set(known)
    if len(familiar) == 1:
        return familiar.pop()
    return named.pop() if keyed and len(named) == 1 else None


def in_info(info: str, known: Iterable[str]) -> str | None:
    """The path in a fence's info string: ``python a/b.py``, ``python:a/b.py``, ``title="a/b.py"`` or alone."""
    for word in info[: 2 * _MAX_LENGTH].split():
        value = word.partition("=")[2] or word
        language, colon, rest = value.partition(":")
        for part in (rest, value) if colon and language.isalnum() and len(language) > 1 else (value,):
            path = in_word(part.strip("{}"), known)
            if path is not None:
                return path
    return None


_COMMENT = re.compile(r"\s*(?:#+|//+|--|;+|%|/\*+|<!--|\"\"\")\s*(?P<text>.*?)\s*(?:\*/|-->|\"\"\")?\s*")


def in_comment(line: str, known: Iterable[str]) -> str | None:
    """The path that is all a comment line says."""
    comment = _COMMENT.fullmatch(line) if len(line) <= 500 else None
    if comment is None:
        return None
    keyed = _KEYED.fullmatch(comment["text"])
    return in_word(keyed["rest"] if keyed else comment["text"], known)


def placed(path: str, known: Iterable[str], wanted: Iterable[str]) -> str:
    """Where a file goes: an unknown path is taken for the one expected file it names with another leading folder."""
    if path in set(known):
        return path
    alike = [want for want in wanted if path.endswith("/" + want) or want.endswith("/" + path)]
    return alike[0] if len(alike) == 1 else path
