"""The Python exercises of the Aider polyglot set: make the tests of an Exercism exercise pass."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from llmbench_mcp.catalog.importers.bundle import Bundle
from llmbench_mcp.catalog.importers.importer import Importer, Wish
from llmbench_mcp.catalog.importers.rows import Row, json_rows
from llmbench_mcp.catalog.importers.wording import fenced, slug
from llmbench_mcp.catalog.item import Answer, Item
from llmbench_mcp.domain.errors import InputError

_CONFIG = ".meta/config.json"
_TEXTS = ("introduction.md", "introduction.append.md", "instructions.md", "instructions.append.md")
_ASKED = """{text}

# What to do

Write the whole of {names}. Tests that you do not see decide; they use the names in the stub, and only Python's \
standard library is there. Answer with each file in a fenced block of its own that opens with `python`, a space and \
the file's path, here: `python {first}`.

{stubs}"""


def read(bundle: Bundle, wish: Wish) -> Iterator[Item]:
    """The exercises whose solution is Python, or those asked for by name."""
    found = False
    for config in bundle.names(r"(^|/)\.meta/config\.json$"):
        root = config.removesuffix(_CONFIG)
        (row,) = list(json_rows(bundle, config)) or (Row(config, 1, {}),)
        listed = row.any("files")
        files = {kind: _files(row, listed, kind) for kind in ("solution", "test")}
        name = PurePosixPath(root).name
        if files["solution"][0].endswith(".py") and (not wish.parts or name in wish.parts):
            found = True
            yield _item(bundle, row, root, files, _example(listed))
    if not found:
        raise InputError(f"{bundle.origin} holds no such exercise in Python.", "Name the set's folder python.")


def _files(row: Row, listed: Any, kind: str) -> list[str]:
    found = listed.get(kind) if isinstance(listed, dict) else None
    if not isinstance(found, list) or not found or not all(isinstance(one, str) for one in found):
        raise row.error(f"files must list the files of {kind}.", "As Exercism's config.json does.")
    return found


def _example(listed: Any) -> list[str]:
    found = listed.get("example") or listed.get("exemplar")
    return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else []


def _item(bundle: Bundle, row: Row, root: str, files: dict[str, list[str]], examples: list[str]) -> Item:
    stubs = {path: _text(bundle, row, root, path) for path in files["solution"]}
    tests = {path: _text(bundle, row, root, path) for path in files["test"]}
    texts = [bundle.text(f"{root}.docs/{name}") for name in _TEXTS if bundle.has(f"{root}.docs/{name}")]
    shown = "\n\n".join(f"`{path}`:\n\n{fenced(text)}" for path, text in stubs.items())
    first = files["solution"][0]
    answer = None
    if len(examples) == len(stubs) == 1:
        answer = Answer(fenced(_text(bundle, row, root, examples[0]), f"python {first}"))
    names = ", ".join(f"`{path}`" for path in stubs)
    name = PurePosixPath(root).name
    return Item(
        name=slug(name),
        title=name.replace("-", " ").capitalize(),
        prompt=_ASKED.format(text="\n\n".join(text.strip() for text in texts), names=names, first=first, stubs=shown),
        validation={
            "type": "coding_multifile",
            "files": stubs,
            "modified_files": files["solution"],
            "integration_tests": tests,
        },
        where=row.where,
        answer=answer,
    )


def _text(bundle: Bundle, row: Row, root: str, path: str) -> str:
    if not bundle.has(root + path):
        raise row.error(f"there is no file {path!r} in the exercise.", "Fetch the whole folder.")
    return bundle.text(root + path)


IMPORTER = Importer(
    title="Aider polyglot, Python",
    description="Exercism exercises of the Aider polyglot set that are solved in Python; unit tests decide.",
    licence="MIT",
    read=read,
    parts="exercises, such as bowling",
)
