"""Text from outside is untrusted: made harmless to show, and cut."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

_KEEP = frozenset("\n\t")


def visible(text: str) -> str:
    """``text`` with control, ANSI, bidi, zero-width and lone-surrogate characters written as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    if char in _KEEP or (char.isprintable() and unicodedata.category(char) not in ("Cf", "Cs")):
        return char
    if char == " ":
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def is_text(text: str) -> bool:
    """Whether ``text`` has no lone surrogates: they are legal as JSON escapes, and no UTF-8 can hold them."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def one_line(text: str, limit: int = 200) -> str:
    """``text`` made visible, on one line, cut to ``limit`` characters with an ellipsis."""
    flat = " ".join(visible(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def nearest(wanted: str, names: Iterable[str], count: int = 5) -> list[str]:
    """Up to ``count`` names closest to the one wanted, best first; the first few when none is close."""
    pool = sorted(set(names))
    return similar(wanted, pool, count) or pool[:count]


def similar(wanted: str, names: Iterable[str], count: int = 5) -> list[str]:
    """Up to ``count`` names close to the one wanted, best first; none when none is."""
    pool = sorted(set(names))
    folded = {name.casefold(): name for name in pool}
    close = difflib.get_close_matches(wanted.casefold(), folded, n=count, cutoff=0.4)
    inside = [name for name in pool if wanted.casefold() in name.casefold()]
    return list(dict.fromkeys([*inside, *(folded[key] for key in close)]))[:count]
