"""Answers as they are stored: compressed, with a preset dictionary of what answers are made of.

A packed answer is zlib data (RFC 1950) of ``<length of text>,<length of reasoning>\\n`` and, one after the other, text,
reasoning and tool calls (JSON) in UTF-8; lengths in characters. Its header names the dictionary (FDICT), which is
therefore never changed: another one would be another file.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

Texts = tuple[str, str, str]
"""(text, reasoning, tool calls as JSON; of a task in turns JSON of ``{"calls": [...], "turns": [...]}``)."""


def pack(texts: Texts) -> bytes:
    """What is stored. Lone surrogates cannot be and become ``?``."""
    text, reasoning, calls = (storable(part) for part in texts)
    squeeze = zlib.compressobj(zdict=_dictionary())
    body = f"{len(text)},{len(reasoning)}\n{text}{reasoning}{calls}".encode()
    return squeeze.compress(body) + squeeze.flush()


def unpack(packed: bytes) -> Texts:
    """What ``pack`` was given."""
    spread = zlib.decompressobj(zdict=_dictionary())
    head, _, body = (spread.decompress(packed) + spread.flush()).decode().partition("\n")
    first, second = (int(length) for length in head.split(","))
    return body[:first], body[first : first + second], body[first + second :]


def texts_of(row: Mapping[str, Any]) -> Texts | None:
    """From the columns of ``completions``; None where there was no completion. Older rows are not packed."""
    if row["packed"] is not None:
        return unpack(row["packed"])
    if row["text"] is None:
        return None
    return row["text"], row["reasoning"], row["tool_calls"]


def storable(text: str) -> str:
    """Without half character pairs."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


@cache
def _dictionary() -> bytes:
    return (resources.files("llmbench_mcp.store") / "packing1.txt").read_bytes()
