"""The inside of a project process: lays out a folder of files and runs one test module or one probe in it.

A candidate process gets the texts of this module and of :mod:`project_guard` as its code (see :mod:`project_run`),
so they import nothing else of ours. Tests and answer share the process, which makes the result weakly trusted; what
can be done about that is done: files of the task come from memory, the guard watches the test library, and a test
that must fail is run last.

request: ``nonce``, ``kind`` (tests | probe), ``files`` and ``held`` ({path: text}; held ones are the task's own),
``path`` and ``code`` of the module to run, ``preload`` (module names), ``stop`` (at the first failure).
reply: ``nonce`` and either ``results`` = list of ``[name, word, text]`` (word None: passed, ``skipped``: by the
test file itself) with ``tampered`` = list of text, or ``value`` = what the probe returned.
"""

from __future__ import annotations

import errno
import importlib
import importlib.machinery
import os
import re
import sys
import types
import unittest
from collections.abc import Callable
from typing import Any

from llmbench_validators.project_guard import Guard

_MAX_TEXT = 300
_MAX_RESULTS = 2_000
_MAX_EXPLAINED = 20
_REFUSED = frozenset({errno.EPERM, errno.EACCES})
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Do what ``request`` asks in the current folder; both dictionaries are described above."""
    hide()
    import random

    random.seed(0)
    try:
        _lay_out({**request["files"], **request["held"]})
    except OSError as exc:
        return {"nonce": request["nonce"], "results": [["project", "format", describe(exc)]], "tampered": []}
    preload(request["preload"])
    guard = Guard(request["preload"], [_Results])
    _find_modules(request, guard)
    work = _probe if request["kind"] == "probe" else _tests
    return {"nonce": request["nonce"], **work(request, guard)}


def hide() -> None:
    """Take this module and those it stands on out of reach of an import."""
    for name in list(sys.modules):
        if name == "candidate" or name.startswith("llmbench_validators"):
            del sys.modules[name]
    sys.modules["__main__"] = types.ModuleType("__main__")


def _lay_out(files: dict[str, str]) -> None:
    for path, text in files.items():
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="", errors="surrogatepass") as file:
            file.write(text)


def preload(names: list[str]) -> None:
    """Import what the tests will want while the answer's files cannot be found yet."""
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            continue


def _find_modules(request: dict[str, Any], guard: Guard) -> None:
    here = os.getcwd()
    folders = [here, os.path.join(here, "src"), os.path.join(here, os.path.dirname(request["path"]))]
    sys.path[:0] = [folder for folder in dict.fromkeys(map(os.path.normpath, folders)) if os.path.isdir(folder)]
    importlib.invalidate_caches()
    sys.meta_path.insert(0, _Held(request["held"], guard))


class _Held:
    """Finds the task's own modules in memory, whatever has become of their files."""

    def __init__(self, texts: dict[str, str], guard: Guard) -> None:
        self._guard = guard
        self._texts: dict[str, tuple[str, str]] = {}
        for path, text in texts.items():
            if path.endswith(".py"):
                dotted = path[:-3].replace("/", ".")
                self._texts[dotted] = self._texts[dotted.rpartition(".")[2]] = (path, text)

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(name, self) if name in self._texts else None  # type: ignore[arg-type]

    def create_module(self, _spec: Any) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        path, text = self._texts[module.__name__]
        module.__file__ = path
        self._guard.trust(module)
        exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - the task's own module


# --- probes


def _probe(request: dict[str, Any], guard: Guard) -> dict[str, Any]:
    """What the module's ``probe()`` returns; what it raises goes on to the caller."""
    value = _module(request, guard).__dict__["probe"]()
    value = awaited(value) if isinstance(value, types.CoroutineType) else value
    guard.look()
    return {"value": value, "tampered": guard.broken()}


def awaited(value: Any) -> Any:
    """The result of a coroutine."""
    import asyncio

    return asyncio.run(value)


def _module(request: dict[str, Any], guard: Guard) -> types.ModuleType:
    name = os.path.basename(request["path"]).removesuffix(".py")
    module = types.ModuleType(name)
    module.__file__ = request["path"]
    sys.modules[name] = module
    exec(guard.compiled(request["code"], request["path"], module), module.__dict__)  # noqa: S102 - as above
    return module


# --- tests


def _tests(request: dict[str, Any], guard: Guard) -> dict[str, Any]:
    results = _Results(guard, stop=request["stop"])
    try:
        module = _module(request, guard)
    except BaseException as exc:  # noqa: BLE001 - the top of an untrusted program; everything is reported
        results.tell("module", load_word(exc), describe(exc))
        return {"results": results.listed(), "tampered": guard.broken()}
    guard.look()
    suite = unittest.TestSuite([unittest.defaultTestLoader.loadTestsFromModule(module), *_functions(module)])
    try:
        suite.run(results)
    except BaseException as exc:  # noqa: BLE001 - KeyboardInterrupt and the like end the run, not the report
        results.tell("module", failure_word(exc), describe(exc))
    if not results.told:
        results.tell("module", None, "")
    guard.look()
    if not _control_fails():
        guard.note("a test that must fail passed")
    return {"results": results.listed(), "tampered": guard.broken()}


