"""What the exit codes mean; shown at the end of ``--help``."""

from __future__ import annotations

OK = 0
FAILED = 1
USAGE = 2
RUN_NOT_CLEAN = 3
INTERNAL = 70
INTERRUPTED = 130

MEANINGS = {
    OK: "done",
    FAILED: "the request failed, as the message says",
    USAGE: "the command line is wrong",
    RUN_NOT_CLEAN: "the run that was waited for ended cancelled, failed or with errors",
    INTERNAL: "a fault of this program (details in logs/cli.log)",
    INTERRUPTED: "interrupted (Ctrl-C)",
}


def epilog() -> str:
    """The table as one paragraph."""
    return "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in MEANINGS.items()) + "."
