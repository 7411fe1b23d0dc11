"""Tasks that come with a request: checked, and made a suite of their own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.run import CUSTOM_SUITE
from llmbench_mcp.domain.task import Suite, SuiteItem, Task
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.services.suites import SuiteView

KEYS = ("id", "prompt", "system", "expected", "criteria", "validation", "max_tokens")
MOST_TASKS = 500
MOST_TEXT = 200_000
MOST_CRITERIA = 200
LONGEST_CRITERION = 500
DEEPEST = 100
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_WORD = re.compile(r"[a-z0-9]+")
_LOOKED_AT, _WORDS, _DIGITS = 200, 24, 8


def custom_tasks(given: Sequence[Any], by_agent: bool = False) -> tuple[Task, ...]:
    """Tasks from plain data.

    Each is ``{prompt, expected}`` (a value: graded as reasoning), ``{prompt, criteria}`` (a list of phrases that
    must be mentioned: graded by keywords) or ``{prompt, validation}`` (a whole VALIDATION block). One without ``id`` is
    named by what it is, so that equal tasks of two requests are one task. ``by_agent``: no code in a block runs outside
    the sandbox.

    Raises:
        InputError: names the task by its number and what is wrong with it.
    """
    if len(given) > MOST_TASKS:
        raise InputError(f"There are {len(given)} custom tasks.", f"Give up to {MOST_TASKS}, or write a suite.")
    tasks = tuple(_task(number, item, by_agent) for number, item in enumerate(given, 1))
    ids = [task.id for task in tasks]
    if twice := next((name for name in ids if ids.count(name) > 1), None):
        _refuse_twice(twice, [item for item, name in zip(given, ids, strict=True) if name == twice])
    return tasks


def _refuse_twice(name: str, items: Sequence[Mapping[str, Any]]) -> None:
    if any("id" in item for item in items):
        raise InputError(f"Two custom tasks have the id '{name.removeprefix('custom/')}'.", "Give each its own id.")
    same = f"Two custom tasks are the same: '{one_line(items[0]['prompt'], 60)}'."
    raise InputError(same, "Leave one out (repeats ask a task several times), or give each its own id.")


def _task(number: int, item: Any, by_agent: bool) -> Task:
    where = f"Custom task {number}"
    if not isinstance(item, Mapping):
        raise InputError(f"{where} is no object.", f"Give it as {{{', '.join(KEYS)}}}; prompt is required.")
    unknown = next((str(key) for key in item if key not in KEYS), None)
    if unknown is not None:
        raise InputError(f"{where} has the unknown key '{one_line(unknown, 40)}'.", f"Known: {', '.join(KEYS)}.")
    for key, value in item.items():
        _refuse_unstorable(where, key, value)
    prompt = _text(where, item, "prompt")
    if not prompt:
        raise InputError(f"{where} has no prompt.", "Give prompt: what the model is asked.")
    task = Task(
        id=f"{CUSTOM_SUITE}/",
        prompt=prompt,
        validation=_confined(_validation(where, item)) if by_agent else _validation(where, item),
        system=_text(where, item, "system"),
        title=one_line(prompt, 60),
        max_tokens=_budget(where, item),
    )
    return replace(task, id=task.id + (_id(where, item) if "id" in item else _made_id(task)))


def _made_id(task: Task) -> str:
    """The prompt's first words, for people, and a hash of all that makes the task, to tell it from others."""
    digest = hashlib.sha256(f"{task.content_hash()} {task.max_tokens}".encode()).hexdigest()[:_DIGITS]
    words = "_".join(_WORD.findall(task.prompt[:_LOOKED_AT].lower()))[:_WORDS].strip("_")
    return f"{words}-{digest}" if words else digest


def _refuse_unstorable(where: str, key: str, value: Any, depth: int = 0) -> None:
    """Refuse text that is no Unicode (half a surrogate pair) and values nested too deep, wherever they are."""
    if depth > DEEPEST:
        raise InputError(f"{where}: {key} is nested more than {DEEPEST} deep.", "Flatten it.")
    if isinstance(value, str):
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise InputError(f"{where}: {key} holds half a surrogate pair.", "Give whole Unicode characters.")
    elif isinstance(value, Mapping):
        for one in (*value.keys(), *value.values()):
            _refuse_unstorable(where, key, one, depth + 1)
    elif isinstance(value, list | tuple):
        for one in value:
            _refuse_unstorable(where, key, one, depth + 1)


def _text(where: str, item: Mapping[str, Any], key: str) -> str | None:
    value = item.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        raise InputError(f"{where}: {key} must be text of up to {MOST_TEXT} characters.", "Shorten or quote it.")
    return value if value.strip() else None


def _id(where: str, item: Mapping[str, Any]) -> str:
    name = item["id"]
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise InputError(f"{where} has the id '{one_line(str(name), 40)}'.", "Use a-z, 0-9, _ and -, up to 64.")
    return name


def _budget(where: str, item: Mapping[str, Any]) -> int | None:
    value = item.get("max_tokens")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1_000_000:
        raise InputError(f"{where}: max_tokens is {one_line(str(value), 40)}.", "Use 1 to 1000000.")
    return value


def _validation(where: str, item: Mapping[str, Any]) -> Mapping[str, Any]:
    given = [key for key in ("expected", "criteria", "validation") if item.get(key) is not None]
    if len(given) != 1:
        said = " and ".join(given) if given else "none of expected, criteria, validation"
        raise InputError(f"{where} has {said}.", "Give exactly one of expected, criteria and validation.")
    value = item[given[0]]
    if given[0] == "validation":
        return _block(where, value)
    if given[0] == "criteria":
        return {"type": "keyword", "expected": "\n".join(_criteria(where, value))}
    return {"type": "reasoning", "expected_answer": value}


def _block(where: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
        raise InputError(f"{where}: validation must be an object with a type.", "See docs/grading.md for the types.")
    return dict(value)


def _confined(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """The block with its test code kept to the answer's own sandbox: else it would run with all rights of the person,
    who has not seen it."""
    return {**block, "trust": "weak"} if block["type"] == "coding" and "test_code" in block else block


def _criteria(where: str, value: Any) -> list[str]:
    phrases = [value] if isinstance(value, str) else value
    if not isinstance(phrases, Sequence) or not phrases or not all(isinstance(one, str) and one for one in phrases):
        raise InputError(f"{where}: criteria must be a list of phrases.", "Each phrase must be mentioned to pass.")
    if len(phrases) > MOST_CRITERIA or max(map(len, phrases)) > LONGEST_CRITERION:
        most = f"Give up to {MOST_CRITERIA} of up to {LONGEST_CRITERION} characters each."
        raise InputError(f"{where} has too many or too long criteria.", most)
    return [one_line(phrase, 1000) for phrase in phrases]


def custom_view(tasks: tuple[Task, ...]) -> SuiteView:
    """The suite ``custom`` of one request."""
    items = tuple(SuiteItem(task.id) for task in tasks)
    return SuiteView(Suite(CUSTOM_SUITE, "Custom tasks", "Tasks of one request.", 1, items), tasks)
