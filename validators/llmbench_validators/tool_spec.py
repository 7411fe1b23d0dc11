"""The VALIDATION block of a ``tool_use`` task, checked and made uniform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llmbench_validators.tool_schema import Tool, Tools, kinds
from llmbench_validators.tool_values import Choice, Literal, read_argument
from llmbench_validators.types import ValidationSpecError

KEYS = ("type", "tools", "available_functions", "expected_calls", "turns", "order", "match", "calls")
MAX_WANTED = 100
"""Calls a block may ask for."""

MAX_TURNS = 16
"""Turns a block may have."""

_CALL_KEYS, _TURN_KEYS = ("function", "arguments", "result"), ("expected_calls",)
_ORDERS, _MATCHES, _CALLS = ("any", "strict"), ("strict", "bfcl"), ("any", "native")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that must be made: the function, what each of its arguments may be, and what it is answered with.

    ``result`` is text, or plain data that is sent as JSON; it is None where nothing follows.
    """

    function: str
    arguments: Mapping[str, Choice]
    result: Any = None


@dataclass(frozen=True, slots=True)
class Spec:
    """One turn of a checked block. No wanted call means that none may be made."""

    tools: Tools
    wanted: tuple[Wanted, ...]
    ordered: bool
    loose: bool
    native_only: bool


def read_spec(block: Mapping[str, Any]) -> Spec:
    """The first turn of ``read_specs``, which is the only one of most blocks."""
    return read_specs(block)[0]


def read_specs(block: Mapping[str, Any]) -> tuple[Spec, ...]:
    """Check a VALIDATION block, and give its turns; raises ValidationSpecError naming the key and what is allowed."""
    _known(block, KEYS, "tool_use")
    tools = _tools(block)
    try:
        turns = _turns(block, tools) if "turns" in block else (_calls(block, "", tools),)
    except RecursionError as exc:
        raise ValidationSpecError("expected_calls: nested too deep") from exc
    ordered = _word(block, "order", _ORDERS) == "strict"
    loose = _word(block, "match", _MATCHES) == "bfcl"
    native_only = _word(block, "calls", _CALLS) == "native"
    return tuple(Spec(tools, wanted, ordered, loose, native_only) for wanted in turns)


def _turns(block: Mapping[str, Any], tools: Tools) -> tuple[tuple[Wanted, ...], ...]:
    """The calls of each turn: all but the last have calls with results, the last one's have none."""
    turns = block["turns"]
    if "expected_calls" in block:
        raise ValidationSpecError("turns: stand in place of expected_calls, not beside them")
    if not isinstance(turns, list | tuple) or not 2 <= len(turns) <= MAX_TURNS:
        raise ValidationSpecError(f"turns: must be a list of 2 to {MAX_TURNS} turns")
    found = []
    for number, turn in enumerate(turns):
        where = f"turns[{number}]"
        if not isinstance(turn, Mapping):
            raise ValidationSpecError(f"{where}: must be a mapping with expected_calls")
        _known(turn, _TURN_KEYS, where)
        found.append(_calls(turn, f"{where}.", tools))
        _check_results(found[-1], where, last=number == len(turns) - 1)
    return tuple(found)


def _check_results(calls: tuple[Wanted, ...], where: str, *, last: bool) -> None:
    if not calls and not last:
        raise ValidationSpecError(f"{where}.expected_calls: only the last turn may be without calls")
    for number, call in enumerate(calls):
        if (call.result is None) != last:
            wants = "no result, for nothing follows" if last else "a result, for the next turn begins with it"
            raise ValidationSpecError(f"{where}.expected_calls[{number}]: needs {wants}")


def _calls(block: Mapping[str, Any], where: str, tools: Tools) -> tuple[Wanted, ...]:
    calls = block.get("expected_calls")
    if not isinstance(calls, list | tuple) or len(calls) > MAX_WANTED:
        raise ValidationSpecError(
            f"{where}expected_calls: must be a list of calls, {MAX_WANTED} at most; empty: none may be made"
        )
    wanted = tuple(_wanted(call, f"{where}expected_calls[{n}]", tools) for n, call in enumerate(calls))
    if not where and any(call.result is not None for call in wanted):
        raise ValidationSpecError("expected_calls: a result needs turns, for nothing follows here")
    return wanted


