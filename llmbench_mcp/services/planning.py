"""From a request to a frozen plan: everything resolved, everything that cannot run refused now."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from llmbench_mcp import __version__
from llmbench_mcp.config import Settings
from llmbench_mcp.domain.capability import lacking
from llmbench_mcp.domain.chat import Budget, Sampling
from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.errors import ConflictError, EndpointTimeout, InputError, NotFoundError
from llmbench_mcp.domain.ids import new_id
from llmbench_mcp.domain.matrix import check_sampling, expand
from llmbench_mcp.domain.model import Model
from llmbench_mcp.domain.ports import BackendFactory
from llmbench_mcp.domain.run import PlannedJob, RunPlan, RunRequest
from llmbench_mcp.domain.task import Task
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.scoring.grader import Grader
from llmbench_mcp.services.custom_tasks import custom_view
from llmbench_mcp.services.endpoints import Endpoints
from llmbench_mcp.services.fitting import Fit, fitting
from llmbench_mcp.services.models import Models, check_local
from llmbench_mcp.services.selection import Chosen, choose, tool_remarks, tools_unchecked
from llmbench_mcp.services.suites import Suites, SuiteView

_MAX_ATTEMPTS = 1_000_000
_MAX_REPEATS = 1_000
_INSPECT_S = 5.0


@dataclass(frozen=True, slots=True)
class Target:
    """A model at the endpoint it will run on, under the name served there."""

    model: Model
    endpoint: Endpoint
    served_name: str


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, the labels it is stored under, and what the caller should know of it."""

    plan: RunPlan
    targets: dict[str, Target]
    remarks: tuple[str, ...] = ()


class Planner:
    """Resolves requests."""

    def __init__(
        self, models: Models, endpoints: Endpoints, suites: Suites, backends: BackendFactory, grader: Grader
    ) -> None:
        self._models = models
        self._endpoints = endpoints
        self._suites = suites
        self._backends = backends
        self._grader = grader

    async def plan(self, request: RunRequest, settings: Settings, *, must_answer: bool = True) -> Planned:
        """Resolve models, endpoints, suites and validators, and freeze them.

        ``must_answer``: refuse when an endpoint does not answer now; without, the run waits for it.

        Raises:
            InputError: bad numbers, unknown names, a model without an assignment, nothing to do.
            EndpointError: an endpoint does not answer now.
        """
        _check(request)
        views = [await self._suites.get(name) for name in dict.fromkeys(request.suites)]
        views += [custom_view(request.custom_tasks)] if request.custom_tasks else []
        samplings = expand(request.sampling, request.matrix)
        chosen = await self._chosen(request, views)
        targets = [await self._target(key, request.endpoint) for key in dict.fromkeys(chosen.ids)]
        targets = list({(t.model.id, t.endpoint.id): t for t in targets}.values())
        for view in views:
            await self._grader.check(view.tasks)
            _check_needs(view, targets)
        if must_answer:
            await self._check_reachable([target.endpoint for target in targets])
        jobs: dict[str, tuple[PlannedJob, Target]] = {}
        too_long: dict[str, None] = {}
        for target, view, sampling in itertools.product(targets, views, samplings):
            fit = fitting(target.model, view.suite.name, view.tasks, sampling)
            too_long |= {fit.remark: None} if fit.remark else {}
            if fit.tasks:
                job = _job(target, view, sampling, settings, fit)
                jobs[job.id] = (job, target)
        if not jobs:
            raise ConflictError(f"Nothing is left to ask: {'; '.join(too_long)}.", "Use a suite of shorter tasks.")
        plan = RunPlan(new_id("run"), request, tuple(job for job, _ in jobs.values()))
        if plan.planned > _MAX_ATTEMPTS:
            raise InputError(f"That would be {plan.planned} attempts.", f"Stay under {_MAX_ATTEMPTS}: fewer repeats.")
        remarks = (*chosen.remarks, *too_long, *_tool_remarks(targets, views))
        return Planned(plan, {job.id: target for job, target in jobs.values()}, remarks)

    async def devices(self) -> list[str]:
        """The devices that endpoints are on."""
        return sorted({view.endpoint.device for view in await self._endpoints.views()})

    async def _chosen(self, request: RunRequest, views: Sequence[SuiteView]) -> Chosen:
        """The models named, or those of the selection."""
        if request.select is None:
            return Chosen(request.models, ())
        named = await self._endpoints.get(request.endpoint) if request.endpoint else None
        return choose(await self._models.all(), request.select, named, [task for view in views for task in view.tasks])

    async def selected(self, request: RunRequest) -> Chosen:
        """The models that the request names or selects, by what is known of them.

        Raises:
            NotFoundError: no such suite or endpoint. ConflictError: the selection is empty.
        """
        return await self._chosen(request, [await self._suites.get(name) for name in request.suites])

    def read_suites_anew(self) -> None:
        """What was read of suites and tasks is forgotten: they may have been changed since."""
        self._suites.forget()

    async def tasks_of(self, suite: str) -> tuple[Task, ...]:
        """The tasks of a suite as they are now; none when it is no more."""
        try:
            return (await self._suites.get(suite)).tasks
        except NotFoundError:
            return ()

    async def _target(self, key: str, endpoint_key: str | None) -> Target:
        named = await self._endpoints.get(endpoint_key) if endpoint_key else None
        model = await self._models.resolve(key, named)
        if model.status == "disabled":
            raise ConflictError(
                f"Model {model.name!r} is disabled.", "Enable it with model_assign (models enable) first."
            )
        wanted = named or await self._endpoint_of(key, model)
        if wanted is None:
            homes = ", ".join(home.endpoint_name for home in model.homes if home.present) or "no endpoint now"
            raise ConflictError(
                f"Model {model.name!r} is not assigned to an endpoint.",
                f"Call model_assign (assign) first, or name an endpoint; it is offered at: {homes}.",
            )
        home = model.home_at(wanted.id)
        if home is None or not home.present:
            raise ConflictError(
                f"Endpoint {wanted.name!r} does not offer {model.name!r}.", "Run models_discover (discover) again."
            )
        check_local(model, wanted, home)
        return Target(model, wanted, home.served_name)

    async def _endpoint_of(self, key: str, model: Model) -> Endpoint | None:
        """The endpoint that ``name@endpoint`` names, else where it is assigned."""
        at = next((home.endpoint_id for home in model.homes if key.endswith(f"@{home.endpoint_name}")), None)
        wanted = at or model.assigned_endpoint_id
        return await self._endpoints.get(wanted) if wanted else None

    async def _check_reachable(self, endpoints: Sequence[Endpoint]) -> None:
        for endpoint in {endpoint.id: endpoint for endpoint in endpoints}.values():
            backend = self._backends.open(endpoint)
            try:
                with anyio.fail_after(_INSPECT_S):
                    await backend.inspect()
            except TimeoutError as error:
                raise EndpointTimeout(
                    f"Endpoint {endpoint.name} ({endpoint.url}) did not answer within {_INSPECT_S:.0f} s.",
                    "Start the server or wait until it has loaded, then call again.",
                ) from error
            finally:
                await backend.aclose()


