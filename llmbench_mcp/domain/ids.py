"""Ids of our own making: short, random, typed by prefix."""

from __future__ import annotations

import secrets

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(prefix: str) -> str:
    """A fresh id such as ``run_7h2k9qw4xn``: 50 random bits, no letters that look like digits."""
    return f"{prefix}_" + "".join(secrets.choice(_ALPHABET) for _ in range(10))
