"""Every error this program raises on purpose: one class per thing a caller can do about it.

::

    BenchError                      what, where, next step
    ├── InputError                  fix the argument and call again
    │   ├── NotFoundError           pick one of the names offered
    │   ├── ConflictError           something with that name is there already, or the state forbids it
    │   │   └── DeviceBusy          wait for, or cancel, the work on that device
    │   └── TaskFormatError         mend the task or suite file at the line named
    ├── EndpointError               about one inference server
    │   ├── UnreachableError        start the server or mend the address
    │   ├── EndpointTimeout         nothing came in time
    │   ├── AuthError               set or renew the credential
    │   ├── RateLimitedError        wait ``retry_after_s``, then again
    │   ├── ModelNotAvailable       load, pull or rename the model
    │   ├── IncompatibleError       the model or server cannot do this (no chat template, no such capability)
    │   ├── PromptTooLong           enlarge the context or shorten the prompt
    │   ├── IdentityError           another model answered than the one asked
    │   │   └── WeightsChanged      other weights under the name that was asked
    │   ├── DoesNotFit              free the device's memory or choose a smaller model
    │   ├── StillHeld               unload by hand what did not leave
    │   ├── ServerFault             5xx or a broken answer, which may pass; or a refusal (``refused``), which will not
    │   └── ProtocolError           what answered is not an inference server (HTML, no JSON, empty stream)
    ├── StorageError                free the disk or mend the permissions
    │   ├── StorageBusy             another process holds the database; again shortly
    │   └── NewerDatabaseError      upgrade the program; the database was not touched
    ├── LeaseLost                   another executor took over; stop writing
    ├── ValidatorFault              grading itself failed; not evidence about the model
    └── SetupError                  install or configure what the message names
"""

from __future__ import annotations

from collections.abc import Sequence


class BenchError(Exception):
    """Base of all deliberate errors.

    Args:
        what: what went wrong and where, one sentence, safe to show.
        next_step: what the reader should do now.
    """

    word: str = "error"

    def __init__(self, what: str, next_step: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.what} {self.next_step}".strip()


class InputError(BenchError):
    """An argument is wrong."""

    word = "input"


class NotFoundError(InputError):
    """A name that nothing has; ``nearest`` holds up to five valid ones."""

    word = "not_found"

    def __init__(self, what: str, next_step: str = "", nearest: Sequence[str] = ()) -> None:
        super().__init__(what, next_step)
        self.nearest = tuple(nearest[:5])


class ConflictError(InputError):
    """The present state forbids the request."""

    word = "conflict"


class DeviceBusy(ConflictError):
    """Another process works on the device."""


class TaskFormatError(InputError):
    """A task or suite file is malformed; the message begins ``path:line:``."""

    word = "task_format"


class EndpointError(BenchError):
    """Something about one inference server; ``word`` is the failure recorded for an attempt."""

    word = "provider_error"


class UnreachableError(EndpointError):
    """No connection could be made, or it broke. ``gone``: nothing listens there, so that nothing is loaded there."""

    def __init__(self, what: str, next_step: str = "", gone: bool = False) -> None:
        super().__init__(what, next_step)
        self.gone = gone


class EndpointTimeout(EndpointError):
    """The server stayed silent longer than allowed (connect, first byte, stall or total)."""


class AuthError(EndpointError):
    """401 or 403."""

    word = "auth"


class RateLimitedError(EndpointError):
    """408, 425, 429 or 503 with the wait the server asked for, in seconds, when it gave a usable one."""

    word = "rate_limited"

    def __init__(self, what: str, next_step: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(what, next_step)
        self.retry_after_s = retry_after_s


class ModelNotAvailable(EndpointError):
    """The server does not have or has not loaded the model."""

    word = "not_available"


class IncompatibleError(EndpointError):
    """The request can never succeed with this model or server; the model's status becomes ``incompatible``."""


class PromptTooLong(EndpointError):
    """The prompt does not fit the context in force."""

    word = "truncated_prompt"


class IdentityError(EndpointError):
    """The server answered under another model's name."""

    word = "invalid_identity"


class WeightsChanged(IdentityError):
    """The server holds other weights under the model's name than the ones that were asked for."""


class DoesNotFit(EndpointError):
    """The model needs more memory than the device has to give."""

    word = "not_available"


class StillHeld(EndpointError):
    """A model that was asked to leave still holds its memory: loading on top of it is refused.

    ``level``: bytes in use to which the device must come down, where the server no longer lists the model.
    """

    def __init__(self, what: str, next_step: str = "", level: int | None = None) -> None:
        super().__init__(what, next_step)
        self.level = level


class ServerFault(EndpointError):
    """5xx, an error object, or a stream that ended early. ``refused``: 4xx, so that this request never succeeds."""

    def __init__(self, what: str, next_step: str = "", refused: bool = False) -> None:
        super().__init__(what, next_step)
        self.refused = refused


class ProtocolError(EndpointError):
    """The answer is not what an inference server sends."""


class StorageError(BenchError):
    """The data directory or database cannot be used."""

    word = "storage"


class StorageBusy(StorageError):
    """The database stayed locked by another process."""


class NewerDatabaseError(StorageError):
    """The database was written by a newer version."""


class LeaseLost(BenchError):
    """This process no longer owns the lease it writes under."""

    word = "lease_lost"


class ValidatorFault(BenchError):
    """A validator or its sandbox failed; the completion is kept and can be graded again."""

    word = "validator_error"


class SetupError(BenchError):
    """Something that must be installed or configured first."""

    word = "setup"
