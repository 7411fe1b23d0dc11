"""The prompts: recipes written for a model, as files of ``llmbench_prompts``, with the person's words put in safely."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Literal

import anyio
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from llmbench_mcp.domain.text import nearest, one_line, visible

LONGEST_VALUE = 200
NameKind = Literal["model", "endpoint", "suite", "run", "place"]
"""What a name is of; a place is an endpoint or a device."""

_CONDITION = re.compile(r"\[(with|without) (\w+)\] ")
_VALUE = re.compile(r"\{\{(\w+)\}\}")
_RUN_ID = re.compile(r"run_[0-9a-z]{1,40}")


@dataclass(frozen=True, slots=True)
class Argument:
    """What a prompt asks the person for; ``kind`` tells which names are offered."""

    name: str
    description: str
    required: bool = True
    kind: NameKind | None = None

    def checked(self, value: str) -> str:
        """The value without what could break out of its quotes. Raises MCPError."""
        text = " ".join(value.split())
        if not text or len(value) > LONGEST_VALUE:
            problem = "blank" if not text else f"{len(value)} characters long"
            raise _invalid(f"{self.name} is {problem}. Give {self.description}, at most {LONGEST_VALUE} characters.")
        if visible(text) != text:
            raise _invalid(f"{self.name} has control or invisible characters: {one_line(text, 60)}. Give plain text.")
        if self.kind == "run" and not _RUN_ID.fullmatch(text):
            raise _invalid(f"'{one_line(text, 60)}' is no run's id. They look like run_7h2k9qw4xn.")
        return text


@dataclass(frozen=True, slots=True)
class PromptSpec:
    """A prompt; its text lies in ``<name>.md``. ``tools``: those without which it is of no use."""

    name: str
    title: str
    description: str
    arguments: tuple[Argument, ...] = ()
    tools: tuple[str, ...] = ()

    def listed(self) -> Prompt:
        """As ``prompts/list`` tells it."""
        asked = [PromptArgument(name=a.name, description=a.description, required=a.required) for a in self.arguments]
        return Prompt(name=self.name, title=self.title, description=self.description, arguments=asked)

    async def get(self, given: Mapping[str, str]) -> GetPromptResult:
        """The text with the arguments put in. Raises MCPError: an argument is missing, unknown or unusable."""
        values = self._checked(given)
        text = _filled(await anyio.to_thread.run_sync(load_text, self.name), values)
        message = PromptMessage(role="user", content=TextContent(type="text", text=text))
        return GetPromptResult(description=self.description, messages=[message])

    def _checked(self, given: Mapping[str, str]) -> dict[str, str]:
        known = {argument.name: argument for argument in self.arguments}
        takes = f"It takes: {', '.join(known) or 'no arguments'}."
        for name in given:
            if name not in known:
                raise _invalid(f"{self.name} has no argument '{one_line(name, 60)}'. {takes}")
        for argument in self.arguments:
            if argument.required and argument.name not in given:
                raise _invalid(f"{self.name} needs {argument.name}: {argument.description}. {takes}")
        # Hosts send what a person left open as an empty text.
        stated = {name: value for name, value in given.items() if value.strip() or known[name].required}
        return {name: known[name].checked(value) for name, value in stated.items()}


def unknown_prompt(name: str, known: Sequence[str]) -> MCPError:
    """For a name that no prompt has."""
    close = ", ".join(nearest(name[:60], known))
    return _invalid(f"There is no prompt '{one_line(name, 60)}'. Nearest: {close}.")


def load_text(name: str) -> str:
    """The text of a prompt as it lies in its file."""
    return (resources.files("llmbench_prompts") / f"{name}.md").read_text(encoding="utf-8")


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Put the values in; lines marked ``[with NAME]`` or ``[without NAME]`` stay where NAME is given, or is not."""
    lines = []
    for line in text.splitlines():
        condition = _CONDITION.match(line)
        if condition is None or (condition[1] == "with") == (condition[2] in values):
            lines.append(_CONDITION.sub("", line, count=1))
    return _VALUE.sub(lambda place: json.dumps(values[place[1]], ensure_ascii=False), "\n".join(lines))


def _invalid(text: str) -> MCPError:
    return MCPError(INVALID_PARAMS, text)


_MEASURING = ("suite_list", "run_start", "run_status", "leaderboard_query")

EVERY_PROMPT = (
    PromptSpec(
        "find_best_model",
        "Find the best model",
        "Find out which model is best for a role, with honest ties; benchmarks what is missing after asking.",
        (
            Argument("role", "what the model is to do, such as coding or tool use"),
            Argument("device", "the device or endpoint it has to run on", required=False, kind="place"),
        ),
        ("suite_list", "leaderboard_query"),
    ),
    PromptSpec(
        "benchmark_new_models",
        "Benchmark new models",
        "Discover models, give the new ones a place, benchmark them and say where they stand.",
        tools=("models_discover", "model_assign", *_MEASURING),
    ),
    PromptSpec(
        "compare_models",
        "Compare two models",
        "Compare two models on the tasks both answered: which is better, how sure, where they differ.",
        (
            Argument("a", "the first model's name", kind="model"),
            Argument("b", "the second model's name", kind="model"),
        ),
        ("suite_list", "model_compare"),
    ),
    PromptSpec(
        "investigate_failures",
        "Investigate failures",
        "Find out why a run has failures: the model, the server, the settings or the task.",
        (Argument("run_id", "the run's id", kind="run"),),
        ("run_status", "run_results"),
    ),
    PromptSpec(
        "nightly_retest",
        "Nightly retest",
        "See what changed since the last benchmarks, run again only what needs it, and report in ten lines.",
        tools=("models_discover", "model_compare", *_MEASURING),
    ),
    PromptSpec(
        "write_task",
        "Write tasks",
        "Write benchmark tasks of one's own about a topic, check them and try them on a model.",
        (Argument("topic", "what the tasks are about"),),
        ("suite_list", "run_start", "run_status", "run_results"),
    ),
)
