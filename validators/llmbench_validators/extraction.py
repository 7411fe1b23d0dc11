"""Which part of an answer is the Python code to grade."""

from __future__ import annotations

import ast
import builtins
import html
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from llmbench_validators import fences, repair, thoughts
from llmbench_validators.types import MAX_TEXT

_PYTHON = frozenset({"python", "py", "python3", "py3", "python2", "pycon", "ipython", "sage", "cython"})
_SHELLS = frozenset({"bash", "sh", "shell", "zsh", "fish", "console", "powershell", "ps1", "cmd", "bat"})
_DATA = frozenset({"json", "yaml", "yml", "toml", "ini", "xml", "html", "csv", "log", "diff"})
_PROSE = frozenset({"output", "stdout", "text", "txt", "plaintext", "markdown", "md", "math", "latex"})
_JSON = frozenset({"json", "jsonc", ""})
_NOT_CODE = _SHELLS | _DATA | _PROSE
_WRAPPERS = frozenset({"markdown", "md", "text", "txt", ""})
_CODE_KEYS = ("code", "solution", "answer", "python", "completion", "implementation", "program", "content")
_STARTS = re.compile(r"(?:async def|def|class|import|from|@)\b|@")
_REFUSAL = re.compile(
    r"\W*(?:i'?m (?:very |really )?sorry|sorry|i apologi[sz]e|unfortunately|as an ai|i (?:cannot|can'?t|"
    r"won'?t|will not|am (?:not able|unable)|must decline|do not feel)|i'm (?:not able|unable))",
    re.IGNORECASE,
)
_PRE = re.compile(r"<pre[^>\n]{0,200}>\s{0,100}(?:<code[^>\n]{0,200}>)?", re.IGNORECASE)
_PRE_END = re.compile(r"(?:</code>\s{0,100})?</pre>", re.IGNORECASE)
_HEREDOC = re.compile(r"<<-?\s{0,9}(['\"]?)(\w{1,40})\1[^\n]{0,200}\n")
_MAX_TRIES = 60
_EFFORT = 2_000_000
"""Characters that a search may hand to the parser beyond the first try of each block: code that needs more is none."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """The code found (or, with a ``failure`` word, the text that holds none) and the rule that found it.

    ``tree`` is the code's syntax tree where it was at hand.
    """

    code: str
    extractor: str | None
    failure: str | None = None
    tree: ast.Module | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class _Broken:
    """A block meant to be code that does not parse; ``closed`` by a fence of its own."""

    code: str
    closed: bool


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of the answer that parses as Python."""

    code: str
    tree: ast.Module
    rule: str


def extract(text: str, function: str, finish_reason: str | None = None) -> Extraction:
    """The Python code in ``text`` that answers a task asking for ``function``.

    Failure words: empty, refusal, no_code, syntax_error, budget_exhausted (cut off before complete code).
    """
    text = text[:MAX_TEXT].removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    remaining, left_open = thoughts.answer(text)
    remaining = _without_final_tokens(remaining)
    found = None if left_open and not remaining.strip() else _search(remaining, function)
    if found is None:
        found = Extraction(remaining, None, _absence(text, remaining))
    if finish_reason == "length" and found.failure in {"no_code", "syntax_error", "empty"}:
        return Extraction(found.code, found.extractor, "budget_exhausted")
    return found


def _without_final_tokens(text: str) -> str:
    """``text`` without the chat template's tokens at its end, which would keep a fence from closing."""
    end = len(text.rstrip())
    while end:
        tokens = [m for m in repair.SPECIAL_TOKEN.finditer(text, max(0, end - 60), end) if m.end() == end]
        if not tokens:
            break
        end = len(text[: tokens[-1].start()].rstrip())
    return text[:end] + "\n" if end else ""


def _absence(text: str, remaining: str) -> str:
    if not text.strip():
        return "empty"
    return "refusal" if _REFUSAL.match(remaining.strip().replace("\u2019", "'")) else "no_code"


def _search(text: str, function: str) -> Extraction | None:
    """The first rule that finds the function wins; else the best that was found without it."""
    blocks = fences.blocks(text)
    pieces = _whole(text, function, blocks)
    broken: list[_Broken] = []
    if not pieces:
        pieces, broken = _fenced(blocks, _Effort())
    attempts = [block for block in broken if _names(block.code, function)]
    if not any(defines(piece.tree, function) for piece in pieces):
        if any(block.closed for block in attempts):
            return Extraction(attempts[-1].code, "fence", "syntax_error")
        pieces = next((found for rule in _UNFENCED if (found := _definers(rule(text, function), function))), pieces)
        if attempts and not any(defines(piece.tree, function) for piece in pieces):
            return Extraction(attempts[-1].code, "fence", "syntax_error")
    if any(_substance(piece.tree) for piece in pieces):
        return _joined(pieces, function)
    if broken:
        return Extraction(broken[-1].code, "fence", "syntax_error")
    return Extraction(text, "raw", "syntax_error") if _names(text, function) else None


