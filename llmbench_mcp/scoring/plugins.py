"""The installed validators, for looking whether each can be loaded."""

from __future__ import annotations

from llmbench_mcp.domain.errors import ValidatorFault
from llmbench_mcp.domain.text import one_line


def validator_names() -> list[str]:
    """The names of every installed validator, sorted; nothing is imported but the plug-ins' list."""
    from llmbench_validators.registry import types

    return types()


def load_validator(name: str) -> None:
    """Import the validator of that name. Raises ValidatorFault when it cannot be."""
    from llmbench_validators.registry import validator

    try:
        validator(name)
    except Exception as error:  # a plug-in: whatever it raises is its fault
        said = f"{type(error).__name__}: {one_line(str(error))}"
        raise ValidatorFault(
            f"The validator {one_line(name, 60)!r} cannot be loaded: {said}.", "Reinstall or remove its package."
        ) from error
