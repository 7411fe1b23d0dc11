"""Ids of our own making: short, random, typed by prefix."""

from __future__ import annotations

import hashlib
import secrets

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def endpoint_id(key: str) -> str:
    """The id of the endpoint known by that key (its address): removed and added again, it is the same one."""
    number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
    return "ep_" + "".join(_ALPHABET[(number >> (5 * place)) & 31] for place in range(10))


def served_endpoint_id(name: str) -> str:
    """The id of the endpoint that this program serves itself and first called so, wherever it is now."""
    return endpoint_id(f"named {name}")


def new_id(prefix: str) -> str:
    """A fresh id such as ``run_7h2k9qw4xn``: 50 random bits, no letters that look like digits."""
    return f"{prefix}_" + "".join(secrets.choice(_ALPHABET) for _ in range(10))