# --- the ways an answer can hold code


def _whole(text: str, function: str, blocks: Sequence[fences.Block]) -> list[_Piece]:
    """The whole text as JSON with a code field, or as Python that defines the function."""
    inside = [block.text for block in blocks if block.language in _JSON]
    for part in (text, *inside):
        from_json = _from_json(part, function)
        if from_json is not None:
            return [from_json]
    tree = repair.parsed(text) if not text.lstrip().startswith("`") else None  # no Python begins with that
    piece = _Piece(text, tree, "whole") if tree is not None else None
    if piece is None and not blocks:
        piece = _piece(text, "whole")
    return [piece] if piece is not None and defines(piece.tree, function) else []


def _from_json(text: str, function: str) -> _Piece | None:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        data = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    strings = list(_strings(data)) if isinstance(data, dict) else []
    for code in strings:
        inner = fences.blocks(code)
        piece = _piece(inner[0].text if inner else code, "json")
        if piece is not None and defines(piece.tree, function):
            return piece
    return None


def _strings(data: dict[str, object]) -> Iterator[str]:
    ordered = sorted(data, key=lambda key: _CODE_KEYS.index(key) if key in _CODE_KEYS else len(_CODE_KEYS))
    return (value for key in ordered if isinstance(value := data[key], str))


def _fenced(blocks: Sequence[fences.Block], effort: _Effort, depth: int = 0) -> tuple[list[_Piece], list[_Broken]]:
    """Blocks that parse, and those that were meant to be code and do not."""
    pieces: list[_Piece] = []
    broken: list[_Broken] = []
    for block in blocks:
        piece = _block_piece(block, effort)
        if piece is not None:
            pieces.append(piece)
        elif block.language in _WRAPPERS and depth < 3 and (inner := fences.blocks(block.text)):
            inner_pieces, inner_broken = _fenced(inner, effort, depth + 1)
            pieces += inner_pieces
            broken += inner_broken
        elif block.language not in _NOT_CODE and block.text.strip():
            broken.append(_Broken(block.text, block.closed))
    return pieces, broken


class _Effort:
    """What is left of _EFFORT."""

    def __init__(self) -> None:
        self._left = _EFFORT

    def allows(self, code: str) -> bool:
        """Whether ``code`` may still be parsed; takes its length off."""
        self._left -= len(code)
        return self._left >= 0


def _block_piece(block: fences.Block, effort: _Effort) -> _Piece | None:
    """The block as Python; where its first closing fence cuts a string in two, a later one is tried."""
    rule = "fence" if block.language in _PYTHON or not block.language else f"fence:{block.language}"
    if block.language in _SHELLS:  # ``cat > a.py`` is valid Python too
        return None
    piece = _piece(block.text, rule)
    if piece is not None or block.language not in _PYTHON:
        return piece
    for end in block.ends[1:]:
        if not effort.allows(code := block.until(end)):
            break
        if (piece := _piece(code, rule)) is not None:
            return piece
    return None


def _html(text: str, _function: str) -> Iterator[_Piece]:
    position, effort = 0, _Effort()
    while (start := _PRE.search(text, position)) and (end := _PRE_END.search(text, start.end())):
        code = html.unescape(text[start.end() : end.start()])
        if not effort.allows(code):
            return
        yield from _as_piece(code, "html")
        position = end.end()


def _heredoc(text: str, _function: str) -> Iterator[_Piece]:
    """What a shell's here-document would write to a file."""
    for block in fences.blocks(text):
        lines = block.text
        position = 0
        while start := _HEREDOC.search(lines, position):
            end = re.compile(rf"^{start[2]}\s*$", re.MULTILINE).search(lines, start.end())
            if end is None:
                break
            yield from _as_piece(lines[start.end() : end.start()], "heredoc")
            position = end.end()


def _inline(text: str, function: str) -> Iterator[_Piece]:
    spans = re.finditer(r"`([^`\n]{1,2000})`", text)
    named = (match[1] for match in spans if re.search(rf"\b{re.escape(function)}\b", match[1]))
    for code in itertools.islice(named, _MAX_TRIES):
        yield from _as_piece(code + "\n", "inline")


