"""Test code as benchmarks ship it: a ``check(candidate)`` function or plain asserts, run against a proxy.

Runs in the trusted checker process. The candidate is another process; the proxy carries plain data only.
"""

from __future__ import annotations

import ast
import functools
import random
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from llmbench_validators import code_traits, foretold, show, trees, wire
from llmbench_validators.code_traits import Traits
from llmbench_validators.rebuilt import rebuilt, reply_of
from llmbench_validators.runner import carry_out
from llmbench_validators.session import CandidateFailed, Reply
from llmbench_validators.types import SandboxFault, ValidationSpecError

_FILE = "<tests>"
_CHECK = "check"

Call = Callable[[Any, Any], Reply]


_ENDS = (KeyboardInterrupt, GeneratorExit)
"""What would end this process, raised by somebody who has no right to."""


class _Ended(BaseException):
    """The tests have ended by themselves, in good order."""


class _Stop(BaseException):
    """Ends the current statement even under ``except Exception``; the reason is kept by the proxy."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one test failed; ``fatal`` when no later test can be run."""

    word: str
    text: str
    fatal: bool = False


class _Script(NamedTuple):
    """Test code taken apart: its statements, the calls it will make as far as they can be read, what else it tells."""

    steps: tuple[_Step, ...]
    calls: tuple[tuple[Any, Any], ...]
    traits: Traits

    @property
    def wanted(self) -> int:
        """How many tests there are."""
        return max(1, sum(step.counts for step in self.steps))


class _Setup(NamedTuple):
    """Setup code, ready to be run."""

    code: types.CodeType
    traits: Traits


@dataclass(frozen=True, slots=True)
class _Step:
    """One top-level statement; ``counts`` when it is a test rather than preparation."""

    code: types.CodeType
    source: str
    counts: bool
    lines: tuple[str, ...]


