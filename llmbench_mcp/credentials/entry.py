"""What a person enters as a key."""

from __future__ import annotations

from llmbench_mcp.credentials.environment import Secret, problem_of
from llmbench_mcp.domain.errors import InputError


def entered(text: str) -> Secret:
    """The key that was typed or pasted, without the blanks around it.

    Raises:
        InputError: too short, a mere word or number, or not printable ASCII. It is never repeated.
    """
    value = text.strip()
    if not value:
        raise InputError("Nothing was entered.", "Enter the key.")
    problem = problem_of(value)
    if problem:
        raise InputError(f"What was entered {problem}.", "Enter the key as its provider gave it, whole.")
    return Secret(value)