def _bare(text: str, function: str) -> Iterator[_Piece]:
    """From each line that can start code, the longest run of lines that parses and holds the function."""
    lines = fences.outside(text).split("\n")
    starts = [number for number, line in enumerate(lines) if _STARTS.match(line)]
    mentions = re.compile(rf"\b{re.escape(function)}\b")
    effort = _Effort()
    for start in starts[:_MAX_TRIES]:
        ends = [n for n in range(start + 1, len(lines) + 1) if n == len(lines) or _can_end(lines[n])]
        for end in reversed(ends[:_MAX_TRIES]):
            code = "\n".join(lines[start:end]) + "\n"
            if not mentions.search(code):
                break
            if not effort.allows(code):
                return
            piece = _piece(code, "raw")
            if piece is not None and defines(piece.tree, function):
                yield piece
                return


_UNFENCED = (_html, _heredoc, _bare, _inline)
"""The ways code can stand in a text other than fenced, in the order they are tried."""


def _can_end(next_line: str) -> bool:
    """Whether code may end before this line: it is neither indented nor empty."""
    return bool(next_line) and not next_line[0].isspace()


def _as_piece(code: str, rule: str) -> Iterator[_Piece]:
    piece = _piece(code, rule)
    if piece is not None:
        yield piece


def _piece(code: str, rule: str) -> _Piece | None:
    result = repair.repaired(code)
    if result is None or not result[2].body:
        return None
    fixed, name, tree = result
    return _Piece(fixed, tree, f"{rule}+{name}" if name else rule)


# --- choosing and joining


def defines(tree: ast.Module, function: str) -> bool:
    """Whether the module binds ``function`` at its top level, or a class of it has such a method."""
    return any(function in _bound(node) or function in _methods(node) for node in tree.body)


def _definers(pieces: Iterable[_Piece], function: str) -> list[_Piece]:
    """The pieces that define the function; those that only import it when there is no other."""
    owners = [piece for piece in pieces if defines(piece.tree, function)]
    return [piece for piece in owners if not _only_imports(piece.tree, function)] or owners


def _only_imports(tree: ast.Module, function: str) -> bool:
    binding = [node for node in tree.body if function in _bound(node)]
    return bool(binding) and all(isinstance(node, ast.Import | ast.ImportFrom) for node in binding)


def _bound(node: ast.stmt) -> set[str]:
    """The names one top-level statement binds, those inside ``if`` and ``try`` too."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    names: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.add(part.id)
        elif isinstance(part, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in part.names}
        elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(part.name)
    return names


def _methods(node: ast.stmt) -> set[str]:
    return {m.name for m in node.body if isinstance(m, ast.FunctionDef)} if isinstance(node, ast.ClassDef) else set()


def _substance(tree: ast.Module) -> bool:
    """Whether there is anything in it but bare expressions: prose such as ``Done`` parses too."""
    return any(not isinstance(node, ast.Expr | ast.AnnAssign) for node in tree.body)


def _joined(pieces: list[_Piece], function: str) -> Extraction:
    """The last piece that defines the function, with what it lacks from the others put before it."""
    owners = _definers(pieces, function)
    if not owners:
        whole = [piece for piece in pieces if _substance(piece.tree)]
        return Extraction(_with_helpers(whole[-1], pieces, function), whole[-1].rule)
    main = owners[-1]
    code = _with_helpers(main, pieces, function)
    if code == main.code:
        return Extraction(code, main.rule, tree=main.tree)
    return Extraction(code, f"{main.rule}+joined")


def _with_helpers(main: _Piece, pieces: list[_Piece], function: str) -> str:
    others = [(number, piece) for number, piece in enumerate(pieces) if piece is not main]
    if not others:
        return main.code
    missing = _missing(main.tree)
    chosen: list[tuple[int, str]] = []
    for number, piece in reversed(others):
        parts = [node for node in piece.tree.body if _is_definition(node) and function not in _bound(node)]
        provided = set[str]().union(*map(_bound, parts)) if parts else set()
        if provided & missing:
            missing = (missing - provided) | _missing(ast.Module(parts, []))
            chosen.append((number, "\n".join(_source(piece.code, node) for node in parts)))
    return "\n\n".join([*(code for _, code in sorted(chosen)), main.code])


def _is_definition(node: ast.stmt) -> bool:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    return isinstance(node, kinds | ast.Assign | ast.AnnAssign)


def _missing(tree: ast.Module) -> set[str]:
    """Names used somewhere in the code that nothing in it binds and Python does not know."""
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    known = set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            known.add(node.name)
        elif isinstance(node, ast.stmt):
            known |= _bound(node)
    return used - known


def _source(code: str, node: ast.stmt) -> str:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return "\n".join(code.split("\n")[first - 1 : node.end_lineno])


def _names(code: str, function: str) -> bool:
    """Whether text tries to define the function, parse or not."""
    return re.search(rf"^\s*(?:async\s+)?def\s+{re.escape(function)}\b", code, re.MULTILINE) is not None
