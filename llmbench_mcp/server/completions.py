"""Names offered while a person fills in a prompt or a resource's address."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.types import CompleteRequestParams, CompleteResult, Completion, PromptReference

from llmbench_mcp.domain.errors import BenchError
from llmbench_mcp.domain.text import visible
from llmbench_mcp.server.errors import explain
from llmbench_mcp.server.holder import AppHolder
from llmbench_mcp.server.prompts import LONGEST_VALUE, PromptSpec
from llmbench_mcp.server.resources import ResourceSpec

if TYPE_CHECKING:
    from llmbench_mcp.app import App

_LOG = logging.getLogger(__name__)
MOST_VALUES = 100
PATIENCE_S = 2.0
"""A person is typing: later than this nothing is offered."""


class Completions:
    """Answers ``completion/complete``; what goes wrong offers nothing and fails nobody."""

    def __init__(self, holder: AppHolder, prompts: Sequence[PromptSpec], resources: Sequence[ResourceSpec]) -> None:
        self._holder = holder
        self._kinds: dict[str, Mapping[str, str | None]] = {
            **{spec.name: {argument.name: argument.kind for argument in spec.arguments} for spec in prompts},
            **{spec.uri: spec.completes for spec in resources},
        }

    async def answer(self, _: ServerRequestContext[Any, Any], params: CompleteRequestParams) -> CompleteResult:
        """The names that go on with what was typed."""
        of = params.ref.name if isinstance(params.ref, PromptReference) else params.ref.uri
        kind = self._kinds.get(of, {}).get(params.argument.name)
        found = matching(params.argument.value, await self._names(kind)) if kind else []
        values = Completion(values=found[:MOST_VALUES], total=len(found), has_more=len(found) > MOST_VALUES)
        return CompleteResult(completion=values)

    async def _names(self, kind: str) -> Sequence[str]:
        with anyio.move_on_after(PATIENCE_S):
            try:
                return await _GATHER[kind](await self._holder.get())
            except BenchError as error:
                _LOG.warning("no names to offer: %s", explain(error))
        return ()


def matching(typed: str, names: Sequence[str]) -> list[str]:
    """Those that begin with what was typed, then those that hold it; without any that could not be typed."""
    wanted = typed[:LONGEST_VALUE].casefold()
    usable = [name for name in dict.fromkeys(names) if 0 < len(name) <= LONGEST_VALUE and _typeable(name)]
    holding = [name for name in usable if wanted in name.casefold()]
    return sorted(holding, key=lambda name: not name.casefold().startswith(wanted))


def _typeable(name: str) -> bool:
    return visible(name) == name and "\n" not in name and "\t" not in name


async def _models(app: App) -> list[str]:
    models = await app.models.all()
    names = [model.name for model in models]
    twice = {name for name in names if names.count(name) > 1}
    forms = [f"{model.name}@{home.endpoint_name}" for model in models if model.name in twice for home in model.homes]
    return [*(name for name in names if name not in twice), *forms]


async def _endpoints(app: App) -> list[str]:
    return [view.endpoint.name for view in await app.endpoints.views()]


async def _places(app: App) -> list[str]:
    views = await app.endpoints.views()
    return [*(view.endpoint.device for view in views), *(view.endpoint.name for view in views)]


async def _suites(app: App) -> list[str]:
    return [suite.name for suite in await app.suites.heads()]


async def _runs(app: App) -> list[str]:
    runs, _ = await app.runs.page(MOST_VALUES)
    return [run.id for run in runs]


_GATHER = {"model": _models, "endpoint": _endpoints, "place": _places, "suite": _suites, "run": _runs}
