"""With which settings another process of this machine was started."""

from __future__ import annotations

from llmbench_mcp.config import Settings, load_settings, variable
from llmbench_mcp.domain.errors import InputError

_OF_WORK = (
    "agent_any_address",
    "credential_store",
    "min_isolation",
    "total_timeout_s",
    "stall_timeout_s",
    "load_timeout_s",
    "release_wait_s",
    "device_budgets",
    "co_residency",
    "partial_offload",
    "loop_tokens",
    "outage_limit_s",
    "breaker_errors",
    "gpu_exporters",
)
"""What decides how an executor does its work; the rest is about when it comes and leaves, or is planned elsewhere."""


def differing(pid: int, mine: Settings) -> list[str]:
    """The variables that this process has otherwise than that one, as far as they decide how runs are worked.

    None of them where that process does not let itself be looked at.
    """
    import psutil

    try:
        theirs = load_settings(psutil.Process(pid).environ())
    except (psutil.Error, OSError, InputError):
        return []
    return [variable(name) for name in _OF_WORK if getattr(theirs, name) != getattr(mine, name)]