class Proxy:
    """Stands for the candidate's function in the tests' name space."""

    def __init__(self, name: str, call: Call) -> None:
        self._name = name
        self._call = call
        self._last: tuple[Any, Any, Reply] | None = None  # the arguments encoded, as they were before the call
        self._turn = threading.RLock()
        self.called = False
        self.fault: Failure | None = None
        self.broken: SandboxFault | None = None
        """What ended the sandbox in the middle of a call, which no test may take for the candidate's doing."""

    def forget(self) -> None:
        """Start a new statement."""
        self._last, self.fault = None, None

    def last(self) -> str:
        """The statement's last call and what came of it; empty when there was none."""
        if self._last is None:
            return ""
        args, kwargs, reply = self._last
        happened = reply.text if reply.word else f"returned {show.value(reply.value)}"
        return f"{show.call(self._name, wire.decode(args), wire.decode(kwargs))} {happened}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the candidate; its value, or its exception as the builtin type it derives from."""
        self.called = True
        with self._turn:  # tests may call from several threads, and there is one process to ask
            return self._answer(args, kwargs)

    def _answer(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            sent = wire.encode(list(args)), wire.encode(kwargs)
        except wire.TooLarge as exc:
            raise ValidationSpecError(f"test_code passes a value that no call can take: {exc}") from exc
        except wire.NotPlain as exc:
            raise ValidationSpecError(
                f"test_code passes a {exc} object to the function; only plain data reaches the sandbox, unless the "
                "block has trust: weak or a reference_solution that shows the need"
            ) from exc
        reply = self._made(sent, (list(args), kwargs))
        self._last = *sent, reply
        if reply.raised is not None:
            raise rebuilt(reply)
        if reply.word is not None:
            raise self._stopped(Failure(reply.word, self.last()))
        return reply.value

    def _made(self, sent: tuple[Any, Any], own: tuple[Any, Any]) -> Reply:
        """Make the call, and do to the tests' ``own`` objects what it did to the copies it was sent."""
        try:
            reply = self._call(*sent)
            if reply.changes:
                carry_out(own, reply)
            return reply
        except CandidateFailed as exc:
            raise self._stopped(Failure(exc.word, exc.text, fatal=True)) from None
        except SandboxFault as exc:
            self.broken = exc
            raise _Stop from None

    def _stopped(self, failure: Failure) -> _Stop:
        self.fault = self.fault or failure
        return _Stop()


def count(test_code: str, function: str) -> int:
    """How many tests the code holds. Raises ValidationSpecError when it is no Python."""
    return _script(test_code, function).wanted


def foretold_calls(test_code: str, function: str) -> tuple[tuple[Any, Any], ...]:
    """The calls the code will make, as far as can be read. Raises ValidationSpecError when it is no Python."""
    return _script(test_code, function).calls


def run(test_code: str, setup_code: str, function: str, proxy: Proxy, *, is_async: bool) -> list[Failure | None]:
    """Run every test in order; one entry a test, None when it passed.

    Raises ValidationSpecError when the tests themselves are at fault, SandboxFault when the sandbox failed.
    """
    script = _script(test_code, function)
    module = sys.modules["tests"] = types.ModuleType("tests")  # dataclasses look for theirs there
    names = vars(module)
    random.seed(0)
    _prepare(setup_code, names)
    names[function] = names["candidate"] = _awaitable(proxy) if is_async else proxy
    results = _results(script, names, proxy)
    if not results and not proxy.called:
        raise ValidationSpecError(f"test_code never calls {function}; write asserts, or call what holds them")
    return results or [None]


def _results(script: _Script, names: dict[str, Any], proxy: Proxy) -> list[Failure | None]:
    results: list[Failure | None] = []
    try:
        for step in script.steps:
            failure = _run_step(step, names, proxy, script.traits)
            if step.counts:
                results.append(failure)
            if failure is not None and (failure.fatal or not step.counts):
                return _with_rest(results, failure, script.wanted)
    except _Ended:
        pass
    return results


def _with_rest(results: list[Failure | None], failure: Failure, wanted: int) -> list[Failure | None]:
    """The results when ``failure`` kept the rest from being tried; where no rest is left, it is the last one's."""
    missing = wanted - len(results)
    return results + [failure] * missing if missing > 0 else [*results[:-1], results[-1] or failure]


def _prepare(setup_code: str, names: dict[str, Any]) -> None:
    try:
        exec(_setup(setup_code).code, names)  # noqa: S102 - the task's own code, see the module's words
    except ValidationSpecError:
        raise
    except (
        Exception,
        SystemExit,
        *_ENDS,
    ) as exc:  # the task's own code: whatever it raises is its fault, not the answer's
        raise ValidationSpecError(f"setup_code fails: {type(exc).__name__}: {exc}") from exc


def _awaitable(proxy: Proxy) -> Callable[..., Any]:
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return proxy(*args, **kwargs)

    return awaited


def _run_step(step: _Step, names: dict[str, Any], proxy: Proxy, traits: Traits) -> Failure | None:
    proxy.forget()
    failure = _tried(step, names, proxy, traits)
    if proxy.broken is not None:
        raise proxy.broken
    return failure


def _tried(step: _Step, names: dict[str, Any], proxy: Proxy, traits: Traits) -> Failure | None:
    try:
        exec(step.code, names)  # noqa: S102 - the task's own code
    except _Stop:
        pass
    except ValidationSpecError:
        raise
    except SystemExit as exc:  # as unittest.main ends
        if not exc.code and proxy.fault is None:
            raise _Ended from None
        return proxy.fault or Failure("wrong_answer", f"{_failing_line(exc, step)} ended the tests", fatal=True)
    except (Exception, *_ENDS) as exc:  # noqa: BLE001 - classified below
        return proxy.fault or _classified(exc, step, proxy, traits)
    return proxy.fault


def _classified(exc: BaseException, step: _Step, proxy: Proxy, traits: Traits) -> Failure:
    reply = None if _is_plain_assertion(exc) else reply_of(exc)
    if reply is not None:
        return Failure(reply.word or "runtime_error", proxy.last() or reply.text)
    if _is_of_the_tests(exc, traits):
        raise ValidationSpecError(f"test_code is at fault: {exc}") from exc
    last = proxy.last()
    happened = f"; {last}" if last else ""
    reason = "" if isinstance(exc, AssertionError) else f" ({type(exc).__name__})"
    return Failure("wrong_answer", f"{_failing_line(exc, step)}{reason}{happened}")


def _is_plain_assertion(exc: BaseException) -> bool:
    return isinstance(exc, AssertionError) and "candidate_reply" not in exc.__dict__


def _is_of_the_tests(exc: BaseException, traits: Traits) -> bool:
    """Whether no answer can have caused it: a name that the tests bind themselves is missing for want of a value."""
    if isinstance(exc, UnboundLocalError):
        return False
    return isinstance(exc, ImportError) or (isinstance(exc, NameError) and exc.name not in traits.binds)


def _failing_line(exc: BaseException, step: _Step) -> str:
    """The innermost line of the tests themselves, which for ``check`` says more than the call of it."""
    found = step.source
    trace = exc.__traceback__
    while trace is not None:
        number = trace.tb_lineno
        if trace.tb_frame.f_code.co_filename == _FILE and 0 < number <= len(step.lines):
            found = step.lines[number - 1].strip()
        trace = trace.tb_next
    return show.cut(found)


@functools.lru_cache(maxsize=256)
def _setup(source: str) -> _Setup:
    try:
        code = compile(source, "<setup>", "exec", dont_inherit=True)
        return _Setup(code, code_traits.traits(trees.tree(source, "<setup>").body))
    except (SyntaxError, ValueError) as exc:
        raise ValidationSpecError(f"setup_code is no Python: {exc}") from exc


def traits_of(test_code: str, setup_code: str, function: str) -> Traits:
    """What tests and their setup tell together. Raises ValidationSpecError for what is no Python."""
    tests, setup = _script(test_code, function).traits, _setup(setup_code).traits
    return Traits(tests.timed or setup.timed, tests.meddles or setup.meddles)


def statements(test_code: str, function: str) -> list[tuple[str, bool]]:
    """The code's statements in order, and which of them are tests. Raises ValidationSpecError when it is no Python."""
    return [(ast.unparse(node), _is_test(node, function)) for node in _body(test_code)[0]]


@functools.lru_cache(maxsize=256)
def _script(test_code: str, function: str) -> _Script:
    body, lines = _body(test_code)
    traits = code_traits.traits(body)
    steps = tuple(_step(node, function, lines, traits.flags) for node in body)
    return _Script(steps, () if traits.timed else tuple(foretold.calls(body, function)), traits)


def _body(test_code: str) -> tuple[list[ast.stmt], tuple[str, ...]]:
    """The statements, with the call of ``check`` that benchmarks leave out, and the lines they stand on."""
    body = _parsed(test_code)
    if _defines_check(body) and not any(_calls_check(node) for node in body):
        (added,) = _parsed(call := f"{_CHECK}(candidate)")
        test_code += f"\n{call}\n"
        body = [*body, ast.increment_lineno(added, test_code.count("\n") - 1)]
    return body, tuple(test_code.split("\n"))


def _parsed(test_code: str) -> list[ast.stmt]:
    try:
        return trees.tree(test_code, _FILE).body
    except (SyntaxError, ValueError, RecursionError) as exc:
        raise ValidationSpecError(f"test_code is no Python: {exc}") from exc


def _step(node: ast.stmt, function: str, lines: tuple[str, ...], flags: int) -> _Step:
    code = compile(ast.Module([node], []), _FILE, "exec", flags, dont_inherit=True)
    source = "\n".join(lines[node.lineno - 1 : node.end_lineno])
    return _Step(code, source, _is_test(node, function), lines)


def _is_test(node: ast.stmt, function: str) -> bool:
    if isinstance(node, ast.Assert) or _calls_check(node):
        return True
    if not isinstance(node, ast.For | ast.While | ast.Try | ast.With | ast.If | ast.Expr):
        return False
    return any(isinstance(part, ast.Name) and part.id in {function, "candidate"} for part in ast.walk(node))


def _defines_check(body: list[ast.stmt]) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == _CHECK and node.args.args for node in body)


def _calls_check(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == _CHECK
