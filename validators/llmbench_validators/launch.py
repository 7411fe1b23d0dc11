"""Starting the sandbox's own Python processes: built environment, nothing inherited but one socket."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

_ROOT = str(Path(__file__).resolve().parent.parent)
# -s -S -P leave the interpreter's own modules only; -I is avoided because it would ignore PYTHONHASHSEED.
_FLAGS = ("-s", "-S", "-P")
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); import importlib; "
    "module = importlib.import_module(sys.argv[2]); sys.path.remove(sys.argv[1]); "
    "sys.dont_write_bytecode = True; module.main(int(sys.argv[3]), *sys.argv[4:])"
)


def environment() -> dict[str, str]:
    """The whole environment of a sandbox process; only the place for temporary files is taken over."""
    built = {
        "PATH": "/usr/bin:/bin",
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONIOENCODING": "utf-8:backslashreplace",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "LD_BIND_NOW": "1",  # what is looked up later, every forked process looks up again
    }
    if "TMPDIR" in os.environ:
        built["TMPDIR"] = os.environ["TMPDIR"]
    return built


def start(module: str, *arguments: str) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start ``module.main(fd, *arguments)`` in a fresh interpreter; returns it with our end of its control socket.

    Raises OSError when the interpreter cannot be started.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        flags = (*_FLAGS, "-B") if sys.dont_write_bytecode else _FLAGS
        command = [sys.executable, *flags, "-c", _BOOT, _ROOT, module, str(theirs.fileno()), *arguments]
        try:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment(),
                cwd="/",
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # the terminal's Ctrl-C is for the server alone
            )
        except OSError:
            ours.close()
            raise
    return process, ours
