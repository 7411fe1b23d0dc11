"""The files in an answer: fences that name their path, unified diffs, or text under path headings.

Later files win over earlier ones of the same path. Where no file is named and exactly one is expected, the code
block that defines most of what that file defined is taken for it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from llmbench_validators import extraction, multifile_diff, multifile_fences, multifile_paths, repair, thoughts
from llmbench_validators.multifile_fences import Fence
from llmbench_validators.types import MAX_TEXT

MAX_FILES = 100
_MAX_HEADING = 500
_DIFFS = frozenset({"diff", "patch", "udiff"})
_NO_FILES = frozenset({"bash", "sh", "shell", "console", "zsh", "output", "log", "stdout"})
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}\s+.+|(?:file|path|filename)\s*:.+|={3,}.+={3,})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answer:
    """The files an answer gives (None: removed), the rule that found them, and what was noticed.

    ``failure`` is the word for an answer without files; ``broken`` tells that a diff did not fit.
    """

    files: Mapping[str, str | None] = field(default_factory=dict)
    extractor: str | None = None
    findings: tuple[str, ...] = ()
    failure: str | None = None
    broken: bool = False


class _Collected:
    """Files as they are found, on top of those of the project."""

    def __init__(self, project: Mapping[str, str], wanted: Iterable[str]) -> None:
        self.project = project
        self.wanted = tuple(wanted)
        self.known = (*project, *self.wanted)
        self.files: dict[str, str | None] = {}
        self.findings: list[str] = []
        self.rules: dict[str, None] = {}
        self.broken = False

    def note(self, text: str) -> None:
        if text not in self.findings:
            self.findings.append(text)

    def put(self, path: str, text: str | None, rule: str) -> None:
        path = self.place(path)
        reason = multifile_paths.refused(path) or self._clash(path)
        if reason:
            self.note(f"refused file {path!r}: {reason}")
        elif len(self.files) >= MAX_FILES and path not in self.files:
            self.note(f"only the first {MAX_FILES} files are looked at")
        else:
            self.files[path] = text
            self.rules[rule] = None

    def place(self, path: str) -> str:
        """Where the file an answer calls ``path`` goes; a path that is refused stays as it is."""
        path = multifile_paths.normal(path)
        if path in self.files or multifile_paths.refused(path):
            return path
        return multifile_paths.placed(path, self.known, [want for want in self.wanted if want not in self.files])

    def _clash(self, path: str) -> str:
        """A file cannot be the folder of another."""
        others = {*self.project, *self.files}
        below = any(other.startswith(path + "/") for other in others)
        above = any(path.startswith(other + "/") for other in others)
        return "a folder of the project" if below else "below a file of the project" if above else ""

    def current(self, path: str) -> str | None:
        return self.files[path] if path in self.files else self.project.get(path)

    def patch(self, text: str, path: str | None) -> None:
        """Apply the patches in a diff; one that does not fit is noted and left out."""
        for patch in multifile_diff.parse(text, path):
            placed = self.place(patch.new or patch.old or "")
            if patch.new is None:
                self.put(placed, None, "diff")
                continue
            base = "" if patch.old is None else self.current(placed)
            made = None if base is None else multifile_diff.apply(base, patch.hunks)
            if made is None:
                self.broken = True
                self.note(f"the diff does not fit {placed!r}")
            else:
                self.put(placed, made, "diff")


def read(text: str, project: Mapping[str, str], wanted: Iterable[str], finish_reason: str | None = None) -> Answer:
    """The files in ``text`` for a ``project``; ``wanted`` are the files expected to change.

    Failure words: empty, refusal, no_code, format (only diffs that do not fit), budget_exhausted (cut off).
    """
    text = text[:MAX_TEXT].removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    remaining, left_open = thoughts.answer(text)
    found = _Collected(project, wanted)
    if remaining.strip() and not (left_open and not remaining.strip()):
        _search(remaining, found)
    if found.files:
        return Answer(found.files, "+".join(found.rules), tuple(found.findings), broken=found.broken)
    failure = "format" if found.broken or found.findings else _absence(text, remaining)
    if finish_reason == "length":
        failure = "budget_exhausted"
    return Answer(findings=tuple(found.findings), failure=failure, broken=found.broken)


def _absence(text: str, remaining: str) -> str:
    """Why nothing was found, in the words of the extraction of a single block."""
    return extraction.extract(remaining or text, "_").failure or "no_code" if text.strip() else "empty"


def _search(text: str, found: _Collected) -> None:
    blocks = multifile_fences.fences(text)
    loose = [block for block in blocks if not _take(block, found)]
    if not found.files and not found.broken and multifile_diff.looks_like(text):
        found.patch(text, None)
    if not found.files and not blocks:
        _headed(text, found)
    if not found.files and not found.broken and not found.findings and len(found.wanted) == 1:
        _single([block.text for block in loose if block.language not in _NO_FILES] or [text], found)


def _take(block: Fence, found: _Collected) -> bool:
    """Whether the block says which file it is (or changes)."""
    path = multifile_paths.in_info(block.info, found.known)
    if block.language in _DIFFS or (multifile_diff.looks_like(block.text) and not path):
        found.patch(block.text, path or _labelled(block, found))
        return True
    if path is not None and path != block.language:
        found.put(path, block.text, "fence")
        return True
    first, _, rest = block.text.partition("\n")
    path = multifile_paths.in_comment(first, found.known)
    if path is not None and block.language not in _NO_FILES:
        found.put(path, block.text if path.endswith(".py") else rest, "comment")
        return True
    path = _labelled(block, found)
    if path is not None and block.language not in _NO_FILES:
        found.put(path, block.text, "heading")
        return True
    return False


def _labelled(block: Fence, found: _Collected) -> str | None:
    paths = (multifile_paths.in_line(label, found.known) for label in block.labels if label)
    return next((path for path in paths if path), None)


def _headed(text: str, found: _Collected) -> None:
    """Files as plain text, each below a heading that is its path."""
    path: str | None = None
    body: list[str] = []
    for line in [*text.split("\n"), "# end"]:
        titled = len(line) <= _MAX_HEADING and _HEADING.fullmatch(line)
        heading = multifile_paths.in_line(line, found.known) if titled else None
        if heading is None and line != "# end":
            body.append(line)
            continue
        if path is not None and any(part.strip() for part in body):
            found.put(path, "\n".join(body).strip("\n") + "\n", "heading")
        path, body = heading, []


def _single(texts: list[str], found: _Collected) -> None:
    """The one expected file from a block that does not name it."""
    path = found.wanted[0]
    if not path.endswith(".py"):
        return
    stub = _defined(repair.parsed(found.project.get(path, "")))
    best: tuple[int, str] | None = None
    for text in texts:
        made = repair.repaired(text)
        if made is None or not _substance(made[2]):
            continue
        score = len(_defined(made[2]) & stub)
        if best is None or score >= best[0]:
            best = (score, made[0])
    if best is not None:
        found.put(path, best[1], "single")


def _substance(tree: ast.Module) -> bool:
    return any(not isinstance(node, ast.Expr | ast.AnnAssign) for node in tree.body)


def _defined(tree: ast.Module | None) -> set[str]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {node.name for node in (tree.body if tree else []) if isinstance(node, kinds)}
