"""Calls between the markers of the model families.

Hermes and Qwen ``<tool_call>``, Llama ``<|python_tag|>`` and ``<function=f>``, Mistral ``[TOOL_CALLS]``, Qwen coder
and Anthropic XML, DeepSeek, Kimi, GLM, Command R, Phi, Granite, LFM2, and the ``to=functions.f`` of gpt-oss. The
markers only say where a call is; what is between them is read as JSON, Python or XML parameters, whichever it is.
"""

from __future__ import annotations

import re
from typing import Any

from llmbench_validators import calls_json, calls_python
from llmbench_validators.calls_found import MAX_FOUND, Broken, Call, Found, Parsed, bare_name
from llmbench_validators.tool_schema import Tools, kinds

_BAR = "[|\uff5c]"
_OPEN = re.compile(
    r"<(?P<tag>tool_calls?|function_calls?|functioncall|tool_code)>"
    rf"|<{_BAR}(?P<token>tool_calls?|tool_call_start|tool_call_begin|tool\u2581call\u2581begin|python_tag"
    rf"|python_start|START_ACTION){_BAR}>"
    r"|\[(?P<word>TOOL_CALLS)\]"
    r"|<function(?:=|\s+name=)[\"']?(?P<function>[^>\s\"'{]+)[\"']?>"
    r"|<(?:antml:)?invoke\s+name=[\"'](?P<invoke>[^\"'>]+)[\"']>"
    r"|(?:^|(?<=\n))(?:>>>|Action:[ \t]*|\u273fFUNCTION\u273f:[ \t]*)(?P<label>[\w.\-]+)\s*?"
    r"(?:\n\s*(?:Action Input|\u273fARGS\u273f):)?\s*(?=\{)"
    r"|\bto=(?P<to>functions\.[\w.\-]+)(?:\s|<\|channel\|>commentary|<\|constrain\|>|json|code)*(?:<\|message\|>)?\s*(?=\{)"
)
_CLOSE = re.compile(rf"</(?:tool_calls?|function_calls?|functioncall|tool_code)>|<{_BAR}/?[\w\u2581]+{_BAR}>|</s>|```")
_LEAD = re.compile(r"(?:\s|```\w*\n|functools(?=\[))*")
_BETWEEN = re.compile(r"[\s,;]*")
_HEADER = re.compile(
    rf"(?:function<{_BAR}tool\u2581sep{_BAR}>)?(?P<name>[A-Za-z_][\w.\-]*)(?::\d+)?"
    rf"(?:\[CALL_ID\][\w\-]+|\[ARGS\]|<{_BAR}(?:tool_call_argument_begin|tool\u2581sep){_BAR}>|\s|```(?:json)?)*(?=\{{)"
)
_KEYED = re.compile(r"(?P<name>[A-Za-z_][\w.\-]*)\s*(?=<arg_key>)")
_PAIR = re.compile(r"\s*<arg_key>([^<]*)</arg_key>\s*<arg_value>")
_PARAMETER = re.compile(r"\s*<(?:antml:)?parameter(?:=|\s+name=)[\"']?([^>\s\"']+)[\"']?[^>]*>")
_PARAMETER_END = re.compile(r"</(?:antml:)?parameter>")
_REGION_END = re.compile(r"\s*</(?:function|(?:antml:)?invoke|tool_call)>")
_CALL_LIKE = re.compile(r"[{\[<]|[A-Za-z_][\w.]*\(")
_FORMS = {
    "to": "harmony",
    "TOOL_CALLS": "mistral",
    "tool_call_begin": "kimi",
    "tool\u2581call\u2581begin": "deepseek",
    "START_ACTION": "command_r",
    "label": "react",
}
_STRAY = re.compile(r"\s*[}\]]")
_MAX_BROKEN = 16

_Step = tuple[Parsed, int]


def find(text: str, tools: Tools) -> Found:
    """Every marked call of a text, in order."""
    found: Parsed = []
    position, form, broken = 0, "", 0
    while broken < _MAX_BROKEN and len(found) < MAX_FOUND and (match := _OPEN.search(text, position)) is not None:
        parsed, position = _region(text, match, tools)
        broken += any(isinstance(one, Broken) for one in parsed)
        if parsed:
            found, form = found + parsed, form or _form(match)
    return Found(found, form) if found else Found()


