"""Unicode's composed form (NFC) of text that nobody vouches for."""

from __future__ import annotations

import unicodedata

_MAX_MARKS = 30


def nfc(text: str) -> str:
    """``text`` in NFC, in linear time.

    Sorting a run of combining marks, as NFC must, takes time quadratic in its length; of a run longer than 30 (no
    language has one) the rest is dropped.
    """
    return text if text.isascii() else unicodedata.normalize("NFC", _bounded(text))


def _bounded(text: str) -> str:
    kept = []
    run = 0
    for char in text:
        run = run + 1 if unicodedata.category(char)[0] == "M" else 0
        if run <= _MAX_MARKS:
            kept.append(char)
    return "".join(kept)
