"""Secrets that a test plants, and the search for them in every form they travel in."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import psutil
import pyarrow.parquet


def forms(secret: str) -> list[str]:
    """The secret as it travels: plain, URL-encoded once and twice, JSON-escaped, in base64, in hexadecimal."""
    raw = secret.encode()
    return [
        secret,
        quote(secret, safe=""),
        quote(quote(secret, safe=""), safe=""),
        secret.replace("-", "%2D"),
        "".join(f"%{ord(char):02X}" for char in secret),
        "".join(f"\\u{ord(char):04x}" for char in secret),
        json.dumps(secret)[1:-1],
        base64.b64encode(raw).decode().rstrip("="),
        base64.urlsafe_b64encode(raw).decode().rstrip("="),
        raw.hex(),
        within(secret)[8:],
    ]


def within(secret: str) -> str:
    """The secret inside a longer text in base64; its first eight characters stand for what comes before it."""
    return base64.b64encode(f"user:.{secret}".encode()).decode().rstrip("=")


class Planted:
    """Some secrets by name, and where they turn up."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._sought = {form.lower().encode(): name for name, secret in secrets.items() for form in forms(secret)}

    def found_in(self, told: str | bytes) -> list[str]:
        """The names of the secrets in a text, in any form and any case of letters."""
        data = (told.encode("utf-8", "surrogateescape") if isinstance(told, str) else told).lower()
        return sorted({name for form, name in self._sought.items() if form in data})

    def found_below(self, *folders: Path) -> dict[str, list[str]]:
        """The same of every file below the folders, by path; what is packed in a Parquet file is unpacked."""
        found = {str(path): self._in_file(path) for path in _files(folders)}
        return {path: names for path, names in found.items() if names}

    def _in_file(self, path: Path) -> list[str]:
        found = self.found_in(path.read_bytes())
        if path.suffix == ".parquet":
            table = pyarrow.parquet.read_table(path)
            found += self.found_in(json.dumps([table.to_pylist(), str(table.schema.metadata)], default=str))
        return found


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    return (path for folder in folders for path in folder.rglob("*") if path.is_file())


def process_list() -> Iterator[str]:
    """Arguments and environment of every process that may be looked at."""
    for process in psutil.process_iter():
        try:
            yield " ".join(process.cmdline())
            yield json.dumps(process.environ())
        except psutil.Error:
            continue
