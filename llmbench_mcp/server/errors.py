"""The one place where errors become text for a model."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from llmbench_mcp.domain import errors as domain
from llmbench_mcp.domain.text import nearest, one_line

_LOG = logging.getLogger(__name__)
_MESSAGE_LIMIT = 1500
_SHOWN_PROBLEMS = 5

NEXT_CALL: dict[type[domain.BenchError], str] = {
    domain.BenchError: "Call run_status or endpoint_list to see the present state.",
    domain.InputError: "",
    domain.NotFoundError: "",
    domain.ConflictError: "",
    domain.TaskFormatError: "Ask the person to mend the file, then repeat this call.",
    domain.EndpointError: "Call endpoint_list to see the server's state.",
    domain.UnreachableError: "Ask the person to start the server, then call endpoint_list.",
    domain.EndpointTimeout: "Call endpoint_list to see whether it answers by now.",
    domain.AuthError: "Ask the person to set the credential, then call endpoint_add with its credential_ref.",
    domain.RateLimitedError: "Wait, then repeat this call.",
    domain.ModelNotAvailable: "Call models_discover, then model_list to see what is offered.",
    domain.IncompatibleError: "Choose another model with model_list.",
    domain.PromptTooLong: "Choose another suite with suite_list or a model with a larger context.",
    domain.IdentityError: "Call models_discover to see what the server offers now.",
    domain.ServerFault: "Repeat this call; if it fails again, call endpoint_list.",
    domain.ProtocolError: "Check the address with endpoint_list; endpoint_add takes another.",
    domain.StorageError: "Ask the person to mend this, then repeat this call.",
    domain.StorageBusy: "Repeat this call shortly.",
    domain.NewerDatabaseError: "Ask the person to upgrade the program.",
    domain.LeaseLost: "Call run_status to see who goes on with the run.",
    domain.ValidatorFault: "Repeat this call; if it fails again, tell the person.",
    domain.SetupError: "Ask the person to do that, then repeat this call.",
}
"""What to do next, by exact class, for errors whose own text does not say it."""


def explain(error: domain.BenchError) -> str:
    """What failed, why, and the next step, safe to show to a model."""
    step = error.next_step or NEXT_CALL[type(error)]
    close = error.nearest if isinstance(error, domain.NotFoundError) else ()
    text = f"{error.what} {step}".strip()
    missing = [name for name in close if name not in text]
    if missing:
        text += f" Nearest: {', '.join(missing)}."
    return one_line(text, _MESSAGE_LIMIT)


def tool_error(tool: str, error: Exception, arguments: Sequence[str]) -> ToolError:
    """What the caller of ``tool`` is told of any exception; what is not ours is logged and hidden.

    Args:
        tool: the tool's name.
        error: what was raised, perhaps wrapped by the SDK.
        arguments: the names the tool takes.
    """
    cause = error.__cause__ if isinstance(error, ToolError) and error.__cause__ is not None else error
    if isinstance(cause, domain.BenchError):
        return ToolError(explain(cause))
    if isinstance(cause, ValidationError) and type(error) is ToolError:
        return ToolError(f"{tool} did not take the arguments. {_problems(cause)} It takes: {', '.join(arguments)}.")
    if type(cause) is ToolError:
        return cause
    _LOG.error("unexpected error in %s", tool, exc_info=cause)
    return ToolError(f"Internal error in {tool}; it was logged. Please report it to the maintainers.")


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
    return ToolError(f"There is no tool {one_line(name, 60)!r}. Nearest: {', '.join(nearest(name[:60], known))}.")


def unknown_arguments(tool: str, given: Sequence[str], known: Sequence[str]) -> ToolError:
    """For arguments the tool does not have."""
    names = ", ".join(repr(one_line(name, 60)) for name in given[:5])
    takes = ", ".join(known) if known else "no arguments"
    return ToolError(f"{tool} has no argument {names}. It takes: {takes}. Correct the name and call again.")
