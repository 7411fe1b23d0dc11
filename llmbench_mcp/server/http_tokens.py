"""Bearer tokens: who may use the HTTP server. Never an argument's value, never stored, never logged."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
from collections.abc import Iterable, MutableMapping
from pathlib import Path

from llmbench_mcp.credentials.environment import Secret
from llmbench_mcp.domain.errors import InputError, SetupError
from llmbench_mcp.domain.text import one_line

MIN_LENGTH = 16
_MIN_DIFFERENT = 8
_FILE_LIMIT = 64_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_TOKEN = re.compile(r"[\x21-\x7e]{1,500}")
_MAKE = "Make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'."


class Tokens:
    """Tokens by the name of who holds them; only their digests are kept."""

    def __init__(self, pairs: Iterable[tuple[str, Secret]] = ()) -> None:
        self._digests: dict[str, bytes] = {}
        self.secrets: list[Secret] = []
        for name, secret in pairs:
            self._add(name, secret)

    def __len__(self) -> int:
        return len(self._digests)

    def holder(self, token: str) -> str | None:
        """The name of whose token that is; takes the same time whichever it is or none."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        found = None
        for name, known in self._digests.items():
            if hmac.compare_digest(digest, known):
                found = name
        return found

    def _add(self, name: str, secret: Secret) -> None:
        digest = hashlib.sha256(secret.reveal().encode()).digest()
        if name in self._digests or digest in self._digests.values():
            raise InputError(
                f"The token of {name} is given twice, or two people have the same.", "Give each person their own."
            )
        self._digests[name] = digest
        self.secrets.append(secret)


def load_tokens(
    variables: Iterable[str], files: Iterable[Path], environment: MutableMapping[str, str] = os.environ
) -> Tokens:
    """The tokens that environment variables and files hold.

    A variable is taken out of the environment, so that no process started from here inherits it. ``NAME=VARIABLE`` says
    whose token it is. A file has one token, or lines ``NAME TOKEN``; ``#`` begins a comment.

    Raises:
        InputError: a token is weak or malformed, or a name is taken twice.
        SetupError: a variable is not set, or a file cannot be read or may be read by others.
    """
    pairs = [_from_variable(word, environment) for word in variables]
    for path in files:
        pairs += _from_file(path)
    return Tokens(pairs)


def _from_variable(word: str, environment: MutableMapping[str, str]) -> tuple[str, Secret]:
    name, _, variable = word.rpartition("=")
    if not _VARIABLE.fullmatch(variable):
        # Not repeated: it may be the token itself.
        raise InputError("--token-env wants the name of an environment variable.", "Never give the token itself.")
    value = environment.pop(variable, "").strip()
    if not value:
        raise SetupError(f"The environment variable {variable} holds no token.", f"Set it where this starts. {_MAKE}")
    return _checked(name or variable[:32].strip("_"), value, f"the variable {variable}")


def _from_file(path: Path) -> list[tuple[str, Secret]]:
    lines = [line.split("#")[0].split() for line in _private_text(path).splitlines()]
    lines = [words for words in lines if words]
    if not lines:
        raise SetupError(f"The file {path} holds no token.", f"Write one into it. {_MAKE}")
    where = f"the file {path}"
    if len(lines) == 1 and len(lines[0]) == 1:
        return [_checked("token", lines[0][0], where)]
    if any(len(words) != 2 for words in lines):
        raise InputError(f"A line of {where} is not NAME TOKEN.", "Write one token alone, or a line for each person.")
    return [_checked(name, value, where) for name, value in lines]


def _private_text(path: Path) -> str:
    try:
        # Not waiting: opening a pipe would.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            _check_private(path, os.fstat(descriptor))
            return os.read(descriptor, _FILE_LIMIT).decode("ascii", "replace")
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SetupError(
            f"The token file {path} cannot be read: {error.strerror}.", "Name a file that this user can read."
        ) from error


def _check_private(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise SetupError(f"The token file {path} is no ordinary file.", "Name one.")
    if found.st_mode & 0o077:
        raise SetupError(f"Others may read or write the token file {path}.", f"chmod 600 {path}")


def _checked(name: str, value: str, where: str) -> tuple[str, Secret]:
    if not _NAME.fullmatch(name):
        raise InputError(
            f"'{one_line(name, 40)}' in {where} is no name for a token's holder.",
            "Use up to 32 letters, digits, dots, hyphens and underscores.",
        )
    if not _TOKEN.fullmatch(value):
        raise InputError(f"The token of {name} in {where} has characters that no token has.", _MAKE)
    if len(value) < MIN_LENGTH or len(set(value)) < _MIN_DIFFERENT:
        short = f"A token has at least {MIN_LENGTH} characters and {_MIN_DIFFERENT} different ones."
        raise InputError(f"The token in {where} (of '{name}') is too easily guessed. {short}", _MAKE)
    return name, Secret(value)
