"""The inside of a process where test code runs beside the answer, for tests that plain data cannot serve.

A candidate process gets the texts of this module and of those it stands on as its code (see :mod:`weak_run`). What
the answer can reach it can change, so the result is weakly trusted; the guard notes what it can.

request: ``nonce``, ``code`` (the answer), ``imports`` (list of lines the answer may lean on), ``setup``, ``late``
(whether the setup needs names of the answer), ``wanted`` (names the answer has to define for the tests),
``function``, ``statements`` = list of ``[source, counts]``, ``preload`` (module names).
reply: ``nonce``, ``results`` = list of ``[word, text]`` for each statement that counts (word None: passed), ``note``
(what the answer's code ended with after the definition) and ``tampered`` = list of text.
"""

from __future__ import annotations

import builtins
import random
import sys
import types
from typing import Any

from llmbench_validators import candidate
from llmbench_validators.project_child import describe, failure_word, hide, load_word, preload
from llmbench_validators.project_guard import Guard

_ANSWER, _TESTS = "<answer>", "<tests"
_SURVIVABLE = frozenset({"runtime_error", "import_error"})
_MAX_LINE = 160

Result = list[str | None]


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Do what ``request`` asks; both dictionaries are described above."""
    hide()
    random.seed(0)
    preload(request["preload"])
    room = _Room(request, Guard(request["preload"], fatal=True))
    results = room.results()
    return {"nonce": request["nonce"], "results": results, "note": room.note, "tampered": room.guard.broken()}


class _Failed(Exception):
    """Nothing can be tested; holds the word and text."""


class _Room:
    """The name spaces of the tests and the answer."""

    def __init__(self, request: dict[str, Any], guard: Guard) -> None:
        self.guard = guard
        self.note = ""
        self._request = request
        self._sources: dict[str, list[str]] = {}
        self._tests = types.ModuleType("tests")
        vars(self._tests)["__builtins__"] = dict(vars(builtins))  # the answer may change those of the interpreter
        self._answer = sys.modules["candidate"] = types.ModuleType("candidate")

    def results(self) -> list[Result]:
        wanted = sum(counts for _, counts in self._request["statements"]) or 1
        try:
            self._prepare()
        except _Failed as exc:
            return [list(exc.args)] * wanted
        return self._tested(wanted)

    def _prepare(self) -> None:
        if not self._request["late"]:
            self._set_up()
        self._load()
        self.guard.look()
        function = candidate.find(self._answer, self._request["function"])
        if function is None:
            raise _Failed("missing_function", f"the code defines no function {self._request['function']}")
        offered = vars(self._answer)
        vars(self._tests).update({name: offered[name] for name in self._request["wanted"] if name in offered})
        if self._request["late"]:
            self._set_up()
        vars(self._tests).update({self._request["function"]: function, "candidate": function})

    def _set_up(self) -> None:
        sys.modules["tests"] = self._tests  # dataclasses look there; afterwards no import of the answer's finds it
        try:
            self._run(self._request["setup"], f"{_TESTS} setup>")
        except BaseException as exc:  # noqa: BLE001 - the answer's classes may be at work in it
            raise _Failed(*self._told(exc)) from None
        finally:
            del sys.modules["tests"]

    def _load(self) -> None:
        names = vars(self._answer)
        hidden = {self._request["function"], "candidate"}
        names |= {name: value for name, value in vars(self._tests).items() if name[:2] != "__" and name not in hidden}
        for line in self._request["imports"]:
            try:
                exec(line, names)  # noqa: S102 - import lines of the task
            except ImportError:
                continue
        try:
            exec(compile(self._request["code"], _ANSWER, "exec", dont_inherit=True), names)  # noqa: S102 - the answer
        except BaseException as exc:  # noqa: BLE001 - the top of an untrusted program; everything is reported
            survivable = isinstance(exc, SystemExit) or load_word(exc) in _SURVIVABLE
            if not survivable or candidate.find(self._answer, self._request["function"]) is None:
                raise _Failed(load_word(exc), describe(exc)) from None
            self.note = type(exc).__name__

    def _run(self, source: str, path: str) -> None:
        self._sources[path] = source.split("\n")
        exec(self.guard.compiled(source, path, self._tests), vars(self._tests))  # noqa: S102 - the task's own code

    # --- tests

    def _tested(self, wanted: int) -> list[Result]:
        results: list[Result] = []
        for number, (source, counts) in enumerate(self._request["statements"], 1):
            result = self._one(source, f"{_TESTS} {number}>")
            self.guard.look(core=True)
            if counts:
                results.append(result)
            elif result[0] is not None:
                missing = wanted - len(results)
                return results + [result] * missing if missing > 0 else [*results[:-1], result]
        self.guard.look()
        return results or [[None, ""]]

    def _one(self, source: str, path: str) -> Result:
        try:
            self._run(source, path)
        except BaseException as exc:  # noqa: BLE001 - the answer's code raises what it likes
            return self._told(exc)
        return [None, ""]

    def _told(self, exc: BaseException) -> Result:
        """The word and text for what came out of the tests; an exception of the answer's own is its runtime error."""
        path, line = self._place(exc)
        if path == _ANSWER or not isinstance(exc, Exception):
            word = failure_word(exc)
            return ["runtime_error" if word == "wrong_answer" else word, f"raised {describe(exc)}"]
        if isinstance(exc, NameError) and exc.name in self._request["wanted"]:
            return ["missing_function", f"the code defines no {exc.name}"]
        word = failure_word(exc)
        text = line if isinstance(exc, AssertionError) else f"{line} ({describe(exc)})"
        return ["wrong_answer" if word == "runtime_error" else word, text]

    def _place(self, exc: BaseException) -> tuple[str, str]:
        """The file and line of the innermost frame that is the tests' or the answer's."""
        found = "", ""
        trace = exc.__traceback__
        while trace is not None:
            path = trace.tb_frame.f_code.co_filename
            if path == _ANSWER or path.startswith(_TESTS):
                lines = self._sources.get(path, [])
                text = lines[trace.tb_lineno - 1].strip() if 0 < trace.tb_lineno <= len(lines) else ""
                found = path, text[:_MAX_LINE]
            trace = trace.tb_next
        return found
