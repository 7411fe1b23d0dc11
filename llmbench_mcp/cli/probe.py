"""``endpoint probe``: one question to one server, measured; its JSON is a contract with scripts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from llmbench_mcp.cli import exit_codes, figures, output
from llmbench_mcp.cli.endpoints import Credential, reference
from llmbench_mcp.cli.session import Session, session

if TYPE_CHECKING:
    from rich.console import RenderableType

    from llmbench_mcp.app import App
    from llmbench_mcp.domain.chat import ChatRequest, Completion

_PROMPT = "Say in one sentence what you are."


def probe(  # noqa: PLR0913 - a command has one parameter per option
    context: typer.Context,
    url: Annotated[str, typer.Argument(help="Address or name of the server; it need not have been added.")],
    model: Annotated[str | None, typer.Option(help="The model's name there; needless when it offers one.")] = None,
    prompt: Annotated[str, typer.Option(help="What to ask.")] = _PROMPT,
    system: Annotated[str | None, typer.Option(help="System message.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Limit of the answer.")] = None,
    temperature: Annotated[float, typer.Option(min=0.0, max=5.0)] = 0.0,
    timeout: Annotated[float | None, typer.Option(min=0.1, help="Seconds in all.")] = None,
    credential_env: Annotated[
        str | None, typer.Option(help="Environment variable that holds the API key.", metavar="VAR")
    ] = None,
    credential: Credential = None,
) -> int:
    """Ask one question of a server and show the answer with its timings."""
    from llmbench_mcp.domain.chat import ChatRequest, Sampling

    here = session(context)
    request = ChatRequest(model or "", prompt, system, Sampling(temperature=temperature, max_tokens=max_tokens))
    done = _ask(here, url, request, (timeout, reference(credential_env, credential)))
    _show(here, done)
    if done.error is None and not done.complete:
        output.note("The stream ended early, without a finish reason: the answer may be incomplete.")
    return exit_codes.OK if done.error is None else exit_codes.FAILED


def _ask(here: Session, url: str, request: ChatRequest, limits: tuple[float | None, str | None]) -> Completion:
    """The answer; for people a failure is raised, for scripts it is an answer with ``error`` set."""
    from llmbench_mcp.domain.chat import Completion
    from llmbench_mcp.domain.errors import BenchError

    timeout, key = limits

    async def work(app: App) -> Completion:
        from llmbench_mcp.cli.probe_target import known_or_address, only_model

        await known_or_address(app, url)
        if not request.model:
            return await app.endpoints.probe(url, replace(request, model=await only_model(app, url, key)), key)
        return await app.endpoints.probe(url, request, key)

    try:
        settings = here.settings()
        if timeout is not None:
            stall = min(timeout, settings.stall_timeout_s)
            settings = here.settings(total_timeout_s=timeout, stall_timeout_s=stall)
        return here.use(work, settings)
    except BenchError as error:
        if not here.as_json:
            raise
        return Completion("", complete=False, error=error.what)


def _show(here: Session, done: Completion) -> None:
    from llmbench_mcp.cli.shapes import completion

    here.show(completion(done), lambda: _render(done))
    if done.error is not None and not here.as_json:
        output.note(f"error: the server broke off: {done.error}")


def _render(done: Completion) -> Iterable[RenderableType]:
    from rich.panel import Panel
    from rich.text import Text

    from llmbench_mcp.cli.tables import literal, sentence

    if done.reasoning:
        yield Panel(Text(output.long_text(done.reasoning)), title=literal("Reasoning"))
    yield Panel(Text(output.long_text(done.text)), title=literal(f"Answer of {done.model or 'the model'}"))
    for call in done.tool_calls:
        yield sentence(f"Tool call: {call.name} {call.arguments}")
    yield sentence(_figures(done))


def _figures(done: Completion) -> str:
    timing, usage = done.timing, done.usage
    tokens = None if usage is None else usage.completion_tokens
    return (
        f"finish: {done.finish_reason or 'none'}; tokens: {figures.number(tokens)};"
        f" first token after {figures.duration(timing.ttft_s)}, all after {figures.duration(timing.e2e_s)};"
        f" {figures.number(timing.decode_tps)} tokens/s"
    )
