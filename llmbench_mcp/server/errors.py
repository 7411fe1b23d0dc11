"""The one place where errors become text for a model."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from llmbench_mcp.credentials.known import known
from llmbench_mcp.domain import errors as domain
from llmbench_mcp.domain.text import nearest, one_line

_LOG = logging.getLogger(__name__)
_MESSAGE_LIMIT = 1500
_SHOWN_PROBLEMS = 5

NEXT_CALL: dict[type[domain.BenchError], str] = {
    domain.BenchError: "",
    domain.InputError: "",
    domain.NotFoundError: "",
    domain.ConflictError: "",
    domain.DeviceBusy: "run_status shows how that work goes on.",
    domain.TaskFormatError: "When the file is mended, restart this server and call suite_list.",
    domain.EndpointError: "endpoint_list shows the server's state.",
    domain.UnreachableError: "Then call endpoint_list.",
    domain.EndpointTimeout: "endpoint_list shows whether it answers by now.",
    domain.AuthError: "credential_request asks the person for the key; endpoint_add takes its credential_ref.",
    domain.RateLimitedError: "Repeat this call later.",
    domain.ModelNotAvailable: "models_discover and model_list show what is offered now.",
    domain.IncompatibleError: "model_list shows other models.",
    domain.PromptTooLong: "suite_list shows other suites, model_list models with a larger context.",
    domain.IdentityError: "models_discover shows what the server offers now.",
    domain.WeightsChanged: "models_discover shows what the server offers now.",
    domain.DoesNotFit: "model_residency shows what is loaded where.",
    domain.StillHeld: "model_residency shows what is loaded where.",
    domain.ServerFault: "Repeat this call; if it fails again, call endpoint_list.",
    domain.ProtocolError: "endpoint_list shows the known addresses, endpoint_add takes another.",
    domain.StorageError: "This needs the person; then repeat the call.",
    domain.StorageBusy: "Repeat this call shortly.",
    domain.NewerDatabaseError: "This needs the person: upgrade the program.",
    domain.LeaseLost: "run_status shows how the run goes on.",
    domain.ValidatorFault: "Repeat this call; if it fails again, tell the person.",
    domain.SetupError: "This needs the person; then repeat the call.",
}
"""The next call by class, told after an error's own text where that names no tool."""

_TOOL_NAME = re.compile(r"\b(credential_request|(endpoint|models?|suite|runs?|results|leaderboard|gpu)_[a-z]+)\b")


def explain(error: domain.BenchError) -> str:
    """What failed, why, and the next call, safe to show to a model."""
    text = str(error)
    if not _TOOL_NAME.search(text):
        text = f"{text} {_next_call(type(error))}".strip()
    close = error.nearest if isinstance(error, domain.NotFoundError) else ()
    missing = [name for name in close if name not in text]
    if missing:
        text += f" Nearest: {', '.join(missing)}."
    # What servers said is clean already; this also guards against a key that the caller wrote.
    return one_line(known().redact(text), _MESSAGE_LIMIT)


def _next_call(kind: type[domain.BenchError]) -> str:
    return next(NEXT_CALL[base] for base in kind.__mro__ if base in NEXT_CALL)


def tool_error(tool: str, error: Exception, arguments: Sequence[str]) -> ToolError:
    """What the caller of ``tool`` is told of any exception; what is not ours is logged and hidden.

    Args:
        tool: the tool's name.
        error: what was raised, perhaps wrapped by the SDK.
        arguments: the names the tool takes.
    """
    cause = _cause(error)
    if isinstance(cause, domain.BenchError):
        return ToolError(explain(cause))
    if isinstance(cause, ValidationError) and type(error) is ToolError:
        return ToolError(f"{tool} did not take the arguments. {_problems(cause)} It takes: {', '.join(arguments)}.")
    if type(cause) is ToolError:
        return cause
    _LOG.error("unexpected error in %s", tool, exc_info=cause)
    return ToolError(f"Internal error in {tool}; it was logged. Please report it to the maintainers.")


def _cause(error: Exception) -> BaseException:
    """What was raised first: without the SDK's wrapping and without task groups'."""
    cause: BaseException = error
    if isinstance(error, ToolError) and error.__cause__ is not None:
        cause = error.__cause__
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    return cause


def _problems(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False)
    lines = [_problem(".".join(map(str, one["loc"])), one["msg"], one["type"], one["input"]) for one in found]
    more = f" And {len(lines) - _SHOWN_PROBLEMS} more." if len(lines) > _SHOWN_PROBLEMS else ""
    return " ".join(lines[:_SHOWN_PROBLEMS]) + more


def _problem(where: str, message: str, kind: str, value: object) -> str:
    if kind == "missing":
        return f"{where} is missing."
    return f"{where}: {message} (got {one_line(repr(value), 60)})."


def unknown_tool(name: str, known: Sequence[str], off: str | None) -> ToolError:
    """For a name no tool has; ``off`` says why a real tool is not served here."""
    if off:
        return ToolError(f"The tool {name} is switched off here: {off}.")
    return ToolError(f"There is no tool '{one_line(name, 60)}'. Nearest: {', '.join(nearest(name[:60], known))}.")


def unknown_arguments(tool: str, given: Sequence[str], known: Sequence[str]) -> ToolError:
    """For arguments the tool does not have."""
    names = ", ".join(repr(one_line(name, 60)) for name in given[:5])
    takes = ", ".join(known) if known else "no arguments"
    return ToolError(f"{tool} has no argument {names}. It takes: {takes}. Correct the name and call again.")
