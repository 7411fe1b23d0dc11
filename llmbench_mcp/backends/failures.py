"""What a server's refusal means: HTTP status and error body to the error a caller can act on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from llmbench_mcp.backends.retry_after import told_wait
from llmbench_mcp.domain.errors import (
    AuthError,
    EndpointError,
    IncompatibleError,
    ModelNotAvailable,
    PromptTooLong,
    ProtocolError,
    RateLimitedError,
    ServerFault,
)

_WORDS_READ = 2000
_CONTEXT = re.compile(
    r"exceed_context|context_length_exceeded|context[ _](size|length|window)|maximum context"
    r"|prompt( is)? too long|too many (input |prompt )?tokens",
    re.I,
)
_MODEL = re.compile(
    r"model_not_found|unknown model|no models? (is |are )?loaded|\bmodel\b.{0,200}?"
    r"(not found|not exist|not loaded|not available|unavailable|unknown)",
    re.I | re.S,
)
_TEMPLATE = re.compile(r"chat[ _]template|--jinja|jinja", re.I)
_CAPABILITY = re.compile(
    r"not[ _]support|unsupported|no support for|not a (chat|text|completion) model|embedding model", re.I
)
_CRASH = re.compile(r"crashed|exit code|unloaded", re.I)
"""Words of LM Studio, whose 400 also tells of its own failures."""

_PATH_MISSING = re.compile(
    r"file not found|page not found|^not found\.?$|/v1/|no route\b|invalid url|unknown (path|endpoint)", re.I
)
_STATUS_WORDS: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(r"rate_limit|too_many_requests|throttl"), 429),
    (re.compile(r"overloaded|unavailable"), 503),
    (re.compile(r"authentication|invalid_api_key|unauthorized|permission|forbidden"), 401),
    (re.compile(r"not_found"), 404),
    (re.compile(r"not_supported|not_implemented"), 501),
    (re.compile(r"invalid_request|bad_request|exceed_context|context_length"), 400),
)


@dataclass(frozen=True, slots=True)
class ErrorObject:
    """An error body in any of the usual shapes. ``kind`` joins type and code words in lower case."""

    message: str
    kind: str = ""
    code: int | None = None

    @property
    def words(self) -> str:
        """Kind and message, bounded, for recognising."""
        return f"{self.kind} {self.message}"[:_WORDS_READ]

    @property
    def status(self) -> int:
        """The HTTP status this error stands for when the answer itself said 200."""
        if self.code is not None:
            return self.code
        return next((status for words, status in _STATUS_WORDS if words.search(self.kind)), 500)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and the refusal it met. ``clean`` makes foreign text fit to show."""

    base: str
    method: str
    path: str
    clean: Callable[[str], str]

    @property
    def is_chat(self) -> bool:
        """Whether a model was named in the request."""
        return self.path.endswith("/completions")


def error_object(payload: Any) -> ErrorObject | None:
    """The error in a JSON body: ``{"error": text | {...}}``, ``{"object": "error", ...}`` or ``{"detail": ...}``."""
    if not isinstance(payload, dict):
        return None
    found = payload.get("error")
    if found is None and payload.get("object") == "error":
        found = payload
    if found is None and "choices" not in payload:
        found = payload.get("detail")
    if not found:
        return None
    return _from_mapping(found) if isinstance(found, Mapping) else ErrorObject(_as_text(found))


def _from_mapping(found: Mapping[str, Any]) -> ErrorObject:
    code, kind = found.get("code"), str(found.get("type") or "")
    words = f"{kind} {code}" if isinstance(code, str) else kind
    return ErrorObject(_as_text(found.get("message")), words.lower()[:200], _status_code(code))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else repr(value)[:_WORDS_READ]


def _status_code(code: Any) -> int | None:
    if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3:
        code = int(code)
    return code if isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600 else None


def from_status(
    exchange: Exchange, status: int, error: ErrorObject | None, retry_after: float | None = None
) -> EndpointError:
    """The error for an answer with that status; ``error`` is the body's error object if it had one."""
    said = _said(exchange, status, error)
    if status in (401, 403):
        return AuthError(f"{exchange.base} refused access{said}", "Set or renew this endpoint's credential.")
    if status in (408, 425, 429, 503):
        return RateLimitedError(f"{exchange.base} is busy{said}", f"Try again {told_wait(retry_after)}.", retry_after)
    if status == 404:
        return _not_found(exchange, error, said)
    if status == 405:
        return ProtocolError(f"{exchange.base} does not serve {exchange.method} {exchange.path}{said}", _CHECK)
    if status == 501:
        return IncompatibleError(f"{exchange.base} cannot do this{said}", "Choose another model or server.")
    return _by_words(exchange, status, error, said)


_CHECK = "Check that the address is an inference server's base URL."


def _said(exchange: Exchange, status: int, error: ErrorObject | None) -> str:
    message = exchange.clean(error.message) if error else ""
    return f" (HTTP {status}): {message}" if message else f" (HTTP {status})."


def _not_found(exchange: Exchange, error: ErrorObject | None, said: str) -> EndpointError:
    if error and (_MODEL.search(error.words) or (exchange.is_chat and not _PATH_MISSING.search(error.message))):
        return _no_model(exchange, said)
    return ProtocolError(f"{exchange.base} does not serve {exchange.method} {exchange.path}{said}", _CHECK)


def _no_model(exchange: Exchange, said: str) -> ModelNotAvailable:
    return ModelNotAvailable(
        f"{exchange.base} does not have the model{said}", "Load or pull it on the server, or discover again."
    )


def _by_words(exchange: Exchange, status: int, error: ErrorObject | None, said: str) -> EndpointError:
    words = error.words if error else ""
    if _TEMPLATE.search(words):
        return IncompatibleError(
            f"{exchange.base} cannot apply the model's chat template{said}",
            "Serve the model with a chat template (llama-server: --chat-template-file) or choose another.",
        )
    if _CONTEXT.search(words) or "exceeds the available context" in words:
        return PromptTooLong(
            f"{exchange.base} says the prompt does not fit{said}", "Enlarge the context or shorten the prompt."
        )
    if status < 500 and _MODEL.search(words):
        return _no_model(exchange, said)
    if status < 500 and _CAPABILITY.search(words):
        return IncompatibleError(f"{exchange.base} cannot do this{said}", "Choose another model or server.")
    refused = status < 500 and not _CRASH.search(words)
    verb = "refused the request" if status < 500 else "failed"
    return ServerFault(f"{exchange.base} {verb}{said}", "Look at the server's log.", refused)


def from_error_object(exchange: Exchange, error: ErrorObject, retry_after: float | None = None) -> EndpointError:
    """The error for an answer that said 200 but carries an error object."""
    if error.status == 404:
        return _no_model(exchange, _said(exchange, 404, error))
    return from_status(exchange, error.status, error, retry_after)
