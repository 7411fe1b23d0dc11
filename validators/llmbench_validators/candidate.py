"""The inside of a candidate process: runs one answer's code and calls its function, on request.

It knows the code and the arguments of the calls, nothing else: no expected value, no test, no nonce. Everything
it sends is taken as a claim of the candidate, never as a verdict.
"""

from __future__ import annotations

import builtins
import errno
import os
import socket
import sys
import types
from collections.abc import Callable
from typing import Any

from llmbench_validators import wire

MAX_REQUEST = 64 << 20
OUT_OF_MEMORY = 70
"""Exit status when not even the report of a MemoryError could be sent."""

_MODULE = "candidate"
_MAX_TEXT = 300
_CO_COROUTINE = 0x80  # inspect.CO_COROUTINE; the module itself would weigh on every fork
_REFUSED = frozenset({errno.EPERM, errno.EACCES, errno.EFBIG})


def serve(channel: socket.socket) -> None:
    """Load the code of the first request, then answer calls until the channel closes. Never returns."""
    try:
        request = wire.receive(channel, MAX_REQUEST)
        function = _load(channel, request)
        while function is not None:
            _answer(channel, function, wire.receive(channel, MAX_REQUEST))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except (wire.Closed, OSError):
        pass
    os._exit(0)


def _load(channel: socket.socket, request: dict[str, Any]) -> Callable[..., Any] | None:
    module = types.ModuleType(_MODULE)
    sys.modules[_MODULE] = module
    note = ""
    try:
        code = compile(request["code"], "<answer>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as exc:
        _fail(channel, "syntax_error", exc)
        return None
    try:
        _run_imports(request["imports"], module.__dict__)
        exec(code, module.__dict__)  # noqa: S102 - running the answer is this process's only purpose
    except BaseException as exc:  # noqa: BLE001 - the top of an untrusted program; everything is reported
        if not _survivable(exc) or _find(module, request["function"]) is None:
            _fail(channel, _word(exc, importing=True), exc)
            return None
        note = type(exc).__name__
    function = _find(module, request["function"])
    if function is None:
        name = request["function"]
        wire.send(channel, {"failed": "missing_function", "text": f"the code defines no function {name}"})
        return None
    wire.send(channel, {"ready": True, "async": _is_async(function), "note": note})
    return function


def _is_async(function: Any) -> bool:
    code = getattr(function, "__code__", None) or getattr(getattr(function, "__func__", None), "__code__", None)
    return isinstance(code, types.CodeType) and bool(code.co_flags & _CO_COROUTINE)


def _run_imports(lines: list[str], namespace: dict[str, Any]) -> None:
    """The task's own imports, which a prompt shows and answers lean on; one that fails is left out."""
    for line in lines:
        try:
            exec(line, namespace)  # noqa: S102 - import statements of the task
        except ImportError:
            continue


def _survivable(exc: BaseException) -> bool:
    """A failing demo below a complete definition does not void the definition; blocked or starved code does."""
    return isinstance(exc, SystemExit) or _word(exc, importing=True) in {"runtime_error", "import_error"}


def _find(module: types.ModuleType, name: str) -> Callable[..., Any] | None:
    found: Callable[..., Any] | None = module.__dict__.get(name)
    if callable(found):
        return found
    owners = [c for c in module.__dict__.values() if _own_class(c) and callable(c.__dict__.get(name))]
    if len(owners) != 1:
        return None
    try:
        method: Callable[..., Any] = getattr(owners[0](), name)
    except Exception:  # noqa: BLE001 - the class is the candidate's; one that cannot be built has no function
        return None
    return method if callable(method) else None


def _own_class(thing: Any) -> bool:
    return isinstance(thing, type) and thing.__module__ == _MODULE


def _fail(channel: socket.socket, word: str, exc: BaseException) -> None:
    wire.send(channel, {"failed": word, "text": _describe(exc)})


def _word(exc: BaseException, *, importing: bool = False) -> str:
    if isinstance(exc, MemoryError):
        return "memory_limit"
    if isinstance(exc, OSError) and exc.errno in _REFUSED:
        return "blocked"
    if importing and isinstance(exc, SyntaxError):
        return "syntax_error"
    return "import_error" if importing and isinstance(exc, ImportError) else "runtime_error"


def _describe(exc: BaseException) -> str:
    try:
        text = str(exc)
    except Exception:  # noqa: BLE001 - __str__ is the candidate's
        text = ""
    return f"{type(exc).__name__}: {text}"[:_MAX_TEXT] if text else type(exc).__name__


def _answer(channel: socket.socket, function: Callable[..., Any], request: dict[str, Any]) -> None:
    try:
        value = function(*wire.decode(request["args"]), **wire.decode(request["kwargs"]))
        if isinstance(value, types.CoroutineType):
            import asyncio  # would make every fork slower, and is rarely needed

            value = asyncio.run(value)
        reply: dict[str, Any] = {"value": wire.encode(value)}
        del value
    except wire.NotPlain as exc:
        reply = {"odd": str(exc)[:_MAX_TEXT]}
    except wire.TooLarge:
        reply = {"large": True}
    except BaseException as exc:  # noqa: BLE001 - the top of an untrusted program; everything is reported
        reply = _raised(exc)
    frame = wire.pack(reply)
    channel.sendall(frame if len(frame) <= wire.MAX_REPLY else wire.pack({"large": True}))


def _raised(exc: BaseException) -> dict[str, Any]:
    """The exception by name: its own, and the nearest builtin it derives from."""
    kin = [cls.__name__ for cls in type(exc).__mro__ if getattr(builtins, cls.__name__, None) is cls]
    try:
        text = str(exc)[:_MAX_TEXT]
    except Exception:  # noqa: BLE001 - __str__ is the candidate's
        text = ""
    name = type(exc).__name__[:_MAX_TEXT]
    return {"raised": name, "kin": kin[0] if kin else "Exception", "text": text, "word": _word(exc)}
