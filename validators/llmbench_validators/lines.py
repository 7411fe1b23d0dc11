"""Grading JSON lines: one answer in, one verdict out, in order.

in: ``{"id", "validation": {…} or "task": "category/name", "completion", "tool_calls"?, "finish_reason"?, "prompt"?,
"earlier"?}``; of a task in turns ``earlier`` lists the answers before this one, ``{"completion", "tool_calls"?}`` each
out: ``{"id", "passed", "score", "confidence", "failure", "validator", "extractor", "subscores", "stages",
"findings"}``, or ``{"id", "error": "line N: …"}`` for a line that could not be graded. Unknown fields are ignored.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from llmbench_validators import registry, sandbox, show
from llmbench_validators.types import Completion, SandboxFault, ValidationSpecError, Verdict

MAX_LINE = 16 << 20
"""Bytes of one line; a longer one is refused."""


class TaskBlock(NamedTuple):
    """What grading needs of a task: its VALIDATION block and the prompt its answers replied to."""

    validation: Mapping[str, Any]
    prompt: str = ""


Resolve = Callable[[str], TaskBlock]
"""Finds a task by its name; raises LookupError when there is none, Unreadable to say more."""


Results = Generator[dict[str, Any], None, None]


class Unreadable(ValueError):
    """The line is no input of this format."""


def grade_lines(lines: Iterable[bytes], jobs: int = 1, resolve: Resolve | None = None) -> Results:
    """One result a non-empty line, in order, ``jobs`` at a time.

    A few lines are read ahead, in a thread of its own, so that a result comes as soon as it is known although the
    next line has not come yet. When it is left early, by Ctrl-C too, code under way is ended at once. Raises what
    reading ``lines`` raises.
    """
    pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="grading")
    feed = _Feed(pool, jobs, resolve)
    reader = threading.Thread(target=feed.read, args=(lines,), name="grading-input", daemon=True)
    reader.start()
    try:
        while (future := feed.queue.get()) is not None:
            yield future.result()
        if feed.error is not None:
            raise feed.error
    except BaseException:  # Ctrl-C, or nobody wants the rest: code under way could take minutes
        pool.shutdown(wait=False, cancel_futures=True)
        sandbox.break_off()
        pool.shutdown(wait=True)
        sandbox.renew()
        raise
    finally:
        feed.stop()
        pool.shutdown(wait=True, cancel_futures=True)


def bounded(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Lines by a file's ``readline``; of one longer than MAX_LINE only enough is kept to be refused."""
    while line := read(MAX_LINE + 1):
        rest = line
        while len(rest) > MAX_LINE and not rest.endswith(b"\n"):
            rest = read(MAX_LINE + 1)
        yield line


class _Feed:
    """Turns lines into gradings under way; holds back where too many wait to be fetched."""

    def __init__(self, pool: ThreadPoolExecutor, jobs: int, resolve: Resolve | None) -> None:
        self.queue: queue.Queue[Future[dict[str, Any]] | None] = queue.Queue(maxsize=jobs + 1)
        self.error: BaseException | None = None
        self._pool = pool
        self._resolve = resolve
        self._stopped = threading.Event()

    def read(self, lines: Iterable[bytes]) -> None:
        """Submit every line; whatever goes wrong is kept in ``error``."""
        try:
            for number, line in enumerate(lines, 1):
                if self._stopped.is_set():
                    return
                if line.strip():
                    self.queue.put(self._pool.submit(grade_line, line, number, self._resolve))
        except BaseException as exc:  # noqa: BLE001 - handed to the thread that fetches the results
            self.error = exc
        finally:
            self.queue.put(None)

    def stop(self) -> None:
        """Nobody fetches any more: let the reading thread end."""
        self._stopped.set()
        while not self.queue.empty():
            self.queue.get_nowait()


def grade_line(line: bytes, number: int, resolve: Resolve | None = None) -> dict[str, Any]:
    """The result of one line; ``resolve`` finds the block of a line that names a task."""
    name = None
    try:
        data = _object(line)
        name = data.get("id")
        task = _task(data, resolve)
        return {"id": name, **as_json(registry.grade(task.validation, _completion(data, task.prompt)))}
    except (Unreadable, ValidationSpecError, SandboxFault) as exc:
        return {"id": name, "error": f"line {number}: {exc}"}
    except Exception as exc:  # noqa: BLE001 - a validator's own fault is no verdict, and the other lines go on
        return {"id": name, "error": f"line {number}: validator_error: {type(exc).__name__}: {show.cut(str(exc))}"}


def as_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict in the output format, without the id."""
    return {
        "passed": verdict.passed,
        "score": verdict.score,
        "confidence": verdict.confidence,
        "failure": verdict.failure,
        "validator": verdict.validator,
        "extractor": verdict.extractor,
        "subscores": dict(verdict.subscores),
        "stages": {name: {"passed": s.passed, "total": s.total} for name, s in verdict.stages.items()},
        "findings": list(verdict.findings),
    }


def _object(line: bytes) -> dict[str, Any]:
    if len(line) > MAX_LINE:
        raise Unreadable(f"longer than {MAX_LINE >> 20} MiB")
    try:
        data = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as exc:
        raise Unreadable(f"is no JSON ({exc})") from exc
    if not isinstance(data, dict):
        raise Unreadable(f"must be a JSON object, not {type(data).__name__}")
    return data


def _task(data: Mapping[str, Any], resolve: Resolve | None) -> TaskBlock:
    block = data.get("validation")
    if isinstance(block, dict):
        return TaskBlock(block)
    task = data.get("task")
    if block is not None or not isinstance(task, str):
        raise Unreadable("needs validation (an object) or task (a name)")
    if resolve is None:
        raise Unreadable("names a task, but no data set is at hand here; give validation")
    try:
        return resolve(task)
    except LookupError as exc:
        raise Unreadable(f"there is no task {task!r}") from exc


def _completion(data: Mapping[str, Any], prompt: str) -> Completion:
    earlier = data.get("earlier") or []
    if not isinstance(earlier, list) or not all(isinstance(one, dict) for one in earlier):
        raise Unreadable("earlier must be a list of objects")
    text, calls = _answer(data)
    reason, asked = data.get("finish_reason"), data.get("prompt")
    return Completion(
        text=text,
        tool_calls=calls,
        finish_reason=reason if isinstance(reason, str) else None,
        prompt=asked if isinstance(asked, str) else prompt,
        earlier=tuple({"text": said, "tool_calls": made} for said, made in map(_answer, earlier)),
    )


def _answer(data: Mapping[str, Any]) -> tuple[str, tuple[dict[str, Any], ...]]:
    text, calls = data.get("completion"), data.get("tool_calls") or []
    if text is None and calls:
        text = ""
    if not isinstance(text, str):
        raise Unreadable("completion must be text")
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise Unreadable("tool_calls must be a list of objects")
    return text, tuple(calls)
