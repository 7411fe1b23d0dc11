"""Whether a server is busy with something else when measuring begins.

A request of ours that was given up is closed before its job ends. Some servers notice that late, so what they say
about themselves is waited for; where they say nothing, the warm-up request is the barrier: it queues behind the rest.
"""

from __future__ import annotations

from llmbench_mcp.domain.errors import EndpointError
from llmbench_mcp.domain.ports import Backend, Clock, TellsWork

_WAIT_S = 5.0
_POLL_S = 0.1


async def wait_until_quiet(backend: Backend, served_name: str, clock: Clock) -> str:
    """Return once the server answers nothing any more: "", or what disturbs the timings after a few seconds."""
    if not isinstance(backend, TellsWork):
        return ""
    until = clock.monotonic() + _WAIT_S
    while True:
        try:
            count = await backend.at_work(served_name)
        except EndpointError:
            return ""  # nothing known; whatever ails the server shows with the first question
        if not count:
            return ""
        if clock.monotonic() >= until:
            return f"the server was busy with {count} other request(s) when measuring began"
        await clock.sleep(_POLL_S)
