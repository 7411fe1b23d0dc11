"""Task files: one Markdown file becomes one :class:`~llmbench_mcp.domain.task.Task`.

The format is described for authors in ``llmbench_datasets/README.md``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, cast, get_args

from llmbench_mcp.catalog import sections
from llmbench_mcp.catalog.block import Block, parse_block
from llmbench_mcp.catalog.sections import Layout
from llmbench_mcp.catalog.source import Source, quoted
from llmbench_mcp.catalog.variables import parse_variables
from llmbench_mcp.domain.errors import TaskFormatError
from llmbench_mcp.domain.task import Difficulty, Load, Task
from llmbench_mcp.domain.variants import DEFAULT_SEED, Template

FRONT_KEYS = ("title", "difficulty", "tags", "needs", "max_tokens", "licence", "load")
LOAD_KEYS = ("concurrency", "requests", "warm_up")
MOST_AT_ONCE = 256
MOST_REQUESTS = 1000
CAPABILITIES = ("chat", "tools", "vision", "embedding", "rerank", "reasoning", "translation", "parser")
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

_WORD = re.compile(r"[a-z0-9][a-z0-9_.+-]{0,39}")


@dataclass(frozen=True, slots=True)
class _Front:
    title: str = ""
    difficulty: Difficulty = "medium"
    tags: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    max_tokens: int | None = None
    licence: str | None = None
    load: Load | None = None


def parse_task(task_id: str, source: Source, hidden: Sequence[Any] | None = None) -> Task:
    """Read one task file.

    ``hidden`` are the task's hidden tests; they are merged into the validation under ``hidden_tests``.
    Raises TaskFormatError, ``path:line: what is wrong``, for anything outside the format. What the keys of a
    VALIDATION block mean is the validator's business: here it must be a mapping with a ``type``.
    """
    layout = sections.split(source)
    front = _front(source, layout)
    task = Task(
        id=task_id,
        prompt=_prompt(source, layout),
        validation=_validation(source, layout, hidden),
        system=_optional(source, layout, "SYSTEM"),
        expected=_optional(source, layout, "EXPECTED"),
        title=front.title or task_id.rsplit("/", 1)[-1].replace("_", " ").replace("-", " ").capitalize(),
        difficulty=front.difficulty,
        tags=front.tags,
        needs=front.needs,
        max_tokens=front.max_tokens,
        licence=front.licence,
        load=front.load,
    )
    return _drawn(source, layout, task) if "VARIABLES" in layout.sections else task


def _drawn(source: Source, layout: Layout, task: Task) -> Task:
    """The default variant of a generated task, which can be drawn anew."""
    section = layout.sections["VARIABLES"]
    text, fence_line = sections.fenced(source, section)
    block = parse_block(source, text, offset=fence_line)
    if block is None:
        raise source.error(fence_line, "the VARIABLES block is empty.", "Leave the section out.")
    template = Template(task, *parse_variables(block))
    try:
        return replace(template.draw(DEFAULT_SEED), template=template)
    except TaskFormatError as error:
        raise source.error(section.line, error.what, error.next_step) from error


def parse_hidden(source: Source) -> list[Any]:
    """Read a hidden-test file: a JSON list of tests, at least one. Its contents stay out of every message."""
    try:
        tests = json.loads(source.text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise source.error(error.lineno, f"is not valid JSON: {error.msg}.") from error
    except (ValueError, RecursionError) as error:
        raise source.error(1, "holds a value that is not plain JSON.", "NaN and Infinity are not.") from error
    if not isinstance(tests, list) or not tests or not all(isinstance(test, dict) for test in tests):
        raise source.error(1, "must be a JSON list of tests, each an object, with at least one in it.")
    return tests


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _prompt(source: Source, layout: Layout) -> str:
    section = layout.sections.get("PROMPT")
    if section is None:
        raise source.error(1, "has no section PROMPT.", "Begin one with a line that holds only PROMPT: .")
    if not section.text.strip():
        raise source.error(section.line, "PROMPT is empty.", "Write what the model is asked.")
    return section.text


def _optional(source: Source, layout: Layout, name: str) -> str | None:
    section = layout.sections.get(name)
    if section is None:
        return None
    if not section.text.strip():
        raise source.error(section.line, f"{name} is empty.", "Fill the section or leave it out.")
    return section.text


def _front(source: Source, layout: Layout) -> _Front:
    block = parse_block(source, layout.front, offset=1) if layout.front is not None else None
    if block is None:
        return _Front()
    fields = block.fields(FRONT_KEYS, "the front matter")
    title, licence, limit = fields.get("title"), fields.get("licence"), fields.get("max_tokens")
    return _Front(
        title=title.text("title") if title else "",
        difficulty=_difficulty(fields.get("difficulty")),
        tags=_words(fields.get("tags"), "tags"),
        needs=_needs(fields.get("needs")),
        max_tokens=limit.whole("max_tokens") if limit else None,
        licence=licence.text("licence") if licence else None,
        load=_load(fields.get("load")),
    )


def _load(block: Block | None) -> Load | None:
    if block is None:
        return None
    given = {key: value.whole(key) for key, value in block.fields(LOAD_KEYS, "load").items()}
    load = Load(**given)
    if load.concurrency > MOST_AT_ONCE or load.requests > MOST_REQUESTS or load.warm_up > MOST_REQUESTS:
        most = f"Use up to {MOST_AT_ONCE} at once and {MOST_REQUESTS} requests."
        raise block.error("load asks for too much.", most)
    return load


def _difficulty(block: Block | None) -> Difficulty:
    if block is None:
        return "medium"
    return cast(Difficulty, block.choice(get_args(Difficulty), "difficulty"))


def _needs(block: Block | None) -> tuple[str, ...]:
    for item in block.items("needs") if block else ():
        item.choice(CAPABILITIES, "a capability in needs")
    return _words(block, "needs")


def _words(block: Block | None, what: str) -> tuple[str, ...]:
    words: list[str] = []
    for item in block.items(what) if block else ():
        word = item.text(f"an entry of {what}")
        if not _WORD.fullmatch(word) or word in words:
            raise item.error(f"{quoted(word)} cannot stand in {what}.", "Each is one lower-case word, and comes once.")
        words.append(word)
    return tuple(words)


def _validation(source: Source, layout: Layout, hidden: Sequence[Any] | None) -> Mapping[str, Any]:
    section = layout.sections.get("VALIDATION")
    if section is None:
        return _keyword_fallback(source, layout, hidden)
    text, fence_line = sections.fenced(source, section)
    block = parse_block(source, text, offset=fence_line)
    if block is None:
        raise source.error(fence_line, "the VALIDATION block is empty.", "It needs at least a type.")
    fields = block.fields(None, "VALIDATION")
    if "type" not in fields:
        raise block.error("VALIDATION has no type.", "Name the validator, such as type: reasoning.")
    fields["type"].text("type")
    if "hidden_tests" in fields:
        raise fields["hidden_tests"].error(
            "hidden tests do not belong in the task file.", "Put them in hidden/<category>/<name>.json."
        )
    validation = {key: value.plain() for key, value in fields.items()}
    return validation | ({"hidden_tests": list(hidden)} if hidden else {})


def _keyword_fallback(source: Source, layout: Layout, hidden: Sequence[Any] | None) -> Mapping[str, Any]:
    expected = layout.sections.get("EXPECTED")
    if expected is None or not expected.text.strip():
        raise source.error(1, "has neither VALIDATION nor EXPECTED.", "One of them must say what is right.")
    if hidden:
        raise source.error(1, "has hidden tests but no VALIDATION block.", "Add one with a type.")
    return {"type": "keyword", "expected": expected.text}
