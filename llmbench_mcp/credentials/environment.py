"""Secrets in environment variables, named by references such as ``env:LLMBENCH_KEY_OFFICE``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from llmbench_mcp.domain.errors import AuthError, InputError

MIN_LENGTH = 8
"""Shorter keys are refused: they would turn ordinary words into placeholders when redacted."""
MAX_LENGTH = 4096
_MIN_DIFFERENT = 4
_REFERENCE = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]{0,127})")
_FOR_AGENTS = re.compile(r"LLMBENCH_KEY_[A-Z0-9_]{1,100}")
_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_WORDS = re.compile(r"(?=.{1,19}$)([a-z_-]+|[A-Z_-]+|[A-Z][a-z]+)|\d{1,15}")
"""Words and counting numbers, such as ``password``, ``not-needed`` or ``12345678``: they stand in ordinary text."""


class Secret:
    """A key that shows itself only to ``reveal``; printing, logging or formatting it shows asterisks."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The key itself, for the request that needs it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(********)"

    def __str__(self) -> str:
        return "********"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("A secret is not pickled.")


def check_reference(ref: str, by_agent: bool) -> str:
    """The variable that ``ref`` names. An agent may name only ``LLMBENCH_KEY_*``, so that it cannot have any
    other variable of this process sent to a server of its choice.

    Raises:
        InputError: not a reference, or one an agent may not use.
    """
    found = _REFERENCE.fullmatch(ref)
    if found is None:
        raise InputError(
            "That is not a credential reference.",
            "Name an environment variable that holds the key: env:LLMBENCH_KEY_SOMETHING. Never give the key itself.",
        )
    if by_agent and not _FOR_AGENTS.fullmatch(found[1]):
        raise InputError(
            f"The variable {found[1]} may not be named here.",
            "Ask the person at the machine to put the key into a variable named LLMBENCH_KEY_...",
        )
    return found[1]


def resolve(ref: str | None, environment: Mapping[str, str] = os.environ) -> Secret | None:
    """The secret a reference names; None without a reference.

    Raises:
        InputError: not a reference.
        AuthError: the variable is unset, too short, a mere word or not printable ASCII. Its value is never shown.
    """
    if ref is None:
        return None
    name = check_reference(ref, by_agent=False)
    value = environment.get(name, "").strip()
    problem = problem_of(value)
    if problem:
        raise AuthError(f"The environment variable {name} {problem}.", "Set it where this program starts.")
    return Secret(value)


def is_usable(ref: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether ``ref`` names a variable that holds a key."""
    found = _REFERENCE.fullmatch(ref)
    return found is not None and problem_of(environment.get(found[1], "").strip()) is None


def all_keys(environment: Mapping[str, str] = os.environ) -> list[Secret]:
    """Every secret in a variable ``LLMBENCH_KEY_*``, in use or not: what no server's text may carry on."""
    # By name first: this is asked before every answer, and reading a variable takes longer than its name.
    values = (environment[name].strip() for name in environment if _FOR_AGENTS.fullmatch(name))
    return [Secret(value) for value in values if value and not _is_common(value)]


def problem_of(value: str) -> str | None:
    """Why ``value`` is no key, as the end of a sentence that does not repeat it; None when it may be one."""
    if not value:
        return "is not set"
    if len(value) < MIN_LENGTH:
        return f"holds fewer than {MIN_LENGTH} characters, which is no key"
    if _is_common(value):
        return "holds a word or number that ordinary text has, which is no key"
    if len(value) > MAX_LENGTH:
        return f"holds more than {MAX_LENGTH} characters, which is no key"
    return None if _PRINTABLE.fullmatch(value) else "holds characters that no key has"


def _is_common(value: str) -> bool:
    """Whether redacting it would riddle ordinary text with placeholders."""
    return bool(_WORDS.fullmatch(value)) or len(set(value)) < _MIN_DIFFERENT