def _functions(module: types.ModuleType) -> list[unittest.TestCase]:
    """Test functions outside classes, and the methods of classes that derive from nothing."""
    found: list[unittest.TestCase] = []
    own = [item for item in vars(module).items() if getattr(item[1], "__module__", None) == module.__name__]
    for name, thing in own:
        if name.startswith("test") and isinstance(thing, types.FunctionType):
            found.append(_Function(name, thing))
        elif name.startswith("Test") and isinstance(thing, type) and not issubclass(thing, unittest.TestCase):
            methods = [method for method in vars(thing) if method.startswith("test")]
            found += [_Function(f"{name}.{method}", _method(thing, method)) for method in methods]
    return found


def _method(owner: type, name: str) -> Callable[[], Any]:
    def call() -> Any:
        made = owner()
        setup = getattr(made, "setup_method", None)
        if callable(setup):
            setup()
        return getattr(made, name)()

    return call


class _Function(unittest.TestCase):
    """A test function as a test case."""

    def __init__(self, name: str, function: Callable[[], Any]) -> None:
        super().__init__("runTest")
        self.shown = name
        self._function = function

    def runTest(self) -> None:  # noqa: N802 - unittest's name
        value = self._function()
        if isinstance(value, types.CoroutineType):
            awaited(value)


class _Results(unittest.TestResult):
    """The word and text of each test by name."""

    def __init__(self, guard: Guard, *, stop: bool = False) -> None:
        super().__init__()
        self.told: dict[str, tuple[str | None, str]] = {}
        self._guard = guard
        self._stop_early = stop
        self._failed = 0

    def tell(self, name: str, word: str | None, text: str) -> None:
        if word is not None:
            self._failed += 1
        self._put(name, word, text if self._failed <= _MAX_EXPLAINED else "")
        if word is not None and self._stop_early:
            self.stop()

    def _put(self, name: str, word: str | None, text: str) -> None:
        name = name[:_MAX_TEXT]
        if name in self.told or len(self.told) < _MAX_RESULTS:
            self.told[name] = (word, text)

    def listed(self) -> list[list[str | None]]:
        return [[name, word, text] for name, (word, text) in self.told.items()]

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        super().startTest(test)
        self._put(_name(test), "runtime_error", "did not finish")

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        super().stopTest(test)
        self._guard.look(core=True)

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        self.tell(_name(test), None, "")

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802 - unittest's name
        self.tell(_name(test), "wrong_answer", describe(err[1]))

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802 - unittest's name
        self.tell(_name(test), failure_word(err[1]), describe(err[1]))

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:  # noqa: N802 - unittest's name
        if err is not None:
            self.tell(_name(test), failure_word(err[1]), describe(err[1]))

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802 - unittest's name
        """Only a decorator of the test file skips a test; anything else could be the answer's doing."""
        method = getattr(test, getattr(test, "_testMethodName", ""), None)
        decorated = getattr(type(test), "__unittest_skip__", False) or getattr(method, "__unittest_skip__", False)
        self.tell(_name(test), "skipped" if decorated else "wrong_answer", f"skipped: {reason}"[:_MAX_TEXT])

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802 - unittest's name
        self.tell(_name(test), None, "")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        self.tell(_name(test), "wrong_answer", "passed although it is marked as failing")


def _name(test: unittest.TestCase) -> str:
    if isinstance(test, _Function):
        return test.shown
    method = getattr(test, "_testMethodName", None)
    return f"{type(test).__qualname__}.{method}" if method else str(test)


def load_word(exc: BaseException) -> str:
    """The failure word for what a module raised while it was loaded."""
    if type(exc) is ImportError and "cannot import name" in str(exc):
        return "missing_function"
    if isinstance(exc, ImportError):
        return "import_error"
    return "syntax_error" if isinstance(exc, SyntaxError) else failure_word(exc)


def failure_word(exc: BaseException) -> str:
    """The failure word for what a test raised."""
    if isinstance(exc, AssertionError):
        return "wrong_answer"
    if isinstance(exc, MemoryError):
        return "memory_limit"
    if isinstance(exc, OSError):
        return "output_limit" if exc.errno == errno.EFBIG else "blocked" if exc.errno in _REFUSED else "runtime_error"
    return "runtime_error"


def describe(exc: BaseException) -> str:
    """The exception as text that is the same in every run: no addresses, no temporary folder."""
    try:
        text = str(exc)[: 4 * _MAX_TEXT]
    except Exception:  # noqa: BLE001 - __str__ is the answer's
        text = ""
    text = _ADDRESS.sub("0x…", text.replace(os.getcwd(), "."))
    return f"{type(exc).__name__}: {text}"[:_MAX_TEXT] if text else type(exc).__name__


class _Control(unittest.TestCase):
    def runTest(self) -> None:  # noqa: N802 - unittest's name
        self.assertEqual(1, 2)  # noqa: PT009 - it is unittest that is tried


def _control_fails() -> bool:
    results = unittest.TestResult()
    _Control().run(results)
    return len(results.failures) == 1 and results.testsRun == 1
