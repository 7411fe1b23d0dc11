from __future__ import annotations

import pytest

from llmbench_mcp.domain.errors import (
    AuthError,
    EndpointError,
    EndpointTimeout,
    IncompatibleError,
    ModelNotAvailable,
    ProtocolError,
    RateLimitedError,
    ServerFault,
    UnreachableError,
)
from llmbench_mcp.engine.retry import wait_before_retry


def waits(error: EndpointError) -> list[float]:
    found: list[float] = []
    while (wait := wait_before_retry(error, len(found))) is not None:
        found.append(wait)
    return found


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RateLimitedError("busy"), [1, 2, 5, 10]),
        (RateLimitedError("busy", retry_after_s=2.0), [2, 2, 2, 2]),
        (RateLimitedError("busy", retry_after_s=0.0), [0, 0, 0, 0]),
        (RateLimitedError("busy", retry_after_s=7200.0), []),  # nobody sleeps two hours
        (ServerFault("502"), [1, 3]),
        (EndpointTimeout("silent"), [1, 3]),
        (UnreachableError("refused"), [1, 3]),
        (AuthError("401"), []),
        (ModelNotAvailable("404"), []),
        (IncompatibleError("no template"), []),
        (ProtocolError("a web page"), []),
    ],
)
def test_each_error_is_retried_as_the_rules_say(error: EndpointError, expected: list[float]) -> None:
    assert waits(error) == expected