def _form(match: re.Match[str]) -> str:
    group = match.lastgroup or "tag"
    name = match[group] if group in {"tag", "token", "word"} else group
    return _FORMS.get(name, name)


def _region(text: str, match: re.Match[str], tools: Tools) -> _Step:
    name = match["function"] or match["invoke"] or match["label"] or match["to"]
    if name is None:
        return _unnamed(text, _skip(_LEAD, text, match.end()), tools)
    name, start = bare_name(name, tools), _skip(_LEAD, text, match.end())
    if text.startswith("{", start):
        return _with_object(text, name, start)
    return _with_pairs(text, name, match.end(), (_PARAMETER, _PARAMETER_END), tools)


def _unnamed(text: str, start: int, tools: Tools) -> _Step:
    parsed, end = _values(text, start, tools)
    if end > start:
        return parsed, end
    if header := _HEADER.match(text, start):
        return _with_object(text, bare_name(header["name"], tools), header.end())
    if keyed := _KEYED.match(text, start):
        name = bare_name(keyed["name"], tools)
        return _with_pairs(text, name, keyed.end(), (_PAIR, re.compile("</arg_value>")), tools)
    if _OPEN.match(text, start):
        return [], start
    return _python(text, start, tools)


def _values(text: str, start: int, tools: Tools) -> _Step:
    """The JSON values from ``start`` on, as far as they are calls."""
    found: Parsed = []
    position = start
    while text[position : position + 1] in ("{", "["):
        read = calls_json.value_at(text, position)
        if read is None:
            return ([*found, _broken(text, position)], position + 1) if found else ([], start)
        position = _skip(_BETWEEN, text, read[1])
        if _STRAY.match(text, position):
            return [*found, _broken(text, start, "a bracket is left over")], position
        if read[0]:  # an empty list says that nothing is called
            parsed = calls_json.calls(read[0], tools, marked=True)
            found += parsed or [_broken(text, start, "states no function and arguments")]
    return found, position


def _python(text: str, start: int, tools: Tools) -> _Step:
    following = _OPEN.search(text, start)
    end = following.start() if following is not None else len(text)
    if (close := _CLOSE.search(text, start, end)) is not None:
        end = close.start()
    parsed = calls_python.calls(text[start:end], tools)
    if parsed is not None:
        return parsed, end
    return ([_broken(text, start)] if _CALL_LIKE.match(text, start, end) else []), max(end, start)


def _with_object(text: str, name: str, start: int) -> _Step:
    read = calls_json.value_at(text, start)
    given = calls_json.arguments(read[0]) if read is not None else None
    if read is None or given is None or _STRAY.match(text, read[1]):
        return [_broken(text, start)], start + 1
    return [Call(name, given)], read[1]


def _with_pairs(
    text: str, name: str, start: int, forms: tuple[re.Pattern[str], re.Pattern[str]], tools: Tools
) -> _Step:
    """Arguments as named pieces of text, which must be closed and end with the region's own end."""
    opening, ending = forms
    given: dict[str, Any] = {}
    position = start
    while (match := opening.match(text, position)) is not None:
        end = ending.search(text, match.end())
        if end is None:
            return [_broken(text, start, "a parameter is not closed")], match.end()
        given[match[1].strip()] = _typed(text[match.end() : end.start()], name, match[1].strip(), tools)
        position = end.end()
    if _REGION_END.match(text, position) is None:
        return [_broken(text, start, "the call is not closed")], max(position, start)
    return [Call(name, given)], position


def _typed(text: str, function: str, parameter: str, tools: Tools) -> Any:
    """A piece of text as the schema's type; XML has no types of its own."""
    tool = tools.get(function)
    wanted = kinds(tool.schema(parameter)) if tool is not None else frozenset()
    text = text.removeprefix("\n").removesuffix("\n")
    stripped = text.strip()
    if "string" in wanted or tool is None:
        return None if stripped == "null" else text
    try:
        return calls_json.decoded(stripped)
    except ValueError:
        words = {"True": True, "False": False, "None": None}
        read = calls_python.literal_at(stripped, 0) if stripped.startswith(("{", "[")) else None
        return read[0] if read is not None and read[1] == len(stripped) else words.get(stripped, text)


def _broken(text: str, start: int, reason: str = "does not parse") -> Broken:
    return Broken(text[start : start + 400], reason)


def _skip(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match is not None else start