def _known(block: Mapping[str, Any], keys: tuple[str, ...], where: str) -> None:
    unknown = [str(key) for key in block if key not in keys]
    if unknown:
        raise ValidationSpecError(f"{where}: unknown key {unknown[0]!r}; allowed: {', '.join(keys)}")


def _word(block: Mapping[str, Any], key: str, allowed: tuple[str, ...]) -> str:
    value = block.get(key, allowed[0])
    if value not in allowed:
        raise ValidationSpecError(f"{key}: {value!r} is unknown; allowed: {', '.join(allowed)}")
    return str(value)


def _tools(block: Mapping[str, Any]) -> dict[str, Tool]:
    given = [key for key in ("tools", "available_functions") if block.get(key) is not None]
    if len(given) != 1:
        raise ValidationSpecError("tools: give the functions that can be called as tools or as available_functions")
    entries = block[given[0]]
    if not isinstance(entries, list | tuple):
        raise ValidationSpecError(f"{given[0]}: must be a list of functions")
    tools: dict[str, Tool] = {}
    for number, entry in enumerate(entries):
        tool = _tool(entry, f"{given[0]}[{number}]")
        if tool.name in tools:
            raise ValidationSpecError(f"{given[0]}[{number}]: a second function called {tool.name!r}")
        tools[tool.name] = tool
    return tools


def _tool(entry: Any, where: str) -> Tool:
    """A tool of OpenAI's form, a bare function schema, or just a name."""
    if isinstance(entry, str) and entry:
        return Tool(entry)
    function = entry.get("function", entry) if isinstance(entry, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str) or not function["name"]:
        raise ValidationSpecError(f"{where}: must be a function schema with a name")
    parameters = function.get("parameters")
    if parameters is None:
        return Tool(function["name"], {})
    if not isinstance(parameters, Mapping):
        raise ValidationSpecError(f"{where}: parameters must be a JSON schema")
    properties, required = parameters.get("properties"), parameters.get("required") or []
    if not isinstance(properties, Mapping | None) or not isinstance(required, list | tuple):
        raise ValidationSpecError(f"{where}: properties must be a mapping and required a list of names")
    return Tool(function["name"], properties, frozenset(map(str, required)))


def _wanted(call: Any, where: str, tools: Tools) -> Wanted:
    if not isinstance(call, Mapping):
        raise ValidationSpecError(f"{where}: must be a mapping with function and arguments")
    _known(call, _CALL_KEYS, where)
    name, arguments = call.get("function"), call.get("arguments") or {}
    if not isinstance(name, str) or name not in tools:
        raise ValidationSpecError(f"{where}.function: {name!r} is none of {', '.join(sorted(tools)) or 'no tools'}")
    if not isinstance(arguments, Mapping):
        raise ValidationSpecError(f"{where}.arguments: must be a mapping of names to values")
    at = f"{where}.arguments"
    allowed = {str(key): _argument(key, value, f"{at}.{key}", tools[name]) for key, value in arguments.items()}
    return Wanted(name, allowed, call.get("result"))


def _argument(name: Any, value: Any, where: str, tool: Tool) -> Choice:
    if tool.properties is not None and not tool.declares(str(name)):
        declared = ", ".join(tool.properties) or "none"
        raise ValidationSpecError(f"{where}: {tool.name} has no such parameter; it has {declared}")
    choice = read_argument(value, where)
    for option in choice.options:
        if isinstance(option, Literal) and _misshapen(option.value, kinds(tool.schema(str(name)))):
            raise ValidationSpecError(f"{where}: the schema wants {'/'.join(kinds(tool.schema(str(name))))} here")
    return choice


def _misshapen(value: Any, allowed: frozenset[str]) -> bool:
    """Whether an object stands where only a list can, or the other way round: often a form in the wrong place."""
    if isinstance(value, Mapping):
        return allowed == {"array"}
    return isinstance(value, list | tuple) and allowed == {"object"}
