"""The inside of a candidate process: runs one answer's code and calls its function, on request.

It knows the code and the arguments of the calls, nothing else: no expected value, no test, no nonce. Everything
it sends is taken as a claim of the candidate, never as a verdict.
"""

from __future__ import annotations

import builtins
import errno
import json
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from llmbench_validators import arguments, wire

BELL, ROOM = b"!", b"."
"""What a candidate writes into its channel: once when all replies asked for are in the pipe, and before it writes to
a pipe that is full, which happens at most MOST_CALLS times a reply."""

MOST_CALLS = 2

OUT_OF_MEMORY = 70
"""Exit status when not even the report of a MemoryError could be sent."""


_MODULE = "candidate"
_STEP = 4096  # bytes that fit into any pipe
_bell = -1
_MAX_TEXT, _MAX_MESSAGE, _MAX_ARGUMENTS = 300, 4096, 10
_CO_COROUTINE = 0x80  # inspect.CO_COROUTINE; the module itself would weigh on every fork
_REFUSED = frozenset({errno.EPERM, errno.EACCES, errno.EFBIG})


def _encoder() -> Callable[[Any], str]:
    """JSON without spaces by the C encoder alone, where there is one: the Python around it costs more."""
    if (make := vars(json.encoder)["c_make_encoder"]) is None:
        return json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
    pieces = make(None, None, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, True)
    return lambda message: "".join(pieces(message, 0))


_as_json = _encoder()
_REHEARSALS = 16
"""Enough runs for the interpreter to have specialised its instructions (which it stores, so: before the fork)."""


def rehearse() -> None:
    """Go through what every candidate does, in the process they are forked from."""
    ours, theirs = os.pipe()
    for _ in range(_REHEARSALS):
        code = compile("def f(x):\n    return x\n", "<answer>", "exec", dont_inherit=True)
        os.write(theirs, wire.pack_trusted({"code": code, "function": "f", "imports": [], "calls": []}))
        function = _load(theirs, wire.receive_trusted(ours))
        assert function is not None
        for value in ([1, 2.5, "a", None, True], {"d": [[1, {"t": [2]}]]}):
            _answer(theirs, function, [value], {"d": []})
            _watched_answer(theirs, function, [value], {"d": []})
        os.read(ours, 1 << 16)
    del sys.modules[_MODULE]
    os.close(ours)
    os.close(theirs)


def serve(channel: int, replies: int) -> None:
    """Load the code of the first request, then answer calls until the channel closes. Never returns.

    Both are descriptors. Requests come from the trusted side (``code``, ``function``, ``imports``, then and later
    ``calls``: a list of arguments and keyword arguments); every call gets a reply of its own. With ``watched`` in the
    first request the replies tell what the calls did to their arguments, see :mod:`arguments`. The replies go into a
    pipe of their own that does not block, and BELL into the channel when there is no more to come: so the trusted
    side is not woken by each of them, and has them all the same when the process dies in between.
    """
    global _bell
    _bell = channel
    try:
        request = wire.receive_trusted(channel)
        function = _load(replies, request)
        answer = _watched_answer if request.get("watched") else _answer
        while function is not None:
            if "times" in request:
                _send(replies, _repeated(function, request["calls"], request["times"]))
            else:
                for args, kwargs in request["calls"]:
                    answer(replies, function, args, kwargs)
            os.write(channel, BELL)
            request = wire.receive_trusted(channel)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except (wire.Closed, OSError):
        pass
    os._exit(0)


def _send(channel: int, message: dict[str, Any]) -> None:
    body = _as_json(message).encode()
    if len(body) + 4 > wire.MAX_REPLY:
        body = b'{"large":true}'
    frame = len(body).to_bytes(4, "big") + body
    try:
        sent = os.write(channel, frame)
    except BlockingIOError:
        sent = 0
    if sent < len(frame):
        _force(channel, frame[sent:])


def _force(channel: int, rest: bytes) -> None:
    """Write to a pipe that is full: the reader is told before each step, and reads on while it has half a frame."""
    os.set_blocking(channel, True)
    for part in (rest[:_STEP], rest[_STEP:]):
        os.write(_bell, ROOM)
        while part:
            part = part[os.write(channel, part) :]
    os.set_blocking(channel, False)