def _check_needs(view: SuiteView, targets: Sequence[Target]) -> None:
    """Refuse a suite whose tasks need what a model is known not to have, or what nobody has looked for."""
    needs = sorted({need for task in view.tasks for need in task.needs})
    for target in targets:
        model = target.model
        missing = lacking(model.known_capabilities, needs)
        if missing == ("tools",) and tools_unchecked(model, model.home_at(target.endpoint.id)):
            name = shlex.quote(one_line(model.name, 200))
            raise ConflictError(
                f"Suite {view.suite.name!r} needs tools, and it is not known whether {model.name!r} has them.",
                f"Find out: llmbench-mcp models probe {name}; or say so: llmbench-mcp models set {name} --can tools",
            )
        if missing:
            raise ConflictError(
                f"Suite {view.suite.name!r} needs {', '.join(missing)}, which {model.name!r} does not have.",
                "Choose another suite or model; see suite_list (suites) and model_list (models).",
            )


def _tool_remarks(targets: Sequence[Target], views: Sequence[SuiteView]) -> tuple[str, ...]:
    homes = [(target.model, target.model.home_at(target.endpoint.id)) for target in targets]
    asked = [(model, home) for model, home in homes if home is not None]
    return tool_remarks(asked, [task for view in views for task in view.tasks])


def _check(request: RunRequest) -> None:
    if request.select and request.models:
        raise InputError("Models and a selection of models exclude each other.", "Give one of them.")
    if not (request.models or request.select) or not (request.suites or request.custom_tasks):
        lacking = "model" if not request.models else "suite"
        raise InputError(
            f"A run needs at least one {lacking}.", "Name it; see model_list (models) and suite_list (suites)."
        )
    if not 1 <= request.repeats <= _MAX_REPEATS:
        raise InputError(f"repeats is {request.repeats}.", f"Use 1 to {_MAX_REPEATS}.")
    if not -100 <= request.priority <= 100:
        raise InputError(f"priority is {request.priority}.", "Use -100 to 100; higher runs earlier.")
    check_sampling(request.sampling)


def _job(target: Target, view: SuiteView, sampling: Sampling, settings: Settings, fit: Fit) -> PlannedJob:
    facts: dict[str, Any] = {"budget": _budget(target, sampling, settings).as_dict()}
    if fit.left_out:
        facts["tasks_left_out"] = fit.left_out
    return PlannedJob(
        id=new_id("job"),
        model_id=target.model.id,
        endpoint_id=target.endpoint.id,
        suite=view.suite.name,
        sampling=sampling,
        manifest=_manifest(target, view, sampling) | facts,
        tasks=fit.tasks,
    )


def _budget(target: Target, sampling: Sampling, settings: Settings) -> Budget:
    reasons = "reasoning" in target.model.capabilities and sampling.reasoning != "off"
    return Budget(settings.max_tokens, settings.reasoning_max_tokens if reasons else 0)


def _manifest(target: Target, view: SuiteView, sampling: Sampling) -> dict[str, Any]:
    model, endpoint = target.model, target.endpoint
    further = {"draw_seed": view.draw_seed, "suite_origin": view.origin}
    return {
        "model_digest": model.digest,
        "served_name": target.served_name,
        "quantisation": model.quantisation,
        "parameter_count": model.parameter_count,
        "context_length": model.context_length,
        "backend": endpoint.backend,
        "server_version": endpoint.server_version,
        "device": endpoint.device,
        "concurrency": endpoint.concurrency,
        "sampling": sampling.as_dict(),
        "suite_version": view.suite.version,
        "program_version": __version__,
    } | {name: fact for name, fact in further.items() if fact is not None}
