"""The tool credential_request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mcp.types import CallToolResult, ElicitRequest, ElicitRequestURLParams, InputRequiredResult
from pydantic import Field

from llmbench_mcp.server.present import reply
from llmbench_mcp.server.results import Result
from llmbench_mcp.server.spec import Call, ToolSpec, app_of, writes

if TYPE_CHECKING:
    from llmbench_mcp.domain.ports import EntryPage
    from llmbench_mcp.services.credential_requests import KeyRequest

_ANSWER = "key"
_STATELESS_ERA = "2026-07-28"


class KeyAsked(Result):
    """How it stands; never the key."""

    state: str = Field(description="waiting, set or declined")
    credential_ref: str
    page: str | None = Field(default=None, description="give it to the person")
    next: str


async def credential_request(
    ctx: Call,
    endpoint: Annotated[str, Field(description="its name, or a new server's url")] = "",
    name: Annotated[str, Field(description="for the credential; empty: made")] = "",
) -> Annotated[CallToolResult, KeyAsked] | InputRequiredResult:
    """Have the person enter a server's API key on a page of this machine: you never see it. Call again to learn
    whether it is set."""
    app = await app_of(ctx)
    asked = await app.credential_requests.ask(endpoint, name)
    if asked.page is None or not _opens_addresses(ctx):
        return _told(asked, endpoint)
    response = (ctx.input_responses or {}).get(_ANSWER)
    if _is_stateless(ctx) and response is None:
        return _question(asked, asked.page)
    action = getattr(response, "action", None) or await _ask_now(ctx, asked, asked.page)
    if action != "accept":
        await asked.page.aclose()
        return _told(asked, endpoint, declined=True)
    is_over = await asked.page.over(app.settings.max_wait_s)
    if is_over:
        await _tell_complete(ctx, asked.page)
    return _told(await app.credential_requests.ask(endpoint, name) if is_over else asked, endpoint)


def _opens_addresses(ctx: Call) -> bool:
    """Whether the client said that it can show an address to the person; the SDK does not look."""
    capabilities = ctx.client_capabilities
    return bool(capabilities and capabilities.elicitation and capabilities.elicitation.url is not None)


def _is_stateless(ctx: Call) -> bool:
    """Whether questions go into a result and come back with the same call made again."""
    return (ctx.protocol_version or "") >= _STATELESS_ERA


def _question(asked: KeyRequest, page: EntryPage) -> InputRequiredResult:
    parameters = ElicitRequestURLParams(message=_message(asked), url=page.url, elicitation_id=page.id)
    return InputRequiredResult(
        input_requests={_ANSWER: ElicitRequest(params=parameters)}, request_state=asked.reference
    )


async def _ask_now(ctx: Call, asked: KeyRequest, page: EntryPage) -> str:
    return (await ctx.elicit_url(_message(asked), page.url, page.id)).action


async def _tell_complete(ctx: Call, page: EntryPage) -> None:
    if not _is_stateless(ctx):
        await ctx.session.send_elicit_complete(page.id)


def _message(asked: KeyRequest) -> str:
    """Made of checked names and addresses only."""
    return f"Enter the API key for {asked.origin} on a page of this machine. The agent never sees it."


def _told(asked: KeyRequest, endpoint: str, declined: bool = False) -> CallToolResult:
    page = None if asked.page is None or declined else asked.page.url
    state = "declined" if declined else asked.state
    if state == "waiting":
        following = "give `page` to the person at the machine of this server, then call this again"
    elif state == "declined":
        following = "ask the person whether they want to give a key at all"
    elif asked.endpoint is not None:
        following = f"endpoint_list, then models_discover endpoints={asked.endpoint}"
    else:
        following = f"endpoint_add url={asked.origin} credential_ref={asked.reference}"
    return reply(KeyAsked(state=state, credential_ref=asked.reference, page=page, next=following))


TOOL = ToolSpec(credential_request, "Ask for a key", writes(), toolset="manage")
