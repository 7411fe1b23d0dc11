"""The operating system's keyring. Everything here blocks, and imports its library only when called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmbench_mcp.domain.errors import SetupError
from llmbench_mcp.domain.text import one_line

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "llmbench-mcp"
_UNSAFE = ("keyring.backends.fail", "keyring.backends.null", "keyrings.alt")
"""They keep nothing, or keep it in the clear or under a passphrase typed at a terminal."""
_LEAST_PRIORITY = 1
"""Backends below are not recommended by the library itself."""
_LOCKED = "Unlock it, or set LLMBENCH_CREDENTIAL_STORE=vault."


def usable() -> KeyringBackend | None:
    """The keyring to use here; None where there is only one that keeps nothing or keeps it unprotected."""
    import keyring
    from keyring.backends.chainer import ChainerBackend

    found = keyring.get_keyring()
    choices = found.backends if isinstance(found, ChainerBackend) else [found]
    return next((choice for choice in choices if _is_safe(choice)), None)


def _is_safe(backend: KeyringBackend) -> bool:
    if f"{type(backend).__module__}.".startswith(tuple(f"{name}." for name in _UNSAFE)):
        return False
    try:
        return backend.priority >= _LEAST_PRIORITY
    except RuntimeError:  # how a backend says that it cannot work here
        return False


def put(slot: str, key: str) -> None:
    """Keep ``key`` under ``slot`` and see that it is there. Raises SetupError when it is not."""
    from keyring.errors import KeyringError

    try:
        _backend().set_password(SERVICE, slot, key)
        kept = _backend().get_password(SERVICE, slot)
    except (KeyringError, OSError, RuntimeError, ValueError) as error:
        raise _trouble(error) from None
    if kept != key:
        raise SetupError("The keyring does not give back what was put into it.", _LOCKED)


def get(slot: str) -> str | None:
    """The key under ``slot``, None when it is gone. Raises SetupError when the keyring cannot be read."""
    from keyring.errors import KeyringError

    try:
        return _backend().get_password(SERVICE, slot)
    except (KeyringError, OSError, RuntimeError) as error:
        raise _trouble(error) from None


def delete(slot: str) -> None:
    """Take the key under ``slot`` away, if it is there. Raises SetupError when the keyring cannot be changed."""
    from keyring.errors import KeyringError, PasswordDeleteError

    backend = _backend()
    try:
        backend.delete_password(SERVICE, slot)
    except PasswordDeleteError as error:
        if get(slot) is not None:
            raise _trouble(error) from None
    except (KeyringError, OSError, RuntimeError) as error:
        raise _trouble(error) from None


def _backend() -> KeyringBackend:
    found = usable()
    if found is None:
        raise SetupError("There is no usable keyring here.", "Set LLMBENCH_CREDENTIAL_STORE=vault.")
    return found


def _trouble(error: Exception) -> SetupError:
    # Only the kind: a library's message may hold what it was given.
    return SetupError(f"The keyring cannot be used: {one_line(type(error).__name__, 60)}.", _LOCKED)