def _load(channel: int, request: dict[str, Any]) -> Callable[..., Any] | None:
    module = types.ModuleType(_MODULE)
    sys.modules[_MODULE] = module
    note = ""
    code = request["code"]
    try:
        if isinstance(code, str):
            code = compile(code, "<answer>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as exc:
        _fail(channel, "syntax_error", exc)
        return None
    try:
        _run_imports(request["imports"], module.__dict__)
        exec(code, module.__dict__)  # noqa: S102 - running the answer is this process's only purpose
    except BaseException as exc:  # noqa: BLE001 - the top of an untrusted program; everything is reported
        if not _survivable(exc) or find(module, request["function"]) is None:
            _fail(channel, _word(exc, importing=True), exc)
            return None
        note = type(exc).__name__
    function = find(module, request["function"])
    if function is None:
        name = request["function"]
        _send(channel, {"failed": "missing_function", "text": f"the code defines no function {name}"})
        return None
    _send(channel, {"ready": True, "async": _is_async(function), "note": note})
    return function


def _is_async(function: Any) -> bool:
    code = getattr(function, "__code__", None) or getattr(getattr(function, "__func__", None), "__code__", None)
    return isinstance(code, types.CodeType) and bool(code.co_flags & _CO_COROUTINE)


def _run_imports(lines: list[types.CodeType], namespace: dict[str, Any]) -> None:
    """The task's own imports, which a prompt shows and answers lean on; one that fails is left out."""
    for line in lines:
        try:
            exec(line, namespace)  # noqa: S102 - import statements of the task
        except ImportError:
            continue


def _survivable(exc: BaseException) -> bool:
    """A failing demo below a complete definition does not void the definition; blocked or starved code does."""
    return isinstance(exc, SystemExit) or _word(exc, importing=True) in {"runtime_error", "import_error"}


def find(module: types.ModuleType, name: str) -> Callable[..., Any] | None:
    """The function of that name, or the method of the one class that has it."""
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


def _fail(channel: int, word: str, exc: BaseException) -> None:
    _send(channel, {"failed": word, "text": _describe(exc)})


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


def _repeated(function: Callable[..., Any], calls: list[tuple[Any, Any]], times: int) -> dict[str, Any]:
    """Make the calls over and over; nothing but the last reply, or the first one that is no value."""
    reply: dict[str, Any] = {"value": None}
    for _ in range(times):
        for args, kwargs in calls:
            reply = _reply(function, args, kwargs)
            if "value" not in reply:
                return reply
    return {"value": None}


def _answer(channel: int, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    _send(channel, _called(function, wire.decode(args), wire.decode(kwargs)))


def _watched_answer(channel: int, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    given = wire.decode(args), wire.decode(kwargs)
    watched = arguments.Watched(given)
    reply = _called(function, *given)
    if changes := watched.changes():
        reply["changes"] = changes
    _send(channel, reply)


def _reply(function: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any]:
    return _called(function, wire.decode(args), wire.decode(kwargs))


def _called(function: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any]:
    try:
        value = function(*args, **kwargs)
        if isinstance(value, types.CoroutineType):
            import asyncio  # would make every fork slower, and is rarely needed

            value = asyncio.run(value)
        return {"value": wire.encode(value)}
    except wire.NotPlain as exc:
        return {"odd": str(exc)[:_MAX_TEXT]}
    except wire.TooLarge:
        return {"large": True}
    except BaseException as exc:  # noqa: BLE001 - the top of an untrusted program; everything is reported
        return _raised(exc)


def _raised(exc: BaseException) -> dict[str, Any]:
    """The exception by name: its own, and the nearest builtin it derives from; its arguments, if they are plain."""
    kin = [cls.__name__ for cls in type(exc).__mro__ if getattr(builtins, cls.__name__, None) is cls]
    try:
        text = str(exc)[:_MAX_MESSAGE]
    except Exception:  # noqa: BLE001 - __str__ is the candidate's
        text = ""
    name = type(exc).__name__[:_MAX_TEXT]
    told = {"raised": name, "kin": kin[0] if kin else "Exception", "text": text, "word": _word(exc)}
    try:
        arguments = wire.encode(BaseException.args.__get__(exc)[:_MAX_ARGUMENTS])  # type: ignore[attr-defined]  # a slot
        return {**told, "arguments": arguments} if len(repr(arguments)) <= _MAX_MESSAGE else told
    except Exception:  # noqa: BLE001 - no plain data
        return told
