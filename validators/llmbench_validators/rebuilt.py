"""An answer's exception made anew where the tests can catch it, out of plain data."""

from __future__ import annotations

import builtins
from typing import Any

from llmbench_validators.session import Reply


def rebuilt(reply: Reply) -> Exception:
    """As near as plain data comes to what was raised: the builtin itself, or a class of that name derived from it.

    Marked as the candidate's own, see :func:`reply_of`.
    """
    exc = _builtin(reply) or _derived(reply)
    exc.__dict__["candidate_reply"] = reply
    return exc


def reply_of(exc: BaseException | None) -> Reply | None:
    """The candidate's reply behind ``exc``: its own, or that of what it was raised from."""
    for _ in range(20):
        if exc is None:
            return None
        if "candidate_reply" in exc.__dict__:
            reply: Reply = exc.__dict__["candidate_reply"]
            return reply
        exc = exc.__cause__ or exc.__context__
    return None


def _base(reply: Reply) -> type[Exception]:
    base = getattr(builtins, reply.kin, Exception)
    # SystemExit and KeyboardInterrupt must not end the checker.
    return base if isinstance(base, type) and issubclass(base, Exception) else Exception


def _builtin(reply: Reply) -> Exception | None:
    """The very exception, when it was a builtin one and its arguments are known."""
    base = _base(reply)
    if reply.raised != base.__name__ or reply.arguments is None:
        return None
    try:
        return base(*reply.arguments)
    except Exception:  # noqa: BLE001 - a builtin class that does not take what it claims to have taken
        return None


def _derived(reply: Reply) -> Exception:
    arguments = (reply.message,) if reply.arguments is None else reply.arguments
    parts: dict[str, Any] = {"__init__": lambda *_: None, "__str__": lambda _: reply.message}
    name = reply.raised or "Exception"
    try:
        exc: Exception = type(name, (_base(reply),), parts)(*arguments)
    except Exception:  # noqa: BLE001 - a builtin class that wants other arguments, as ExceptionGroup does
        exc = type(name, (Exception,), parts)(*arguments)
    return exc
