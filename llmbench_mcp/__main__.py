"""``python -m llmbench_mcp`` and the ``llmbench-mcp`` command."""

from __future__ import annotations

import sys


def main() -> int:
    """Serve stdio when called bare, else run the command line. Returns the exit code."""
    if "score" in sys.argv[1:4]:
        from llmbench_mcp.scoring.warmup import start_early

        start_early(sys.argv[1:])
    from llmbench_mcp.cli.main import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
