"""The process that is the embedded inference server: llama.cpp inside, HTTP outside, gone with its parent.

Run as ``python -m llmbench_mcp.backends.embedded.server_child --model PATH --port N``. Writes one JSON line,
``{"listening": URL}``, to stdout once the model is loaded; everything else goes to stderr. It ends when its
standard input does and, on Linux, when the thread that started it does.

Exit codes: 2 wrong arguments, 3 xllamacpp is missing, 4 the server did not start, 0 the parent is gone.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the parent is gone."""
    options = _parser().parse_args(argv)
    _tie_to_parent(options.parent)
    ready = _keep_stdout_clean()
    try:
        server = _start(options)
    except ImportError as error:
        return _fail(3, f"xllamacpp cannot be imported: {error}")
    except (RuntimeError, ValueError, OSError) as error:
        return _fail(4, f"the server did not start: {error}")
    with os.fdopen(ready, "w", encoding="utf-8") as out:
        out.write(json.dumps({"listening": server.listening_address}) + "\n")
    threading.Event().wait()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="server_child")
    parser.add_argument("--model", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ctx", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--alias", default="embedded")
    parser.add_argument("--parent", type=int, default=0, help="process id to die with")
    return parser


def _tie_to_parent(parent: int) -> None:
    """Two ropes: the kernel's death signal, and end of file on stdin for every other system."""
    threading.Thread(target=_exit_at_end_of_input, daemon=True).start()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent and os.getppid() != parent:
        os._exit(0)  # it died before the signal was set


def _exit_at_end_of_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def _keep_stdout_clean() -> int:
    """Native code may write to descriptor 1: that becomes stderr, and the real one is returned."""
    real = os.dup(1)
    os.dup2(2, 1)
    return real


def _start(options: argparse.Namespace) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.hostnames = ["127.0.0.1"]
    params.port = options.port
    params.n_ctx = options.ctx
    params.n_parallel = 1  # one slot: batching different prompts together changes their answers
    params.cpuparams.n_threads = options.threads
    params.use_jinja = True
    params.model_alias = [options.alias]
    return xllamacpp.Server(params)


def _fail(code: int, reason: str) -> int:
    sys.stderr.write(f"llmbench-mcp embedded server: {' '.join(reason.split())}\n")
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    sys.exit(main())
