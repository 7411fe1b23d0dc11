"""The keys that this process knows, taken out of whatever it shows, stores or logs."""

from __future__ import annotations

from functools import cache

from llmbench_mcp.credentials.environment import all_keys
from llmbench_mcp.credentials.redact import Redactor


def known() -> Redactor:
    """The one redactor of this process: it knows every key in the environment, and every stored one read here.

    One for the process and not for each part, because logs and crash messages are written where no part is at hand.
    """
    redactor = _redactor()
    for secret in all_keys():
        redactor.add(secret)
    return redactor


@cache
def _redactor() -> Redactor:
    return Redactor()
