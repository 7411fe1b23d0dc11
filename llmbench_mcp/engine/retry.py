"""When to ask a server again after an error, and after how long. Pure."""

from __future__ import annotations

from llmbench_mcp.domain.errors import EndpointError, EndpointTimeout, RateLimitedError, ServerFault, UnreachableError

BUSY_WAITS_S = (1.0, 2.0, 5.0, 10.0)
FAULT_WAITS_S = (1.0, 3.0)
LONGEST_WAIT_S = 60.0
"""A server that asks for more is not waited for: the attempt ends as rate limited with the time given."""


def wait_before_retry(error: EndpointError, retries: int) -> float | None:
    """Seconds to wait before asking again, or None to give up.

    Args:
        error: what the last request ended in.
        retries: how many times it was asked again already.
    """
    if isinstance(error, RateLimitedError):
        return _busy_wait(error, retries)
    if isinstance(error, ServerFault) and error.refused:
        return None
    if isinstance(error, ServerFault | EndpointTimeout | UnreachableError) and retries < len(FAULT_WAITS_S):
        return FAULT_WAITS_S[retries]
    return None


def _busy_wait(error: RateLimitedError, retries: int) -> float | None:
    if retries >= len(BUSY_WAITS_S):
        return None
    if error.retry_after_s is None:
        return BUSY_WAITS_S[retries]
    return error.retry_after_s if error.retry_after_s <= LONGEST_WAIT_S else None
