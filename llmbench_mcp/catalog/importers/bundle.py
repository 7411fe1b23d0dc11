"""The files an import reads: one file, a folder, an archive or an installed package, all within bounds.

Nothing is unpacked to disk, nothing outside the folder or archive is read, and every file that was read is recorded
with its size and SHA-256.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.text import nearest, one_line

MAX_FILE_BYTES = 64 * 2**20
MAX_TOTAL_BYTES = 256 * 2**20
MAX_FILES = 20_000
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_WHEEL = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)(?:-.+)?\.whl\Z")
_UNPACKED = (".jsonl", ".json", ".csv", ".tsv", ".md", ".py")

Opener = Callable[[int], bytes]
"""Gives a file's bytes, at most that many; raises OSError or a fault of the archive."""


class Bundle:
    """Files by their path inside it. ``origin`` names it for people, ``version`` is the package's, where it is one."""

    def __init__(self, origin: str, files: Mapping[str, Opener], version: str | None = None) -> None:
        self.origin = origin
        self.version = version
        self.sources: dict[str, dict[str, object]] = {}
        self._files = dict(sorted(files.items()))
        self._left = MAX_TOTAL_BYTES

    def names(self, pattern: str = "") -> list[str]:
        """The paths in which the regular expression occurs."""
        return [name for name in self._files if re.search(pattern, name)]

    def one(self, pattern: str, what: str) -> str:
        """The only file there is, else the only one whose path matches. Raises InputError."""
        if len(self._files) == 1:
            return next(iter(self._files))
        found = self.names(pattern)
        if len(found) == 1:
            return found[0]
        if found:
            raise InputError(f"{self.origin} holds several files for {what}: {_listed(found)}.", "Name one of them.")
        close = _listed(nearest(what, self._files)) if self._files else "nothing"
        raise InputError(f"{self.origin} holds no {what}; it holds {close}.", "Name the file itself.")

    def some(self, pattern: str, what: str) -> list[str]:
        """The only file there is, else all whose path matches. Raises InputError for none."""
        found = list(self._files) if len(self._files) == 1 else self.names(pattern)
        if not found:
            raise InputError(f"{self.origin} holds no {what}.", "Name the folder that holds it.")
        return found

    def text(self, name: str) -> str:
        """A file's text, decompressed where its name ends in ``.gz``. Raises InputError."""
        raw = self._read(name)
        data = _unzipped(raw, self._place(name)) if name.endswith(".gz") else raw
        self._left -= len(data)
        if self._left < 0:
            raise InputError(f"{self.origin} holds more than {MAX_TOTAL_BYTES >> 20} MiB.", "Import a part of it.")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise InputError(f"{self._place(name)}:{line}: is not UTF-8 text.", "Save the file as UTF-8.") from error

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return name in self._files

    def count_rows(self, name: str, rows: int) -> None:
        """Record how many rows of a file were read."""
        self.sources.setdefault(name, {"file": name})["rows"] = rows

    def _place(self, name: str) -> str:
        return one_line(name, 200)

    def _read(self, name: str) -> bytes:
        try:
            raw = self._files[name](MAX_FILE_BYTES + 1)
        except (OSError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
            said = getattr(error, "strerror", None) or str(error)
            raise InputError(f"{self._place(name)} cannot be read: {one_line(said)}.", "Fetch it again.") from error
        if len(raw) > MAX_FILE_BYTES:
            raise InputError(f"{self._place(name)} is larger than {MAX_FILE_BYTES >> 20} MiB.", "Split it.")
        digest = hashlib.sha256(raw).hexdigest()
        self.sources[name] = {"file": name, "bytes": len(raw), "sha256": digest}
        return raw


def open_bundle(source: str) -> Bundle:
    """The files of a path or of an installed package. Raises InputError; blocks on disk."""
    path = Path(source).expanduser()
    try:
        if path.is_dir():
            return Bundle(one_line(path.name or source), dict(_folder(path)))
        if path.is_file():
            return _single(path)
    except OSError as error:
        raise InputError(
            f"{one_line(source)} cannot be read: {error.strerror or error}.", "See to its rights."
        ) from error
    if _PACKAGE.fullmatch(source) and (found := _package(source)) is not None:
        return found
    raise InputError(
        f"{one_line(source)} is no file, no folder and no installed package.",
        "Name a file (.jsonl, .json, .csv, also .gz), a folder, a .zip or .whl, or a package.",
    )


def _single(path: Path) -> Bundle:
    if path.suffix in (".zip", ".whl"):
        wheel = _WHEEL.fullmatch(path.name)
        origin = f"{wheel['name']} {wheel['version']}" if wheel else one_line(path.name)
        return Bundle(origin, dict(_archive(path)), wheel["version"] if wheel else None)
    stem = path.name.removesuffix(".gz").casefold()
    if not stem.endswith(_UNPACKED):
        raise InputError(
            f"{one_line(path.name)} is of no kind that is read here.",
            "Name a .jsonl, .json or .csv file (also .gz), a folder, a .zip or a .whl; unpack other archives.",
        )
    return Bundle(one_line(path.name), {path.name: _opener(path)})


def _opener(path: Path) -> Opener:
    def read(most: int) -> bytes:
        with path.open("rb") as stream:
            return stream.read(most)

    return read


def _folder(root: Path) -> Iterator[tuple[str, Opener]]:
    count = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in (".git", "__pycache__"))
        for name in names:
            path = Path(folder, name)
            if path.is_symlink() or not path.is_file():
                continue  # a link may lead anywhere
            count += 1
            if count > MAX_FILES:
                raise InputError(f"{one_line(str(root))} holds more than {MAX_FILES} files.", "Name a folder in it.")
            yield path.relative_to(root).as_posix(), _opener(path)


def _archive(path: Path) -> Iterator[tuple[str, Opener]]:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        raise InputError(f"{one_line(path.name)} is no archive that can be read.", "Fetch it again.") from error
    members = archive.infolist()
    if len(members) > MAX_FILES:
        raise InputError(f"{one_line(path.name)} holds more than {MAX_FILES} files.", "Unpack what is wanted.")
    for member in members:
        _refuse_escape(path, member)
        if not member.is_dir():
            yield member.filename, _member(archive, member)


def _refuse_escape(path: Path, member: zipfile.ZipInfo) -> None:
    name = PurePosixPath(member.filename)
    outside = name.is_absolute() or ".." in name.parts or "\\" in member.filename or ":" in name.parts[0]
    if outside or stat.S_ISLNK(member.external_attr >> 16):
        shown = one_line(member.filename, 80)
        raise InputError(f"{one_line(path.name)} holds '{shown}', which leads out of it.", "Do not trust this archive.")


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Opener:
    def read(most: int) -> bytes:
        with archive.open(member) as stream:
            return stream.read(most)  # no more is unpacked than asked for, whatever the archive says of its size

    return read


def _package(name: str) -> Bundle | None:
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return None
    files = {
        str(file): _opener(Path(str(found.locate_file(file))))
        for file in found.files or ()
        if ".." not in file.parts and not file.is_absolute()
    }
    return Bundle(f"{name} {found.version}", files, found.version)


def _unzipped(raw: bytes, place: str) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{place} is no whole gzip file.", "Fetch it again.") from error
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"{place} unpacks to more than {MAX_FILE_BYTES >> 20} MiB.", "Split it.")
    return data


def _listed(names: list[str]) -> str:
    return ", ".join(one_line(name, 80) for name in names[:5]) + (", …" if len(names) > 5 else "")
